//! Errors of the key-value runners.

use std::io;
use std::path::PathBuf;

use super::je::error::JeError;
use super::rocksdb::library::RocksDbError;

/// Why a key-value runner cannot start.
#[derive(Debug, thiserror::Error)]
pub enum KvError {
    /// The directory of the store cannot be made.
    #[error("cannot make the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The store cannot be created.
    #[error("cannot create a store in {}: {source}", path.display())]
    Create {
        /// Its directory.
        path: PathBuf,
        /// The store's error.
        source: StoreError,
    },
    /// The records cannot be loaded.
    #[error("cannot store {records} records: {source}")]
    Load {
        /// The number of records.
        records: u64,
        /// The store's error.
        source: StoreError,
    },
    /// A thread cannot open the store.
    #[error("a thread cannot open the store: {0}")]
    Open(StoreError),
    /// The library of `RocksDB` cannot be used.
    #[error(transparent)]
    Library(#[from] RocksDbError),
    /// The runner of Berkeley DB Java Edition cannot be started.
    #[error(transparent)]
    Je(#[from] JeError),
}

/// An error of a store, or a wrong record from it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// `SQLite` failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// LMDB failed.
    #[error(transparent)]
    Lmdb(#[from] heed::Error),
    /// `RocksDB` failed.
    #[error(transparent)]
    RocksDb(#[from] RocksDbError),
    /// A record that was stored is not there.
    #[error("a record is missing")]
    RecordMissing,
    /// A record has another value than the stored one.
    #[error("a record has a wrong value")]
    WrongValue,
}
