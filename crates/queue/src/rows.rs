//! What a store does within one transaction, and why a verb is refused.

use crate::entry::{Entry, EntryId, EntryState};
use crate::host_row::{ControllerRow, HostRow};

/// Numbers that only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sequence {
    /// Of entries.
    Entry,
    /// Of claims.
    Token,
    /// Of places in the order.
    Position,
}

impl Sequence {
    /// The name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Token => "token",
            Self::Position => "position",
        }
    }
}

/// The rows of a queue. All calls of one verb are one transaction, and transactions come one after the other.
pub trait Rows {
    /// What can go wrong in the store.
    type Error;

    /// The next number.
    fn next(&mut self, sequence: Sequence) -> Result<u64, Self::Error>;
    /// An entry in any state.
    fn entry(&mut self, id: EntryId) -> Result<Option<Entry>, Self::Error>;
    /// The entry with this idempotency key.
    fn entry_of_key(&mut self, key: &str) -> Result<Option<Entry>, Self::Error>;
    /// Writes an entry: a new one, or in place of the old one.
    fn put_entry(&mut self, entry: &Entry) -> Result<(), Self::Error>;
    /// The entries in these states, by priority (highest first), position and number.
    fn entries(&mut self, states: &[EntryState]) -> Result<Vec<Entry>, Self::Error>;
    /// The entries in a state that come after this one in the order, `most` at most; the first ones where there is none.
    fn in_order_after(
        &mut self,
        state: EntryState,
        after: Option<&Entry>,
        most: u32,
    ) -> Result<Vec<Entry>, Self::Error>;
    /// The first waiting entry that comes after this one in the order; the first of all where there is none.
    fn waiting_after(&mut self, after: Option<&Entry>) -> Result<Option<Entry>, Self::Error> {
        Ok(self.in_order_after(EntryState::Waiting, after, 1)?.pop())
    }
    /// A host.
    fn host(&mut self, name: &str) -> Result<Option<HostRow>, Self::Error>;
    /// Writes a host.
    fn put_host(&mut self, host: &HostRow) -> Result<(), Self::Error>;
    /// All hosts, by name.
    fn hosts(&mut self) -> Result<Vec<HostRow>, Self::Error>;
    /// A controller.
    fn controller(&mut self, id: &str) -> Result<Option<ControllerRow>, Self::Error>;
    /// Writes a controller.
    fn put_controller(&mut self, controller: &ControllerRow) -> Result<(), Self::Error>;
    /// All controllers, by id.
    fn controllers(&mut self) -> Result<Vec<ControllerRow>, Self::Error>;
}

/// Why a verb changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such entry.
    #[error("there is no entry {0}: see `showdown queue`")]
    NoEntry(EntryId),
    /// The entry is in another state.
    #[error("entry {entry} is {}: {verb} does not apply to it", state.name())]
    State {
        /// The entry.
        entry: EntryId,
        /// Its state.
        state: EntryState,
        /// What was asked for.
        verb: &'static str,
    },
    /// A later claim has the entry: whoever asks must stop.
    #[error("entry {0} is not this controller's any more: stop its run")]
    OldToken(EntryId),
    /// The controller is unknown, or has been started again since.
    #[error("controller {0} has not registered, or another start of it has: register again")]
    NoController(String),
    /// Another machine has this id: the directory of runs was copied.
    #[error(
        "controller {id} is that of {host}: if this machine is a copy of {host}, remove the file controller.id in the folder .harness of its directory of runs; if it is {host} with another name, start its controller again in two minutes"
    )]
    OtherMachine {
        /// The id.
        id: String,
        /// The host that has it.
        host: String,
    },
    /// There is no such host.
    #[error("there is no host {0}: see the page of hosts")]
    NoHost(String),
    /// A host that is not in quarantine.
    #[error("host {0} is not in quarantine")]
    NotQuarantined(String),
    /// A person has to say why.
    #[error("say why host {0} is clean: --reason 'rebooted'")]
    NoReason(String),
    /// A lost entry without a run directory.
    #[error("entry {0} has no run to go on with: run it again")]
    NothingToResume(EntryId),
    /// The same key with another plan.
    #[error("the key {0} has been used for another submission: choose a new one")]
    OtherSubmission(String),
}

impl Refusal {
    /// Another machine has the id of this controller.
    pub fn other_machine(known: &ControllerRow) -> Self {
        Self::OtherMachine { id: known.id.clone(), host: known.host.clone() }
    }
}

/// Why a verb has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueueError<E> {
    /// The store failed.
    #[error(transparent)]
    Store(E),
    /// The rules of the queue refuse it.
    #[error("{0}")]
    Refused(Refusal),
}

impl<E> From<Refusal> for QueueError<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The answer of a verb.
pub type QueueResult<T, R> = Result<T, QueueError<<R as Rows>::Error>>;

/// An entry that must be there.
pub(crate) fn known<R: Rows + ?Sized>(rows: &mut R, id: EntryId) -> QueueResult<Entry, R> {
    let entry = rows.entry(id).map_err(QueueError::Store)?;
    entry.ok_or(QueueError::Refused(Refusal::NoEntry(id)))
}
