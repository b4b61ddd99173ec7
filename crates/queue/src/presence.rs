//! Which controllers are there: those that have called within the length of a lease, this server or another one of its database. No clock
//! of another machine decides: a call to another server shows as a counter that has changed.

use std::collections::HashMap;
use std::time::Duration;

use crate::entry::{Attempt, Entry};
use crate::host_row::ControllerRow;
use crate::lapses::LEASE;

/// When controllers called, on the monotonic clock of a server.
#[derive(Debug, Default)]
pub struct Presence {
    heard: HashMap<String, Duration>,
    controllers: HashMap<String, u64>,
    attempts: HashMap<Attempt, u64>,
}

impl Presence {
    /// A controller has called.
    pub fn hear(&mut self, controller: &str, now: Duration) {
        self.heard.insert(controller.to_owned(), now);
    }

    /// A controller has ended.
    pub fn forget(&mut self, controller: &str) {
        self.heard.remove(controller);
    }

    /// Whether a controller has called within the length of a lease.
    pub fn is_heard(&self, controller: &str, now: Duration) -> bool {
        self.heard.get(controller).is_some_and(|at| now.saturating_sub(*at) < LEASE)
    }

    /// Looks at the rows that other servers write, too. One that waits for work raises its own counter; one that has an entry does not ask
    /// for work, and raises the counter of the entry.
    pub fn look(&mut self, controllers: &[ControllerRow], active: &[Entry], now: Duration) {
        for ControllerRow { id, counter, .. } in controllers {
            if self.controllers.insert(id.clone(), *counter).is_some_and(|seen| seen != *counter) {
                self.hear(id, now);
            }
        }
        let before = std::mem::take(&mut self.attempts);
        for entry in active {
            let attempt = Attempt { entry: entry.id, token: entry.token };
            if let Some(controller) = &entry.controller
                && before.get(&attempt).is_some_and(|seen| *seen != entry.counter)
            {
                self.hear(controller, now);
            }
            self.attempts.insert(attempt, entry.counter);
        }
    }
}
