//! The options of all stores, the interface that a store implements, and its errors.

use std::path::PathBuf;

use clap::ValueEnum;

use super::rocksdb_library::RocksDbError;
use crate::error::OperationFailure;

/// Bytes of a key. Every value begins with its key.
pub const KEY_BYTES: usize = 8;

/// When a commit is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// Before it returns: a crash of the machine loses nothing
    Commit,
    /// When the system writes it back: a crash of the machine may lose the last seconds
    System,
}

/// The records, and the threads that use them.
#[derive(clap::Args, Debug)]
pub struct StoreOptions {
    /// Make a directory for the store here, and remove it at the end
    #[arg(long)]
    pub directory: PathBuf,
    /// Run this many threads, each in a closed loop
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Load this many records before the first run
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub records: u64,
    /// Bytes of a value
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(8..=1 << 24))]
    pub value_bytes: u32,
    /// Update only this many of the records
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub hot: u64,
    /// When a commit is on the disk
    #[arg(long, value_enum, default_value = "commit")]
    pub durability: Durability,
}

/// A store. Every call is a transaction of its own.
pub trait StoreEngine: Sync {
    /// What one thread needs to use the store, such as a connection.
    type Handle: Send;

    /// Opens a handle for one thread.
    fn open_handle(&self) -> Result<Self::Handle, StoreError>;

    /// Inserts new records, in the order of their keys.
    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), StoreError>;

    /// Looks up a value and passes it to `check`.
    fn search(
        &self,
        handle: &mut Self::Handle,
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Changes the value of a record.
    fn update(&self, handle: &mut Self::Handle, key: [u8; KEY_BYTES], value: &[u8])
    -> Result<(), StoreError>;
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

impl From<StoreError> for OperationFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}
