//! LMDB: one environment with one database, shared by all threads.

use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use super::engine::{Durability, Engine, KEY_BYTES, Shape};

/// The map is as large as the data may ever get: it takes address space and no memory. A page holds less than it
/// could when it was split, and copies live until no reader needs them.
const MAP_FACTOR: u64 = 8;
/// For the smallest stores.
const LEAST_MAP_BYTES: u64 = 64 << 20;
/// Reader slots beside those of the threads.
const SPARE_READERS: u32 = 8;

/// The store.
pub struct Lmdb {
    environment: Env,
    database: Database<Bytes, Bytes>,
}

/// Its name and version.
pub fn version() -> String {
    let heed::LmdbVersion { major, minor, patch, .. } = heed::lmdb_version();
    format!("LMDB {major}.{minor}.{patch}")
}

impl Lmdb {
    /// Makes an empty one.
    #[expect(
        unsafe_code,
        reason = "opening maps a file: sound as long as nobody else writes to it, and it is in a directory made for us"
    )]
    pub fn create(directory: &Path, shape: &Shape) -> Result<Self, String> {
        let record = u64::from(shape.value_bytes) + KEY_BYTES as u64;
        let map = (shape.records.saturating_mul(record).saturating_mul(MAP_FACTOR))
            .max(LEAST_MAP_BYTES)
            .next_multiple_of(1 << 20);
        let create = || -> heed::Result<Self> {
            let mut open = EnvOpenOptions::new();
            open.map_size(map as usize).max_readers(shape.threads + SPARE_READERS);
            let environment = unsafe {
                if shape.durability == Durability::System {
                    // Commits do not wait for the disk (mdb_env_open, MDB_NOSYNC).
                    open.flags(EnvFlags::NO_SYNC);
                }
                open.open(directory)?
            };
            let mut transaction = environment.write_txn()?;
            let database = environment.create_database(&mut transaction, None)?;
            transaction.commit()?;
            Ok(Self { environment, database })
        };
        create().map_err(|e| e.to_string())
    }
}

impl Engine for Lmdb {
    type Hand = ();

    fn hand(&self) -> Result<(), String> {
        Ok(())
    }

    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), String> {
        let load = || -> heed::Result<()> {
            let mut transaction = self.environment.write_txn()?;
            for (key, value) in records {
                self.database.put(&mut transaction, &key, &value)?;
            }
            transaction.commit()
        };
        load().map_err(|e| e.to_string())
    }

    fn search(
        &self,
        (): &mut (),
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), String>,
    ) -> Result<(), String> {
        let transaction = self.environment.read_txn().map_err(|e| e.to_string())?;
        check(self.database.get(&transaction, &key).map_err(|e| e.to_string())?)
    }

    fn update(&self, (): &mut (), key: [u8; KEY_BYTES], value: &[u8]) -> Result<(), String> {
        let update = || -> heed::Result<()> {
            let mut transaction = self.environment.write_txn()?;
            self.database.put(&mut transaction, &key, value)?;
            transaction.commit()
        };
        update().map_err(|e| e.to_string())
    }
}
