//! The state of one connection slot: its link, its dialogue and the operation in flight. There may be tens
//! of thousands, so it is small; deciding what comes next is the worker's.

use crate::clock::Nanos;
use crate::driver::OperationId;

use super::link::Link;

/// What a connection slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No socket; one is opened when there is an operation to do.
    Closed,
    /// The TCP handshake is under way.
    Connecting,
    /// The TLS handshake is under way.
    Securing,
    /// The driver's greeting is under way.
    Greeting,
    /// Ready for an operation.
    Idle,
    /// An operation is in flight.
    Busy,
}

/// An operation that a connection has to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub due: Nanos,
    pub free_since: Nanos,
}

/// One slot.
#[derive(Debug)]
pub(super) struct Connection<D> {
    pub phase: Phase,
    /// Counts sockets, so that a late report of an earlier one is told apart.
    pub generation: u32,
    pub link: Option<Link>,
    pub dialogue: Option<D>,
    /// What to do once the connection is ready; what is being done while it is busy.
    pub job: Option<Job>,
    pub operation: OperationId,
    /// When the TCP or TLS handshake began; when the operation's first bytes were sent.
    pub begun: Nanos,
    /// When the first byte of the reply came, if it has.
    pub first_byte: Option<Nanos>,
    /// Operations done on this socket.
    pub uses: u32,
    /// Attempts to connect that failed in a row.
    pub failures: u32,
    /// Reads left over when its turn was cut short.
    pub queued: bool,
}

impl<D> Connection<D> {
    /// An unused slot.
    pub fn new() -> Self {
        Self {
            phase: Phase::Closed,
            generation: 0,
            link: None,
            dialogue: None,
            job: None,
            operation: 0,
            begun: Nanos(0),
            first_byte: None,
            uses: 0,
            failures: 0,
            queued: false,
        }
    }

    /// Drops socket and dialogue.
    pub fn close(&mut self) {
        self.phase = Phase::Closed;
        self.link = None;
        self.dialogue = None;
    }
}
