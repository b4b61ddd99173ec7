//! Embedded key-value stores under threads: searches, and updates that contend for few records.
//!
//! All stores contain the same records: a key of eight bytes, and a value of a fixed length that begins with its key.
//! They are loaded in key order before a run. Every search checks the value against its key.

mod engine;
pub(crate) mod error;
pub mod je;
mod lmdb;
pub mod rocksdb;
mod rocksdb_library;
pub mod sqlite;

use std::path::{Path, PathBuf};
use std::{fs, io};

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub use self::engine::{Durability, StoreError, StoreOptions};
use self::engine::{KEY_BYTES, StoreEngine};
pub use self::error::KvError;
use crate::closed_loop::serve;
use crate::error::{BuiltinRunnerError, OperationFailure};
use crate::operations::SyncOperations;

/// The operations, by index.
const SEARCH: usize = 0;
const UPDATE: usize = 1;

/// The name of the runner's directory below the given one. The runner removes it with its contents.
const DIRECTORY_NAME: &str = "showdown-kv";

/// A store.
#[derive(clap::Subcommand, Debug)]
pub enum StoreCommand {
    /// `SQLite`: a B-tree in a file with a write-ahead log, one writer at a time
    Sqlite(sqlite::SqliteOptions),
    /// LMDB: a copy-on-write B+tree in a memory map, one writer at a time
    Lmdb(StoreOptions),
    /// `RocksDB`: a log-structured merge tree, from the system's shared library
    Rocksdb(rocksdb::RocksDbOptions),
    /// Berkeley DB Java Edition: a B+tree in an append-only log, in a Java virtual machine
    Je(je::JeOptions),
}

/// A store whose version is printed.
#[derive(clap::Subcommand, Debug)]
pub enum VersionCommand {
    /// Print the version of `SQLite`
    Sqlite,
    /// Print the version of LMDB
    Lmdb,
    /// Print the version of `RocksDB`'s shared library
    Rocksdb(rocksdb::LibraryFile),
    /// Print the versions of Berkeley DB Java Edition and of the Java virtual machine
    Je {
        /// The version of Berkeley DB Java Edition
        version: je::JeVersion,
    },
}

impl VersionCommand {
    /// The name and version of the store.
    pub fn version(&self) -> Result<String, KvError> {
        match self {
            Self::Sqlite => Ok(format!("SQLite {}", rusqlite::version())),
            Self::Lmdb => Ok(lmdb::version()),
            Self::Rocksdb(file) => Ok(rocksdb::version(file)?),
            Self::Je { version } => Ok(je::version(*version)?),
        }
    }
}

impl StoreCommand {
    /// The runner's directory; none where a Java virtual machine takes the place of this program.
    pub(crate) fn data(&self) -> Option<PathBuf> {
        let options = match self {
            Self::Lmdb(options) => options,
            Self::Sqlite(options) => &options.store,
            Self::Rocksdb(options) => &options.store,
            Self::Je(_) => return None,
        };
        Some(options.directory.join(DIRECTORY_NAME))
    }
}

/// Loads the store and runs as its runner.
pub fn run(store: &StoreCommand) -> Result<(), BuiltinRunnerError> {
    match store {
        StoreCommand::Sqlite(options) => {
            run_store(&options.store, |dir| sqlite::Sqlite::create(dir, options))
        }
        StoreCommand::Lmdb(options) => run_store(options, |dir| lmdb::Lmdb::create(dir, options)),
        StoreCommand::Rocksdb(options) => {
            run_store(&options.store, |dir| rocksdb::RocksDb::create(dir, options))
        }
        StoreCommand::Je(options) => Err(KvError::Je(je::become_runner(options)).into()),
    }
}

/// The runner's directory. It is removed when this is dropped.
struct StoreDirectory(PathBuf);

impl StoreDirectory {
    fn make(below: &Path) -> Result<Self, KvError> {
        let path = below.join(DIRECTORY_NAME);
        let failed = |source| KvError::Directory { path: path.clone(), source };
        // A killed runner may have left its directory.
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for StoreDirectory {
    fn drop(&mut self) {
        // If this fails, the next runner removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run_store<E: StoreEngine>(
    options: &StoreOptions,
    create: impl FnOnce(&Path) -> Result<E, StoreError>,
) -> Result<(), BuiltinRunnerError> {
    let directory = StoreDirectory::make(&options.directory)?;
    let engine =
        create(&directory.0).map_err(|source| KvError::Create { path: directory.0.clone(), source })?;
    let value_bytes = options.value_bytes as usize;
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut records = (0..options.records).map(|number| (key(number), value(number, value_bytes, &mut rng)));
    engine.load(&mut records).map_err(|source| KvError::Load { records: options.records, source })?;
    let hot = options.hot.min(options.records);
    serve(&StoreOperations { engine, records: options.records, hot, value_bytes }, options.threads)
}

/// Big-endian, so that keys sort by their numbers.
fn key(number: u64) -> [u8; KEY_BYTES] {
    number.to_be_bytes()
}

/// Random bytes, which no store can compress, after the key.
fn value(number: u64, length: usize, rng: &mut Pcg64Mcg) -> Vec<u8> {
    let mut value = vec![0; length];
    rng.fill_bytes(&mut value);
    value[..KEY_BYTES].copy_from_slice(&key(number));
    value
}

struct StoreOperations<E> {
    engine: E,
    records: u64,
    hot: u64,
    value_bytes: usize,
}

impl<E: StoreEngine> SyncOperations for StoreOperations<E> {
    type ThreadState = E::Handle;

    fn operations(&self) -> Vec<String> {
        vec!["search".to_owned(), "update".to_owned()]
    }

    fn thread_state(&self) -> Result<E::Handle, BuiltinRunnerError> {
        Ok(self.engine.open_handle().map_err(KvError::Open)?)
    }

    fn execute(
        &self,
        handle: &mut E::Handle,
        operation: usize,
        rng: &mut Pcg64Mcg,
    ) -> Result<(), OperationFailure> {
        match operation {
            SEARCH => {
                let key = key(rng.random_range(0..self.records));
                self.engine.search(handle, key, |found| match found {
                    Some(value) if value.len() == self.value_bytes && value.starts_with(&key) => Ok(()),
                    Some(_) => Err(StoreError::WrongValue),
                    None => Err(StoreError::RecordMissing),
                })?;
            }
            UPDATE => {
                // The records are spread over the whole store, so that they do not share pages by their position.
                let number = rng.random_range(0..self.hot) * (self.records / self.hot);
                self.engine.update(handle, key(number), &value(number, self.value_bytes, rng))?;
            }
            other => unreachable!("{other} is not an index of an operation"),
        }
        Ok(())
    }
}
