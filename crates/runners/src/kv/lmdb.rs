//! LMDB: one environment with one database, shared by all threads.

use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use super::engine::{Durability, KEY_BYTES, StoreEngine, StoreError, StoreOptions};

/// The size of the map, relative to the data. It takes address space and no memory. Split pages are not full, and
/// copies of pages stay until no reader needs them.
const MAP_FACTOR: u64 = 8;
/// The size of the map for small stores.
const MIN_MAP_BYTES: u64 = 64 << 20;
/// Reader slots in addition to those of the threads.
const SPARE_READERS: u32 = 8;

/// The store.
pub struct Lmdb {
    environment: Env,
    database: Database<Bytes, Bytes>,
}

/// The name and version of the library.
pub fn version() -> String {
    let heed::LmdbVersion { major, minor, patch, .. } = heed::lmdb_version();
    format!("LMDB {major}.{minor}.{patch}")
}

impl Lmdb {
    /// Creates an empty store.
    #[expect(
        unsafe_code,
        reason = "opening maps a file: sound as long as no other process writes to it, and it is in the runner's directory"
    )]
    pub fn create(directory: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let record = u64::from(options.value_bytes) + KEY_BYTES as u64;
        let map = (options.records.saturating_mul(record).saturating_mul(MAP_FACTOR))
            .max(MIN_MAP_BYTES)
            .next_multiple_of(1 << 20);
        let mut open = EnvOpenOptions::new();
        open.map_size(map as usize).max_readers(options.threads + SPARE_READERS);
        let environment = unsafe {
            if options.durability == Durability::System {
                // Commits do not wait for the disk (mdb_env_open, MDB_NOSYNC).
                open.flags(EnvFlags::NO_SYNC);
            }
            open.open(directory)?
        };
        let mut transaction = environment.write_txn()?;
        let database = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Self { environment, database })
    }
}

impl StoreEngine for Lmdb {
    type Handle = ();

    fn open_handle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), StoreError> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in records {
            self.database.put(&mut transaction, &key, &value)?;
        }
        Ok(transaction.commit()?)
    }

    fn search(
        &self,
        (): &mut (),
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let transaction = self.environment.read_txn()?;
        check(self.database.get(&transaction, &key)?)
    }

    fn update(&self, (): &mut (), key: [u8; KEY_BYTES], value: &[u8]) -> Result<(), StoreError> {
        let mut transaction = self.environment.write_txn()?;
        self.database.put(&mut transaction, &key, value)?;
        Ok(transaction.commit()?)
    }
}
