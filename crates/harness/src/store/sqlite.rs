//! The store of one machine: an SQLite file with one writer. Each transaction begins IMMEDIATE: one that reads first and then
//! writes would fail at once, however long it may wait (`BUSY_SNAPSHOT`).

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::sqlite_rows::SqliteRows;
use super::{Database, StoreError, Work};

/// Rises with each change of the tables. A change adds a step to [`STEPS`].
const VERSION: u32 = 3;

/// How long a write waits for another program that looks at the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Statements that lead from each version to the next one.
const STEPS: [&str; VERSION as usize] = ["
CREATE TABLE number (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE entry (
    id       INTEGER PRIMARY KEY,
    state    TEXT    NOT NULL,
    priority INTEGER NOT NULL,
    position INTEGER NOT NULL,
    question TEXT    NOT NULL,
    key      TEXT    UNIQUE,
    run      TEXT,
    row      TEXT    NOT NULL   -- the whole entry as JSON; the columns are for the order and for searches
) STRICT;
CREATE INDEX entry_order ON entry (state, priority DESC, position, id);
CREATE INDEX entry_question ON entry (question, id);
CREATE INDEX entry_run ON entry (run) WHERE run IS NOT NULL;

CREATE TABLE plan (entry INTEGER PRIMARY KEY REFERENCES entry (id), plan TEXT NOT NULL) STRICT;

CREATE TABLE host (name TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE controller (id TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE event_chunk (
    entry INTEGER NOT NULL REFERENCES entry (id),
    token INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    lines TEXT    NOT NULL,
    PRIMARY KEY (entry, token, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    id      INTEGER PRIMARY KEY,
    run     TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    unix_ms INTEGER NOT NULL,
    text    TEXT    NOT NULL
) STRICT;
CREATE INDEX note_run ON note (run, id);

CREATE TABLE deletion (
    run     TEXT    PRIMARY KEY,
    author  TEXT    NOT NULL,
    unix_ms INTEGER NOT NULL,
    reason  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE secret (
    digest        BLOB    PRIMARY KEY,
    kind          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    until_unix_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (id INTEGER PRIMARY KEY, unix_ms INTEGER NOT NULL, author TEXT NOT NULL, what TEXT NOT NULL) STRICT;
CREATE TRIGGER audit_stays_1 BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_stays_2 BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
", "
CREATE TABLE account (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL, unix_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE controller_owner (controller TEXT PRIMARY KEY, owner TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX secret_name ON secret (kind, name);
DELETE FROM secret WHERE kind = 'controller';   -- of an earlier start
", "
CREATE TABLE saved_view (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,   -- a link to a view that is deleted leads to no other one
    owner   TEXT    NOT NULL,                    -- an account; empty for the installation
    name    TEXT    NOT NULL,
    search  TEXT    NOT NULL,                    -- as JSON
    unix_ms INTEGER NOT NULL,
    UNIQUE (owner, name)
) STRICT;
"];

/// The open file.
#[derive(Debug)]
pub struct Sqlite {
    db: Connection,
}

impl Sqlite {
    /// Opens the file, and creates what is missing.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::prepared(Connection::open(path)?)
    }

    /// One in memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::prepared(Connection::open_in_memory()?)
    }

    fn prepared(mut db: Connection) -> Result<Self, StoreError> {
        db.busy_timeout(BUSY_TIMEOUT)?;
        db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        // A transaction waits for no disk: a run may measure it. `make_durable` does, where it matters.
        db.pragma_update(None, "synchronous", "normal")?;
        db.pragma_update(None, "foreign_keys", "on")?;
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found: u32 = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found > VERSION {
            return Err(StoreError::Later { found, known: VERSION });
        }
        for step in &STEPS[found as usize..] {
            change.execute_batch(step)?;
        }
        change.pragma_update(None, "user_version", VERSION)?;
        change.commit()?;
        Ok(Self { db })
    }
}

impl Database for Sqlite {
    fn attempt(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        let mut rows = SqliteRows(self.db.transaction_with_behavior(TransactionBehavior::Immediate)?);
        if work(&mut rows) {
            rows.0.commit()?;
        }
        // One that is not kept is rolled back when it is dropped.
        Ok(())
    }

    fn make_durable(&mut self) -> Result<(), StoreError> {
        // It writes the log to the disk before anything else (<https://sqlite.org/wal.html>, section 3.2).
        Ok(self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("a row is no JSON: {error}"))
    }
}
