//! The poller of transfers that wait for their first byte: each is reported once, with its number and generation. What is
//! done then is left to the worker.

use std::time::Duration;

use rustix::event::epoll::{EventData, EventFlags};
use rustix::io::Errno;

use super::download::Download;
use crate::event_queue::EventQueue;

/// Events of one call.
const EVENTS: usize = 256;

/// A transfer that waits: its slot, and which of the slot's connections it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub slot: u32,
    pub generation: u32,
}

impl Waiter {
    fn data(self) -> EventData {
        EventData::new_u64(u64::from(self.generation) << 32 | u64::from(self.slot))
    }

    fn of(data: EventData) -> Self {
        Self { slot: data.u64() as u32, generation: (data.u64() >> 32) as u32 }
    }
}

/// What is waited for: the reply, and room for the request until it is sent.
fn wanted(is_sent: bool) -> EventFlags {
    let reply = EventFlags::IN | EventFlags::ONESHOT;
    if is_sent { reply } else { reply | EventFlags::OUT }
}

/// The connections of transfers that wait.
pub(super) struct Waiting {
    events: EventQueue,
}

impl Waiting {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { events: EventQueue::new(EVENTS)? })
    }

    /// Waits for a new connection.
    pub fn add(&self, download: &Download, waiter: Waiter, is_sent: bool) -> Result<(), Errno> {
        self.events.add(download, waiter.data(), wanted(is_sent))
    }

    /// Waits again, after a report.
    pub fn again(&self, download: &Download, waiter: Waiter, is_sent: bool) -> Result<(), Errno> {
        self.events.modify(download, waiter.data(), wanted(is_sent))
    }

    /// Does not wait any more, and keeps no memory for it.
    pub fn remove(&self, download: &Download) {
        let _ = self.events.delete(download);
    }

    /// Gives those that have something to do, after this time at most.
    pub fn wait(&mut self, longest: Duration, reported: &mut Vec<Waiter>) -> Result<(), Errno> {
        let events = self.events.wait(Some(longest))?;
        reported.clear();
        reported.extend(events.iter().map(|event| Waiter::of(event.data)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_survives_the_kernel() {
        let waiter = Waiter { slot: 7, generation: u32::MAX };
        assert_eq!(Waiter::of(waiter.data()), waiter);
    }
}
