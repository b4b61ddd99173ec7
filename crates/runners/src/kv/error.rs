//! Why a key-value runner cannot start. What a store says later is left to [`StoreError`].

use std::io;
use std::path::PathBuf;

use super::engine::StoreError;
use super::je::error::JeError;
use super::rocksdb_library::RocksDbError;
use crate::error::BuiltinRunnerError;

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

impl From<KvError> for BuiltinRunnerError {
    fn from(error: KvError) -> Self {
        Self::Target(Box::new(error))
    }
}
