//! SQLite: a table without rowid in WAL mode, with a connection for each thread.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::engine::{Durability, KEY_BYTES, StoreEngine, StoreError, StoreOptions};

/// How long a writer waits for the lock of another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The options of the store.
#[derive(clap::Args, Debug)]
pub struct SqliteOptions {
    /// The records and the threads
    #[command(flatten)]
    pub store: StoreOptions,
    /// The size of the page cache of each connection in MB
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub cache_mb: u32,
}

/// The store: a file, which each thread opens.
pub struct Sqlite {
    path: PathBuf,
    durability: Durability,
    cache_mb: u32,
}

impl Sqlite {
    /// Creates an empty store.
    pub fn create(directory: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let (path, durability) = (directory.join("store.sqlite"), options.store.durability);
        let store = Self { path, durability, cache_mb: options.cache_mb };
        let connection = store.open(OpenFlags::SQLITE_OPEN_CREATE)?;
        let create = "CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";
        connection.execute_batch(create)?;
        Ok(store)
    }

    fn open(&self, further: OpenFlags) -> Result<Connection, StoreError> {
        // Each thread has its own connection, so connections need no mutex (https://www.sqlite.org/threadsafe.html).
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | further;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // In WAL mode FULL syncs the log at each commit, NORMAL only at checkpoints
        // (https://www.sqlite.org/pragma.html#pragma_synchronous).
        let synchronous = if self.durability == Durability::Commit { "full" } else { "off" };
        connection.pragma_update(None, "synchronous", synchronous)?;
        // A negative number is one of KiB (https://www.sqlite.org/pragma.html#pragma_cache_size).
        connection.pragma_update(None, "cache_size", -(i64::from(self.cache_mb) << 10))?;
        Ok(connection)
    }
}

impl StoreEngine for Sqlite {
    type Handle = Connection;

    fn open_handle(&self) -> Result<Connection, StoreError> {
        self.open(OpenFlags::empty())
    }

    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), StoreError> {
        let mut connection = self.open_handle()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare("INSERT INTO kv (k, v) VALUES (?1, ?2)")?;
            for (key, value) in records {
                insert.execute(params![&key[..], value])?;
            }
        }
        transaction.commit()?;
        // Moves the log into the file, so that the first searches do not read the log.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    fn search(
        &self,
        connection: &mut Connection,
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut select = connection.prepare_cached("SELECT v FROM kv WHERE k = ?1")?;
        let mut rows = select.query(params![&key[..]])?;
        match rows.next()? {
            None => check(None),
            Some(row) => check(Some(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)),
        }
    }

    fn update(
        &self,
        connection: &mut Connection,
        key: [u8; KEY_BYTES],
        value: &[u8],
    ) -> Result<(), StoreError> {
        let mut update = connection.prepare_cached("UPDATE kv SET v = ?2 WHERE k = ?1")?;
        match update.execute(params![&key[..], value])? {
            1 => Ok(()),
            _ => Err(StoreError::RecordMissing),
        }
    }
}
