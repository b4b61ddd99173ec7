//! The tables of the index. All of it can be made anew from the run directories, so a schema that is not this one,
//! older or newer, is dropped and built again.

use rusqlite::Connection;
use std::time::Duration;

/// Rises with every change below.
const VERSION: i32 = 1;

/// Plain SQL as any database has it: a team's `PostgreSQL` takes the same tables.
const TABLES: &str = "
DROP TABLE IF EXISTS tag;
DROP TABLE IF EXISTS variant;
DROP TABLE IF EXISTS run;

CREATE TABLE run (
    id              TEXT    NOT NULL PRIMARY KEY,
    changed_ns      INTEGER NOT NULL,  -- the directory's time of change when it was read
    started_unix_ms INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    kind            TEXT,
    workload        TEXT,
    sentence        TEXT,
    measure         TEXT,
    unit            TEXT,
    showdown        TEXT,
    valid           INTEGER NOT NULL,
    invalid         INTEGER NOT NULL,
    problems        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE variant (
    run_id TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    place  INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    server TEXT    NOT NULL,
    median REAL,                       -- of a comparison; a sweep has one a point, in its verdict
    low    REAL,
    high   REAL,
    PRIMARY KEY (run_id, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
    run_id TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    place  INTEGER NOT NULL,
    tag    TEXT    NOT NULL,
    PRIMARY KEY (run_id, place)
) STRICT, WITHOUT ROWID;
";

/// How long a process waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a connection fit for use by several processes, and the tables where they are missing.
pub(super) fn prepare(db: &mut Connection) -> rusqlite::Result<()> {
    db.busy_timeout(PATIENCE)?;
    // Readers go on while one writes. Where a file system has no shared memory it stays as it was.
    db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    // Loses the last writes on a power cut, not its soundness; and they can be made anew.
    db.pragma_update(None, "synchronous", "normal")?;
    db.pragma_update(None, "foreign_keys", "on")?;
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    if version(db)? == VERSION {
        return Ok(());
    }
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have been first while we waited.
    if version(&change)? != VERSION {
        change.execute_batch(TABLES)?;
        change.pragma_update(None, "user_version", VERSION)?;
    }
    change.commit()
}
