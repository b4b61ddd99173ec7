//! `RocksDB`: one store, shared by all threads; tables of blocks of its default size, in a cache of blocks.

mod library;

use std::path::{Path, PathBuf};

use self::library::Database;
use super::engine::{Durability, Engine, KEY_BYTES, Shape};
use crate::RunnerError;

/// The store.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// What is stored, and who works it
    #[command(flatten)]
    pub shape: Shape,
    /// The cache of blocks in MB
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub cache_mb: u32,
    /// The library
    #[command(flatten)]
    pub library: LibraryFile,
}

/// Which build of the library.
#[derive(clap::Args, Debug)]
pub struct LibraryFile {
    /// The shared library: a path, or a name that the system looks for
    #[arg(long, default_value = "librocksdb.so")]
    pub library: PathBuf,
}

/// Its name and version.
pub fn version(file: &LibraryFile) -> Result<String, RunnerError> {
    library::version(&file.library).map(|version| format!("RocksDB {version}")).map_err(RunnerError)
}

/// The store.
pub struct RocksDb(Database);

impl RocksDb {
    /// Makes an empty one.
    pub fn create(directory: &Path, options: &Options) -> Result<Self, String> {
        let is_durable = options.shape.durability == Durability::Commit;
        let cache_bytes = (options.cache_mb as usize) << 20;
        Database::create(&options.library.library, directory, cache_bytes, is_durable).map(Self)
    }
}

impl Engine for RocksDb {
    type Hand = ();

    fn hand(&self) -> Result<(), String> {
        Ok(())
    }

    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), String> {
        for (key, value) in records {
            self.0.load(&key, &value)?;
        }
        // So that searches find records in the tree, as in a store that has been opened, and not where they were
        // written last.
        self.0.flush()
    }

    fn search(
        &self,
        (): &mut (),
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), String>,
    ) -> Result<(), String> {
        self.0.get(&key, check)?
    }

    fn update(&self, (): &mut (), key: [u8; KEY_BYTES], value: &[u8]) -> Result<(), String> {
        self.0.put(&key, value)
    }
}
