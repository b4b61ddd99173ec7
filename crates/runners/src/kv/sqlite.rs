//! SQLite: a table without rowid in WAL mode, a connection for each thread.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::engine::{Durability, Engine, KEY_BYTES, Shape};

/// How long a writer waits for the one before it, before it gives up.
const BUSY: Duration = Duration::from_secs(5);

/// The store: a file, opened by each thread.
pub struct Sqlite {
    path: PathBuf,
    durability: Durability,
}

impl Sqlite {
    /// Makes an empty one.
    pub fn create(directory: &Path, shape: &Shape) -> Result<Self, String> {
        let store = Self { path: directory.join("store.sqlite"), durability: shape.durability };
        let connection = store.open(OpenFlags::SQLITE_OPEN_CREATE)?;
        let create = "CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";
        connection.execute_batch(create).map_err(|e| e.to_string())?;
        Ok(store)
    }

    fn open(&self, further: OpenFlags) -> Result<Connection, String> {
        // One thread a connection: its own locks are not needed (https://www.sqlite.org/threadsafe.html).
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | further;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            // In WAL mode FULL syncs the log at each commit, NORMAL only at checkpoints
            // (https://www.sqlite.org/pragma.html#pragma_synchronous).
            let synchronous = if self.durability == Durability::Commit { "full" } else { "off" };
            connection.pragma_update(None, "synchronous", synchronous)?;
            Ok(connection)
        };
        open().map_err(|e| e.to_string())
    }
}

impl Engine for Sqlite {
    type Hand = Connection;

    fn hand(&self) -> Result<Connection, String> {
        self.open(OpenFlags::empty())
    }

    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), String> {
        let mut connection = self.hand()?;
        let load = || -> rusqlite::Result<()> {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut insert = transaction.prepare("INSERT INTO kv (k, v) VALUES (?1, ?2)")?;
                for (key, value) in records {
                    insert.execute(params![&key[..], value])?;
                }
            }
            transaction.commit()?;
            // The log goes into the file, so that the first searches do not look in it.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        load().map_err(|e| e.to_string())
    }

    fn search(
        &self,
        hand: &mut Connection,
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), String>,
    ) -> Result<(), String> {
        let failed = |e: rusqlite::Error| e.to_string();
        let mut select = hand.prepare_cached("SELECT v FROM kv WHERE k = ?1").map_err(failed)?;
        let mut rows = select.query(params![&key[..]]).map_err(failed)?;
        match rows.next().map_err(failed)? {
            None => check(None),
            Some(row) => {
                let value = row.get_ref(0).map_err(failed)?;
                check(Some(value.as_blob().map_err(|e| e.to_string())?))
            }
        }
    }

    fn update(&self, hand: &mut Connection, key: [u8; KEY_BYTES], value: &[u8]) -> Result<(), String> {
        let update = || -> rusqlite::Result<usize> {
            hand.prepare_cached("UPDATE kv SET v = ?2 WHERE k = ?1")?.execute(params![&key[..], value])
        };
        match update().map_err(|e| e.to_string())? {
            1 => Ok(()),
            _ => Err("a record is missing".to_owned()),
        }
    }
}
