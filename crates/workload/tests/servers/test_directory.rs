//! A directory to start servers in, removed at the end of the test.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use host::Host;
use load::drivers::keyspace::KeyspaceSpec;
use load::drivers::mix::OperationMix;
use load::drivers::sql::{TableMix, Tables};
use tempfile::TempDir;
use workload::{Catalogue, Instance, InstanceError, ServerVariant, StartLayout, StartOptions, Workload};

/// The keys of a test.
pub const KEYS: u64 = 500;

/// The rows of a table in a test.
const ROWS: u32 = 1_500;

/// The directories of a start.
pub struct TestDirectory {
    directory: TempDir,
    starts: AtomicU32,
}

impl TestDirectory {
    pub fn new() -> std::io::Result<Self> {
        // The workers of servers that root starts run as another user, who must reach the data.
        let directory = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir()?;
        Ok(Self { directory, starts: AtomicU32::default() })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Options of a new start on one CPU.
    pub fn options(&self) -> std::io::Result<StartOptions> {
        let host = Host::local();
        Ok(StartOptions {
            directory: self.path().join(format!("start-{}", self.starts.fetch_add(1, Ordering::Relaxed))),
            cache: self.path().join("cache"),
            cpus: host.allowed_cpus()?.iter().take(1).collect(),
            has_own_cpus: false,
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            connections: 1_000,
            seed: 7,
            layout: StartLayout::of_start(7, 1),
            interrupted: Arc::default(),
            host,
        })
    }

    /// Starts a server of a workload with its defaults.
    pub fn start(&self, workload: &Workload, server: &str) -> Result<Instance, InstanceError> {
        let variant =
            ServerVariant { server: server.to_owned(), knobs: BTreeMap::new(), kernel: BTreeMap::new() };
        Instance::start(workload, &variant, &self.options().expect("the allowed CPUs can be read"))
    }
}

/// The built-in workload of a variant, with fewer keys and rows.
pub fn resolve(variant: &str) -> Result<(Workload, ServerVariant), workload::LookupError> {
    let (mut workload, mut variants) = Catalogue::with("/nowhere").resolve(None, &[variant])?;
    let mix = &mut workload.load.mix;
    if let Some(keys) = mix.get::<KeyspaceSpec>() {
        *mix = OperationMix::new(KeyspaceSpec { keys: KEYS, ..keys.clone() });
    } else if let Some(TableMix { transactions, tables }) = mix.get().cloned() {
        *mix = OperationMix::new(TableMix { transactions, tables: Tables { rows: ROWS, ..tables } });
    }
    Ok((workload, variants.remove(0)))
}

/// A workload of one file, with one HTTP server; `server` is the body of its table.
pub fn one_file(
    directory: &TestDirectory,
    server: &str,
    operations: &str,
) -> Result<Workload, workload::LookupError> {
    let text = format!(
        "title = \"Test\"\n[server.test]\n{server}\n[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n{operations}"
    );
    let path = directory.path().join("workload.toml");
    std::fs::write(&path, text).expect("the file is written");
    Catalogue::with("/nowhere").find(&path.display().to_string())
}
