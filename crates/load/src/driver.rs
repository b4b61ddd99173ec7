//! The interface between the engine and a protocol.
//!
//! A [`Driver`] turns "do the next operation" into bytes, and bytes into the result of the operation. It is a state
//! machine over a *dialogue*, the small state of one connection. It has no socket, no clock and no other connection.
//!
//! An operation may take any number of turns. When bytes arrive the driver may write more: the next command of an SMTP
//! dialogue, the next statement of a transaction, the assets of a page. It returns [`Step::Wait`] until the whole
//! operation has ended. A dialogue keeps its state from one operation to the next: a cookie, a login, the page of a user.
//! What outlives the connection, such as the session of a user, a driver keeps by the number of the connection's slot.
//!
//! A connection has one operation in flight. Only the engine reads the clock.

use std::borrow::Cow;

use rand_pcg::Pcg64Mcg;

use crate::record::ErrorKind;

/// Which of a driver's operations: an index into [`Driver::operations`].
pub type OperationId = u16;

/// What a driver may use in a turn.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The driver appends bytes to send; the engine sends them when the turn ends.
    pub out: &'a mut Vec<u8>,
    /// The worker's random numbers, seeded from the run's seed.
    pub rng: &'a mut Pcg64Mcg,
    /// Counters named by [`Driver::counters`]: hits and misses, retries, replies by code.
    pub counters: &'a mut [u64],
}

/// The state of the dialogue after a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed from the peer.
    Wait,
    /// The greeting, or the operation, has succeeded.
    Done {
        /// May the connection serve another operation?
        reuse: bool,
    },
    /// The operation continues on a new connection of this slot: [`Driver::reconnected`] is called once it is open. For a
    /// peer that closes between the steps of an operation.
    Reconnect,
    /// In the greeting: the peer waits for the TLS handshake. [`Driver::secured`] is called when that is over.
    Secure,
    /// The greeting, or the operation, has failed.
    Failed(Fault),
}

/// Which of the next bytes a driver needs. The engine does not copy the others out of the kernel; for a large reply
/// that copy is most of the client's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// All of them.
    All,
    /// The front; the driver may not need the rest.
    Front,
    /// None of this many; those after them.
    Skip(u64),
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind under which it is counted.
    pub kind: ErrorKind,
    /// One line for the reader; the first of each kind is shown.
    pub detail: Cow<'static, str>,
    /// May the connection serve another operation? True only where it is known where the next reply begins.
    pub reuse: bool,
}

impl Fault {
    /// The peer broke the protocol: nothing further can be read from this connection.
    pub fn protocol(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::Protocol, detail: detail.into(), reuse: false }
    }

    /// The peer closed before the reply was complete.
    pub fn closed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: ErrorKind::Closed, detail: detail.into(), reuse: false }
    }

    /// A complete reply, but not the expected one.
    pub fn unexpected(detail: impl Into<Cow<'static, str>>, reuse: bool) -> Self {
        Self { kind: ErrorKind::UnexpectedReply, detail: detail.into(), reuse }
    }
}

/// A protocol with its operations, as one worker uses it.
pub trait Driver {
    /// The state of one connection. Keep it small: there may be tens of thousands.
    type Dialogue;

    /// Names of the operations, in the order of their ids.
    fn operations(&self) -> Vec<String>;

    /// Names of the driver's own counters.
    fn counters(&self) -> &'static [&'static str] {
        &[]
    }

    /// The state of a new connection in this slot.
    fn dialogue(&mut self, slot: u32) -> Self::Dialogue;

    /// A new user has this slot from now on: nothing is left of the one before.
    fn arrive(&mut self, _slot: u32, _rng: &mut Pcg64Mcg) {}

    /// First turn on a new connection. [`Step::Done`] where operations may start at once. A protocol with a greeting or
    /// a login returns [`Step::Wait`], and continues in [`Driver::receive`].
    fn greet(&mut self, _dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Done { reuse: true }
    }

    /// The TLS handshake that [`Step::Secure`] requested is over; the greeting continues.
    fn secured(&mut self, _dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Done { reuse: true }
    }

    /// How many operations can begin, at least: fewer where each uses a value once. The part of the load ends at 0.
    #[inline]
    fn operations_left(&self) -> u64 {
        u64::MAX
    }

    /// Draws the next operation. Not called where users say which is next.
    fn choose(&mut self, rng: &mut Pcg64Mcg) -> OperationId;

    /// Writes the first bytes of an operation.
    fn begin(&mut self, dialogue: &mut Self::Dialogue, operation: OperationId, turn: Turn<'_>);

    /// The new connection that [`Step::Reconnect`] asked for is open: the operation continues.
    fn reconnected(&mut self, _dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Failed(Fault::protocol("a new connection that no operation has asked for"))
    }

    /// Bytes have arrived for the greeting or operation in flight. The driver consumes all of `input`.
    fn receive(&mut self, dialogue: &mut Self::Dialogue, input: &[u8], turn: Turn<'_>) -> Step;

    /// Which of the next bytes of the operation in flight the driver needs. Only a hint: [`Driver::receive`] may get the
    /// others as well.
    #[inline]
    fn demand(&self, _dialogue: &Self::Dialogue) -> Demand {
        Demand::All
    }

    /// `bytes` bytes, at most as many as the last [`Demand::Skip`], have been discarded. [`Driver::receive`] is called
    /// next, without bytes or with those after them.
    #[inline]
    fn skip(&mut self, _dialogue: &mut Self::Dialogue, _bytes: u64) {}

    /// The peer closed while a greeting or an operation was in flight. [`Step::Done`] where a close ends the reply, else
    /// a fault. What is written is not sent.
    fn closed(&mut self, dialogue: &mut Self::Dialogue, turn: Turn<'_>) -> Step;
}
