//! The tables of the index. The index can be rebuilt from the run directories, so any other version of the schema,
//! older or newer, is dropped and rebuilt.

use rusqlite::Connection;
use std::time::Duration;

/// Rises with every change below, and with every change of what is in a column.
const VERSION: i32 = 6;

/// Plain SQL, which `PostgreSQL` accepts as well.
const TABLES: &str = "
DROP TABLE IF EXISTS tag;
DROP TABLE IF EXISTS variant;
DROP TABLE IF EXISTS run;

CREATE TABLE run (
    id              TEXT    NOT NULL PRIMARY KEY,
    changed_ns      INTEGER NOT NULL,  -- modification time of the directory when it was read
    started_unix_ms INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    kind            TEXT,
    workload        TEXT,
    sentence        TEXT,
    metric          TEXT,
    unit            TEXT,
    showdown        TEXT,
    series          TEXT,              -- runs of one question have the same
    confirms        TEXT,              -- the run that this one confirms
    valid           INTEGER NOT NULL,
    invalid         INTEGER NOT NULL,
    problems        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_series ON run (series, id);
CREATE INDEX run_confirms ON run (confirms, id);
CREATE INDEX run_workload ON run (workload, id);
CREATE INDEX run_kind ON run (kind, id);
CREATE INDEX run_state ON run (state, id);

CREATE TABLE variant (
    run_id   TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    server   TEXT    NOT NULL,
    median   REAL,                     -- of a comparison; a sweep has one for each point, in its verdict
    low      REAL,
    high     REAL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
    run_id   TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    tag      TEXT    NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_run ON tag (tag, run_id);
";

/// How long a process waits for another process that writes.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Prepares a connection for use by several processes, and creates missing tables.
pub(super) fn prepare(db: &mut Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    // Readers continue while another process writes. A file system without shared memory keeps its journal mode.
    db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    // A power cut loses the last writes without corruption; they can be rebuilt.
    db.pragma_update(None, "synchronous", "normal")?;
    db.pragma_update(None, "foreign_keys", "on")?;
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
    if version(db)? == VERSION {
        return Ok(());
    }
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have created the tables during the wait.
    if version(&change)? != VERSION {
        change.execute_batch(TABLES)?;
        change.pragma_update(None, "user_version", VERSION)?;
    }
    change.commit()
}
