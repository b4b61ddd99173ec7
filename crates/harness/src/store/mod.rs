//! What the harness keeps beside the run directories: the queue, events of runs, notes, what was deleted, secrets as digests.
//!
//! [`Database`] and [`Transaction`] are what a store does. [`sqlite`] is the one for a machine of one person, [`postgres`] the one for a
//! team and for several servers. Each passes `crates/harness/tests/conformance.rs` with the same answers.

pub mod address;
pub mod handle;
pub mod postgres;
mod postgres_rows;
mod postgres_tls;
pub mod sqlite;
mod sqlite_rows;

use queue::api::Note;
use queue::{EntryId, EntryState, Rows, Token};
use serde::Serialize;

use crate::people::Account;
use crate::search::{ArchiveSearch, SavedView};

/// Why the store has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk of the database is full: free some space")]
    Full,
    /// The database is away.
    #[error("the database does not answer: {0}: this server goes on when it is back")]
    Away(String),
    /// The database does not answer as it should.
    #[error("the database failed: {0}")]
    Failed(String),
    /// What is in the database is of a later version.
    #[error(
        "the database has version {found}, and this program knows {known}: use the program that wrote it"
    )]
    Later {
        /// The version there.
        found: u32,
        /// The version that this program writes.
        known: u32,
    },
}

/// What a secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// The command line of the person who has started the server.
    Person,
    /// A controller: claims, events and ends of its own attempts.
    Controller,
    /// The controller that a server has started itself.
    OwnController,
    /// A browser.
    Session,
    /// A link that opens one session.
    Link,
    /// A browser in which the owner of an account has logged in. The name is that of the account.
    Login,
    /// A program of the owner of an account.
    Token,
}

impl SecretKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Person,
        Self::Controller,
        Self::OwnController,
        Self::Session,
        Self::Link,
        Self::Login,
        Self::Token,
    ];

    /// The name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Controller => "controller",
            Self::OwnController => "own_controller",
            Self::Session => "session",
            Self::Link => "link",
            Self::Login => "login",
            Self::Token => "token",
        }
    }
}

/// A run that somebody has deleted, and that can be put back for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The id of the run.
    pub run: String,
    /// Who.
    pub author: String,
    /// When: milliseconds since 1970.
    pub unix_ms: u64,
    /// Why.
    pub reason: String,
}

/// Who has done what, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AuditLine {
    /// Numbers only grow.
    pub id: u64,
    /// When: milliseconds since 1970.
    pub unix_ms: u64,
    /// Who.
    pub author: String,
    /// What, in a line.
    pub what: String,
}

/// A line of the progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The token of the attempt.
    pub token: Token,
    /// Its number in the attempt, from 1.
    pub seq: u64,
    /// The line as it came.
    pub line: String,
}

impl EventLine {
    /// The lines of a chunk of an attempt, of which the first one has this number, without those up to a token and number.
    fn of_chunk(token: Token, first: u64, lines: &str, after: (Token, u64)) -> Vec<Self> {
        let mut found = Vec::new();
        for (seq, line) in (first..).zip(lines.lines()) {
            if (token, seq) > after {
                found.push(Self { token, seq, line: line.to_owned() });
            }
        }
        found
    }
}

/// All that is done at once.
pub trait Transaction: Rows<Error = StoreError> {
    /// Keeps the plan of an entry.
    fn put_plan(&mut self, entry: EntryId, plan: &str) -> Result<(), StoreError>;
    /// The plan of an entry.
    fn plan(&mut self, entry: EntryId) -> Result<Option<String>, StoreError>;
    /// Entries that are at their end, the newest first, with a lower number than this.
    fn ended(&mut self, before: Option<EntryId>, most: u32) -> Result<Vec<queue::Entry>, StoreError>;
    /// The entry of a run, the newest.
    fn entry_of_run(&mut self, run: &str) -> Result<Option<queue::Entry>, StoreError>;
    /// How many entries in a state come before this one in the order; all of them where there is none.
    fn count_before(&mut self, state: EntryState, before: Option<&queue::Entry>) -> Result<u64, StoreError>;
    /// Entries of these questions whose runs have an answer: the newest of each question, `most` at most.
    fn former_runs(&mut self, questions: &[&str], most: u32) -> Result<Vec<queue::Entry>, StoreError>;
    /// The number of the last line of an attempt that is kept; 0 without any.
    fn last_seq(&mut self, entry: EntryId, token: Token) -> Result<u64, StoreError>;
    /// Keeps lines of an attempt, the first of which has this number.
    fn append_lines(
        &mut self,
        entry: EntryId,
        token: Token,
        first: u64,
        lines: &[String],
    ) -> Result<(), StoreError>;
    /// Lines of an entry, in order, after this token and number.
    fn lines_after(
        &mut self,
        entry: EntryId,
        after: (Token, u64),
        most: u32,
    ) -> Result<Vec<EventLine>, StoreError>;
    /// Adds a note to a run.
    fn add_note(&mut self, run: &str, note: &Note) -> Result<(), StoreError>;
    /// The notes of a run, the oldest first.
    fn notes(&mut self, run: &str) -> Result<Vec<Note>, StoreError>;
    /// Notes that a run is deleted.
    fn add_deletion(&mut self, deletion: &Deletion) -> Result<(), StoreError>;
    /// Forgets that a run was deleted; returns whether it was.
    fn remove_deletion(&mut self, run: &str) -> Result<bool, StoreError>;
    /// Deleted runs, the newest first.
    fn deletions(&mut self) -> Result<Vec<Deletion>, StoreError>;
    /// Keeps the digest of a secret, until this time in milliseconds since 1970.
    fn put_secret(
        &mut self,
        digest: &[u8; 32],
        kind: SecretKind,
        name: &str,
        until_unix_ms: u64,
    ) -> Result<(), StoreError>;
    /// The name behind the secret with this digest, if the secret is still valid.
    fn secret(
        &mut self,
        digest: &[u8; 32],
        kind: SecretKind,
        now_unix_ms: u64,
    ) -> Result<Option<String>, StoreError>;
    /// Removes a secret; returns whether it was there.
    fn remove_secret(&mut self, digest: &[u8; 32]) -> Result<bool, StoreError>;
    /// Removes the secrets of a kind with this name; returns how many there were.
    fn remove_secrets(&mut self, kind: SecretKind, name: &str) -> Result<u64, StoreError>;
    /// Removes all secrets that are not valid any more.
    fn remove_lapsed_secrets(&mut self, now_unix_ms: u64) -> Result<(), StoreError>;
    /// The names of the secrets of a kind, each once, in order.
    fn names_of_secrets(&mut self, kind: SecretKind) -> Result<Vec<String>, StoreError>;
    /// The name of the secret with which a controller has registered first: no other one may speak for it.
    fn controller_owner(&mut self, controller: &str) -> Result<Option<String>, StoreError>;
    /// Keeps the owner of a controller.
    fn put_controller_owner(&mut self, controller: &str, owner: &str) -> Result<(), StoreError>;
    /// Writes an account: a new one, or in place of the old one.
    fn put_account(&mut self, account: &Account) -> Result<(), StoreError>;
    /// The account of this name.
    fn account(&mut self, name: &str) -> Result<Option<Account>, StoreError>;
    /// All accounts, by name.
    fn accounts(&mut self) -> Result<Vec<Account>, StoreError>;
    /// Saves a search under a name; its number, which no other view ever has.
    fn add_view(
        &mut self,
        owner: &str,
        name: &str,
        search: &ArchiveSearch,
        unix_ms: u64,
    ) -> Result<u64, StoreError>;
    /// The views of an owner, by name.
    fn views(&mut self, owner: &str) -> Result<Vec<SavedView>, StoreError>;
    /// Writes name and search of a view; returns whether the owner has it.
    fn put_view(&mut self, owner: &str, view: &SavedView) -> Result<bool, StoreError>;
    /// Removes a view; returns whether the owner had it.
    fn remove_view(&mut self, owner: &str, id: u64) -> Result<bool, StoreError>;
    /// Writes down who has done what. Nothing removes it.
    fn audit(&mut self, unix_ms: u64, author: &str, what: &str) -> Result<(), StoreError>;
    /// What was written down with a lower number than this, the newest first.
    fn audits(&mut self, before: Option<u64>, most: u32) -> Result<Vec<AuditLine>, StoreError>;
}

/// What is done within a transaction; whether it is kept.
pub type Work<'w> = &'w mut dyn FnMut(&mut dyn Transaction) -> bool;

/// A database: transactions come one after the other, also those of another server of the same database.
pub trait Database: Send + 'static {
    /// Does `work` once within a transaction, which is rolled back where `work` says that it is not kept. After an error, nothing of it was
    /// done; or all, where the answer to its end was lost.
    fn attempt(&mut self, work: Work<'_>) -> Result<(), StoreError>;

    /// Does each piece of work as [`Self::attempt`] does, in their order, and says of each once whether it went well. A database may do them
    /// within one transaction: then it says so of all when that one has ended.
    fn attempt_all(&mut self, works: &mut [Work<'_>], ended: &mut dyn FnMut(usize, Result<(), StoreError>)) {
        for (index, work) in works.iter_mut().enumerate() {
            ended(index, self.attempt(*work));
        }
    }

    /// Waits until all that was done survives a power cut. What survives the end of the program is in the nature of a transaction.
    fn make_durable(&mut self) -> Result<(), StoreError>;

    /// Does all of `work`, or nothing of it where it fails.
    fn transact<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&mut dyn Transaction) -> Result<T, E>,
    ) -> Result<T, E>
    where
        Self: Sized,
    {
        let mut work = Some(work);
        let mut answer = None;
        self.attempt(&mut |rows| {
            let Some(work) = work.take() else { return false };
            let done = answer.insert(work(rows));
            done.is_ok()
        })?;
        answer.unwrap_or_else(|| Err(StoreError::Failed("it has done nothing".to_owned()).into()))
    }
}

impl Database for Box<dyn Database> {
    fn attempt(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        (**self).attempt(work)
    }

    fn attempt_all(&mut self, works: &mut [Work<'_>], ended: &mut dyn FnMut(usize, Result<(), StoreError>)) {
        (**self).attempt_all(works, ended);
    }

    fn make_durable(&mut self) -> Result<(), StoreError> {
        (**self).make_durable()
    }
}
