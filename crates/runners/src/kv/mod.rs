//! Embedded key-value stores under threads: search, and updates that contend for few records.
//!
//! All stores hold the same records (a key of eight bytes, a value of a fixed length that begins with its key),
//! loaded in the order of their keys before anything is timed. What a search finds is held against its key.

mod engine;
pub mod je;
mod lmdb;
pub mod rocksdb;
mod sqlite;

use std::path::{Path, PathBuf};
use std::{fs, io};

use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

pub use self::engine::{Durability, Shape};
use self::engine::{Engine, KEY_BYTES};
use crate::RunnerError;
use crate::loops::{Work, serve};

/// The operations, by index.
const SEARCH: usize = 0;
const UPDATE: usize = 1;

/// Our directory below the one that is given: what is in it is ours to remove.
const HOME: &str = "showdown-kv";

/// Which store.
#[derive(clap::Subcommand, Debug)]
pub enum Store {
    /// `SQLite`: a B-tree in a file with a write-ahead log, one writer at a time
    Sqlite(Shape),
    /// LMDB: a B+tree in a memory map, copied on write, one writer at a time
    Lmdb(Shape),
    /// `RocksDB`: a log-structured merge tree, of the system's shared library
    Rocksdb(rocksdb::Options),
    /// Berkeley DB Java Edition: a B+tree in an append-only log, in a Java virtual machine
    Je(je::Options),
}

/// A store that is asked for its version.
#[derive(clap::Subcommand, Debug)]
pub enum Named {
    /// `SQLite`'s
    Sqlite,
    /// LMDB's
    Lmdb,
    /// That of its shared library
    Rocksdb(rocksdb::LibraryFile),
    /// That of Berkeley DB Java Edition, and of the Java virtual machine
    Je {
        /// The version that is used
        version: je::Version,
    },
}

impl Named {
    /// Its name and version.
    pub fn version(&self) -> Result<String, RunnerError> {
        match self {
            Self::Sqlite => Ok(format!("SQLite {}", rusqlite::version())),
            Self::Lmdb => Ok(lmdb::version()),
            Self::Rocksdb(file) => rocksdb::version(file),
            Self::Je { version } => je::version(*version),
        }
    }
}

/// Loads the store, and is a runner of it.
pub fn run(store: &Store) -> Result<(), RunnerError> {
    match store {
        Store::Sqlite(shape) => bench(shape, |home| sqlite::Sqlite::create(home, shape)),
        Store::Lmdb(shape) => bench(shape, |home| lmdb::Lmdb::create(home, shape)),
        Store::Rocksdb(options) => bench(&options.shape, |home| rocksdb::RocksDb::create(home, options)),
        Store::Je(options) => Err(je::become_runner(options)),
    }
}

/// A directory of ours, gone with this.
struct Home(PathBuf);

impl Home {
    fn make(below: &Path) -> Result<Self, RunnerError> {
        let path = below.join(HOME);
        let failed = |e| RunnerError::of(&format!("cannot make {}", path.display()), e);
        // One who was killed has left his.
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bench<E: Engine>(
    shape: &Shape,
    create: impl FnOnce(&Path) -> Result<E, String>,
) -> Result<(), RunnerError> {
    let home = Home::make(&shape.directory)?;
    let engine = create(&home.0)
        .map_err(|e| RunnerError::of(&format!("cannot make a store in {}", home.0.display()), e))?;
    let length = shape.value_bytes as usize;
    let mut rng = <Pcg64Mcg as rand::SeedableRng>::seed_from_u64(1);
    let mut records = (0..shape.records).map(|number| (key(number), value(number, length, &mut rng)));
    engine
        .load(&mut records)
        .map_err(|e| RunnerError::of(&format!("cannot store {} records", shape.records), e))?;
    let hot = shape.hot.min(shape.records);
    serve(&Bench { engine, records: shape.records, hot, length }, shape.threads)
}

/// Big-endian, so that the order of keys is that of their numbers.
fn key(number: u64) -> [u8; KEY_BYTES] {
    number.to_be_bytes()
}

/// Random, so that no store can make it smaller.
fn value(number: u64, length: usize, rng: &mut Pcg64Mcg) -> Vec<u8> {
    let mut value = vec![0; length];
    rng.fill_bytes(&mut value);
    value[..KEY_BYTES].copy_from_slice(&key(number));
    value
}

struct Bench<E> {
    engine: E,
    records: u64,
    hot: u64,
    length: usize,
}

impl<E: Engine> Work for Bench<E> {
    type Hand = E::Hand;

    fn operations(&self) -> Vec<String> {
        vec!["search".to_owned(), "update".to_owned()]
    }

    fn hand(&self) -> Result<E::Hand, RunnerError> {
        self.engine.hand().map_err(|e| RunnerError::of("a thread cannot use the store", e))
    }

    fn operate(&self, hand: &mut E::Hand, operation: usize, rng: &mut Pcg64Mcg) -> Result<(), String> {
        match operation {
            SEARCH => {
                let key = key(rng.random_range(0..self.records));
                self.engine.search(hand, key, |found| match found {
                    Some(value) if value.len() == self.length && value.starts_with(&key) => Ok(()),
                    Some(_) => Err("a record has another value than was stored".to_owned()),
                    None => Err("a record is missing".to_owned()),
                })
            }
            UPDATE => {
                // Spread over the whole store, so that they share no page unless the store makes them.
                let number = rng.random_range(0..self.hot) * (self.records / self.hot);
                self.engine.update(hand, key(number), &value(number, self.length, rng))
            }
            other => unreachable!("{other} is none of our operations"),
        }
    }
}
