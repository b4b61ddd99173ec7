//! How operations break: a peer that closes, a wait that is too long, a line that fails; and when its
//! connection is tried again.

use std::time::Duration;

use super::super::connection::Phase;
use super::super::link::LinkError;
use super::super::pacing::ConnectionId;
use super::Operations;
use crate::driver::{Driver, Fault};
use crate::record::ErrorKind;

/// First pause before a connection that failed is tried again; it doubles up to the longest.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

impl<D: Driver> Operations<D> {
    /// The peer closed in good order: that ends a reply, or breaks it, or is of no matter.
    #[cold]
    pub(super) fn on_closed(&mut self, id: ConnectionId) {
        self.tick();
        let connection = &mut self.connections[id as usize];
        let detail = match (connection.phase, connection.dialogue.as_mut()) {
            (Phase::Busy | Phase::Greeting, Some(dialogue)) => {
                let step = self.session.closed(dialogue);
                return self.follow(id, step);
            }
            (Phase::Idle, _) => "the server closed the connection before it was used",
            _ => "the server closed the connection in the handshake",
        };
        self.broken(id, &LinkError { kind: ErrorKind::Closed, detail: detail.to_owned() });
    }

    /// Ends every wait for the server that has been too long by the last reading of the clock.
    pub fn time_out(&mut self) {
        let now = self.now;
        for id in 0..self.deadlines.len() {
            if self.deadlines[id] <= now {
                let waited = humantime::format_duration(self.timeout);
                let detail = match self.connections[id].phase {
                    Phase::Busy => format!("no whole reply within {waited}"),
                    _ => format!("no connection within {waited}"),
                };
                self.broken(id as ConnectionId, &LinkError { kind: ErrorKind::Timeout, detail });
            }
        }
    }

    /// The line is of no more use.
    #[cold]
    pub(super) fn broken(&mut self, id: ConnectionId, error: &LinkError) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        match connection.phase {
            Phase::Busy => {
                let fault = Fault { kind: error.kind, detail: error.detail.clone().into(), reuse: false };
                self.fail(id, &fault);
            }
            Phase::Idle => {
                // Still on offer: the next operation opens a new line. A server may close or reset one that
                // is not in use, but not before the first use, and it may not speak unasked.
                self.close(id);
                if self.pacer.is_none() {
                    self.setup_errors.add(error.kind, 1, &error.detail);
                } else if error.kind == ErrorKind::Protocol {
                    self.meter.stats.connections.errors.add(error.kind, 1, &error.detail);
                }
            }
            Phase::Opening | Phase::Greeting => {
                let pause = FIRST_BACKOFF.saturating_mul(1 << connection.failures.min(10));
                connection.failures += 1;
                self.close(id);
                let job = self.take_job(id);
                let Some(pacer) = &mut self.pacer else {
                    return self.setup_errors.add(error.kind, 1, &error.detail);
                };
                pacer.rest(id, now.after(pause.min(LONGEST_BACKOFF)));
                if job.is_some() {
                    self.meter.stats.connections.errors.add(error.kind, 1, &error.detail);
                }
            }
            Phase::Closed => {}
        }
    }
}
