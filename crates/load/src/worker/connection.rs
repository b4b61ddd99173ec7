//! The state of one connection slot: its line, its dialogue and the operation in flight; and how many slots
//! are in which phase. There may be tens of thousands, so a slot is small; deciding what comes next is left
//! to `operations`.

use super::transport::Transport;
use crate::clock::Nanos;
use crate::driver::OperationId;

/// What a connection slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No line; one is opened when there is an operation to do.
    Closed,
    /// The line is being opened: TCP and TLS handshakes.
    Opening,
    /// The driver's greeting is under way.
    Greeting,
    /// Ready for an operation.
    Idle,
    /// An operation is in flight.
    Busy,
}

/// Slots by phase. Every change of a phase goes through here, so no count can drift from what it counts.
#[derive(Debug)]
pub(super) struct ConnectionCounts([u32; 5]);

impl ConnectionCounts {
    /// All slots are closed.
    pub fn new(slots: u32) -> Self {
        Self([slots, 0, 0, 0, 0])
    }

    /// A slot changes its phase.
    #[inline]
    pub fn shift(&mut self, phase: &mut Phase, to: Phase) {
        self.0[*phase as usize] -= 1;
        self.0[to as usize] += 1;
        *phase = to;
    }

    /// Slots whose line is open.
    pub fn open(&self) -> u32 {
        self.0[Phase::Greeting as usize] + self.0[Phase::Idle as usize] + self.0[Phase::Busy as usize]
    }

    /// Slots that are on their way to their first operation.
    pub fn opening(&self) -> u32 {
        self.0[Phase::Opening as usize] + self.0[Phase::Greeting as usize]
    }
}

/// An operation that a connection has to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// When it should have begun: response time counts from here.
    pub intended_start: Nanos,
    /// From when on only the client itself can be late: the operation is due, its connection free, and the
    /// time that the server took to let the connection open is left out.
    pub ready: Nanos,
}

/// One slot.
#[derive(Debug)]
pub(super) struct Connection<D> {
    /// Changed through [`ConnectionCounts::shift`] only.
    pub phase: Phase,
    pub line: Transport,
    pub dialogue: Option<D>,
    /// What to do once the connection is ready; what is being done while it is busy.
    pub job: Option<Job>,
    pub operation: OperationId,
    /// When the line began to open; when the operation's first bytes were sent.
    pub begun: Nanos,
    /// When the first byte of the reply came, if it has.
    pub first_byte: Option<Nanos>,
    /// Operations done on this line.
    pub uses: u32,
    /// Attempts to open that failed in a row.
    pub failures: u32,
    /// Reads left over when its turn was cut short.
    pub queued: bool,
}

impl<D> Connection<D> {
    /// An unused slot.
    pub fn new() -> Self {
        Self {
            phase: Phase::Closed,
            line: Transport::new(),
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
}
