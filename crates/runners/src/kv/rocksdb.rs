//! `RocksDB`: one store, shared by all threads. Tables have blocks of the default size, in a block cache.

use std::path::{Path, PathBuf};

use super::engine::{Durability, KEY_BYTES, StoreEngine, StoreError, StoreOptions};
pub use super::rocksdb_library::RocksDbError;
use super::rocksdb_library::{self, Database};

/// The options of the store.
#[derive(clap::Args, Debug)]
pub struct RocksDbOptions {
    /// The records and the threads
    #[command(flatten)]
    pub store: StoreOptions,
    /// The size of the block cache in MB
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub cache_mb: u32,
    /// The library
    #[command(flatten)]
    pub library: LibraryFile,
}

/// The build of the library.
#[derive(clap::Args, Debug)]
pub struct LibraryFile {
    /// Load this shared library: a path, or a name that the system searches for
    #[arg(long, default_value = "librocksdb.so")]
    pub library: PathBuf,
}

/// The name and version of the library.
pub fn version(file: &LibraryFile) -> Result<String, RocksDbError> {
    rocksdb_library::version(&file.library).map(|version| format!("RocksDB {version}"))
}

/// The store.
pub struct RocksDb(Database);

impl RocksDb {
    /// Creates an empty store.
    pub fn create(directory: &Path, options: &RocksDbOptions) -> Result<Self, StoreError> {
        let is_durable = options.store.durability == Durability::Commit;
        let cache_bytes = (options.cache_mb as usize) << 20;
        Ok(Self(Database::create(&options.library.library, directory, cache_bytes, is_durable)?))
    }
}

impl StoreEngine for RocksDb {
    type Handle = ();

    fn open_handle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), StoreError> {
        for (key, value) in records {
            self.0.load(&key, &value)?;
        }
        // Moves the records from the memtable into the tree, where searches find them in a reopened store.
        Ok(self.0.flush()?)
    }

    fn search(
        &self,
        (): &mut (),
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.0.get(&key, check)?
    }

    fn update(&self, (): &mut (), key: [u8; KEY_BYTES], value: &[u8]) -> Result<(), StoreError> {
        Ok(self.0.put(&key, value)?)
    }
}
