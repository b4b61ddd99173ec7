//! The state of one connection slot: its transport, its dialogue and the operation in flight; and the number of slots
//! in each phase. There may be tens of thousands of slots, so a slot is small. `operations` decides what comes next.

use super::transport::Transport;
use crate::clock::Nanos;
use crate::driver::OperationId;

/// What a connection slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// Not connected; it connects when there is an operation.
    Closed,
    /// TCP or TLS handshake in progress.
    Opening,
    /// The driver's greeting is in progress.
    Greeting,
    /// Ready for an operation.
    Idle,
    /// An operation is in flight.
    Busy,
}

/// Number of slots in each phase. Every change of a phase is made here, so the numbers are always exact.
#[derive(Debug)]
pub(super) struct ConnectionCounts([u32; 5]);

impl ConnectionCounts {
    /// All slots are closed.
    pub fn new(slots: u32) -> Self {
        Self([slots, 0, 0, 0, 0])
    }

    /// A slot changes its phase.
    #[inline]
    pub fn shift(&mut self, phase: &mut ConnectionPhase, to: ConnectionPhase) {
        self.0[*phase as usize] -= 1;
        self.0[to as usize] += 1;
        *phase = to;
    }

    /// Slots with a connection that is ready for operations: a server may still refuse one that is greeting.
    pub fn open(&self) -> u32 {
        self.0[ConnectionPhase::Idle as usize] + self.0[ConnectionPhase::Busy as usize]
    }

    /// Slots with an operation in flight.
    #[inline]
    pub fn busy(&self) -> u32 {
        self.0[ConnectionPhase::Busy as usize]
    }

    /// Slots that are not yet ready for an operation.
    pub fn opening(&self) -> u32 {
        self.0[ConnectionPhase::Opening as usize] + self.0[ConnectionPhase::Greeting as usize]
    }
}

/// What the operations of a slot have come to in a part of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Answers {
    /// It has begun none.
    #[default]
    None,
    /// None of them has ended with a reply.
    Awaited,
    /// One at least has.
    Some,
}

/// The next operation of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// When it should have begun: response time counts from here.
    pub intended_start: Nanos,
    /// From here on only the client can be late: the operation is due, and its connection is free. The time in which the
    /// server accepted the connection is not counted.
    pub ready: Nanos,
}

/// One slot.
#[derive(Debug)]
pub(super) struct Connection<D> {
    /// Changed through [`ConnectionCounts::shift`] only.
    pub phase: ConnectionPhase,
    pub transport: Transport,
    pub dialogue: Option<D>,
    /// The operation to begin once the connection is ready; while it is busy, the one in flight.
    pub job: Option<Job>,
    pub operation: OperationId,
    /// When the connection began to open; when the operation's first bytes were sent.
    pub begun: Nanos,
    /// How long it took to open and to greet, where that was before it had a job.
    pub set_up: Nanos,
    /// When the first byte of the reply came, if it has.
    pub first_byte: Option<Nanos>,
    /// For how long earlier replies of the operation lay unread before the client sent its next request: the client's time,
    /// not the server's. As far as the kernel stamped them.
    pub unread_before: Nanos,
    /// Operations ended on this connection.
    pub uses: u32,
    /// What its operations of this part have come to.
    pub answers: Answers,
    /// Consecutive failures to open.
    pub failures: u32,
    /// Its turn ended before everything was read.
    pub queued: bool,
    /// It opens again for an operation in flight, which then continues.
    pub is_continuing: bool,
}

impl<D> Connection<D> {
    /// An unused slot.
    pub fn new() -> Self {
        Self {
            phase: ConnectionPhase::Closed,
            transport: Transport::new(),
            dialogue: None,
            job: None,
            operation: 0,
            begun: Nanos(0),
            set_up: Nanos(0),
            first_byte: None,
            unread_before: Nanos(0),
            uses: 0,
            answers: Answers::None,
            failures: 0,
            queued: false,
            is_continuing: false,
        }
    }

    /// What of its set-up before the load belongs to the operation in flight. An operation that waits for its connection has waited for
    /// that itself. Where connections are made `for_operations`, their first ones take it; elsewhere only one that `ends` its connection.
    #[inline(always)]
    pub fn charged_set_up(&self, for_operations: bool, ends: bool) -> Nanos {
        if self.uses == 0 && (for_operations || ends) { self.set_up } else { Nanos(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::http::scenario::HttpUserDialogue;

    // With 16 bytes of its walk, at most 80 of each search in flight, and what its values and cookies take, a user stays below
    // 2 KiB: see `drivers/http/scenario/sessions.rs` and `tests/users/steady.rs`.
    const _: () = assert!(size_of::<Connection<HttpUserDialogue>>() <= 400);

    #[test]
    fn a_set_up_belongs_to_the_first_operation_of_a_connection_that_was_made_for_it() {
        let mut connection = Connection::<()>::new();
        connection.set_up = Nanos(7);
        assert_eq!(connection.charged_set_up(true, false), Nanos(7), "a session of some messages");
        assert_eq!(connection.charged_set_up(false, true), Nanos(7), "`Connection: close`");
        assert_eq!(connection.charged_set_up(false, false), Nanos(0), "one that stays open");
        connection.uses = 1;
        assert_eq!(connection.charged_set_up(true, true), Nanos(0), "it had a first one");
    }
}
