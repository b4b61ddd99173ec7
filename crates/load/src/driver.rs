//! The seam between the engine and a protocol.
//!
//! A [`Driver`] turns "do the next operation" into bytes and bytes into "the operation has ended so". It is a
//! state machine over a *dialogue*, the small state of one connection, and knows no socket, no clock and no
//! other connection. An operation may take any number of turns: whenever bytes arrive the driver may write
//! more (the next command of an SMTP dialogue, the next statement of a transaction, the assets of a page)
//! and answers [`Step::Wait`] until the whole has ended. What a dialogue remembers from one operation to the
//! next (a cookie, a login, the page a user is on) stays in it, so a Markov chain of a user's pages is a
//! driver that looks at its dialogue before it picks an operation.
//!
//! One operation at a time is in flight on a connection. The engine takes the times; a driver never does.

use std::borrow::Cow;

use rand_pcg::Pcg64Mcg;

use crate::record::ErrorKind;

/// Which of a driver's operations: an index into [`Driver::operations`].
pub type OperationId = u16;

/// What a driver may use while it has its turn.
#[derive(Debug)]
pub struct Turn<'a> {
    /// Bytes to send are appended here; the engine sends them when the turn ends.
    pub out: &'a mut Vec<u8>,
    /// The worker's random numbers, seeded from the run's seed.
    pub rng: &'a mut Pcg64Mcg,
    /// Counters named by [`Driver::counters`]: hits and misses, retries, replies by code.
    pub counters: &'a mut [u64],
}

/// How far the dialogue has come after a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed from the peer.
    Wait,
    /// The greeting, or the operation, has ended well.
    Done {
        /// May the connection serve another operation?
        reuse: bool,
    },
    /// In the greeting: the peer waits for the TLS handshake. [`Driver::secured`] is called when that is over.
    Secure,
    /// The greeting, or the operation, has failed.
    Failed(Fault),
}

/// How much a driver wants to see of the bytes that come next. Bytes that nobody looks at need not be copied out of
/// the kernel, which is most of what a large reply costs its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// All of them.
    All,
    /// The front: what comes behind it may be of no interest.
    Front,
    /// None of so many; those after them.
    Skip(u64),
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind under which it is counted.
    pub kind: ErrorKind,
    /// One line for the reader; the first of each kind is shown.
    pub detail: Cow<'static, str>,
    /// May the connection serve another operation? True only where its framing is still known.
    pub reuse: bool,
}

impl Fault {
    /// The peer broke the protocol: nothing further can be read from this connection.
    pub fn protocol(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::Protocol, detail: detail.into(), reuse: false }
    }

    /// The peer closed before the reply was whole.
    pub fn closed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::Closed, detail: detail.into(), reuse: false }
    }

    /// A complete reply that is not the one expected.
    pub fn unexpected(detail: impl Into<Cow<'static, str>>, reuse: bool) -> Self {
        Self { kind: ErrorKind::UnexpectedReply, detail: detail.into(), reuse }
    }
}

/// A protocol with its operations, as one worker uses it.
pub trait Driver {
    /// The state of one connection. Kept small: there may be tens of thousands.
    type Dialogue;

    /// Names of the operations, in the order of their ids.
    fn operations(&self) -> Vec<String>;

    /// Names of the counters beside time and bytes.
    fn counters(&self) -> &'static [&'static str] {
        &[]
    }

    /// The state of a connection that has just opened.
    fn dialogue(&mut self) -> Self::Dialogue;

    /// First turn on a new connection. [`Step::Done`] where operations may start at once; a protocol with a
    /// greeting or a login answers [`Step::Wait`] and goes on in [`Driver::receive`].
    fn greet(&mut self, _dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Done { reuse: true }
    }

    /// The TLS handshake that [`Step::Secure`] asked for is over; the greeting goes on.
    fn secured(&mut self, _dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Done { reuse: true }
    }

    /// Picks the next operation of this dialogue and writes its first bytes.
    fn begin(&mut self, dialogue: &mut Self::Dialogue, turn: Turn<'_>) -> OperationId;

    /// Bytes have arrived for the greeting or operation in flight. All of `input` is taken in this call.
    fn receive(&mut self, dialogue: &mut Self::Dialogue, input: &[u8], turn: Turn<'_>) -> Step;

    /// What of the bytes that come next for the operation in flight is to be seen. Only a wish: they may be given to
    /// [`Driver::receive`] all the same.
    #[inline]
    fn demand(&self, _dialogue: &Self::Dialogue) -> Demand {
        Demand::All
    }

    /// So many bytes, no more than the [`Demand::Skip`] of last, have come and are gone. [`Driver::receive`] is
    /// called next, with no bytes or with those behind them.
    #[inline]
    fn skip(&mut self, _dialogue: &mut Self::Dialogue, _bytes: u64) {}

    /// The peer closed while a greeting or an operation was in flight. [`Step::Done`] where that is how the
    /// reply ends, else a fault.
    fn closed(&mut self, dialogue: &mut Self::Dialogue) -> Step;
}
