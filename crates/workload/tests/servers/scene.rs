//! A place to start servers in, gone at the end of the test.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use host::Host;
use load::drivers::keyspace::KeyspaceSpec;
use load::drivers::sql::Tables;
use tempfile::TempDir;
use workload::definition::Operations;
use workload::{Catalogue, Instance, InstanceError, ServerVariant, StartOptions, Workload};

/// Keys enough for a test.
pub const KEYS: u64 = 500;

/// And rows of a table.
const ROWS: u32 = 1_500;

/// Directories for a server's start.
pub struct Scene {
    directory: TempDir,
}

impl Scene {
    pub fn new() -> std::io::Result<Self> {
        // Root's servers have workers of another user, who must come to the data.
        let directory = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir()?;
        Ok(Self { directory })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn stage(&self) -> std::io::Result<StartOptions> {
        let host = Host::local();
        Ok(StartOptions {
            directory: self.path().join("stage"),
            cache: self.path().join("cache"),
            cpus: host.allowed_cpus()?.iter().take(1).collect(),
            port: None,
            seed: 7,
            interrupted: Arc::default(),
            host,
        })
    }

    /// Starts a server of a workload as it is.
    pub fn start(&self, workload: &Workload, server: &str) -> Result<Instance, InstanceError> {
        let variant =
            ServerVariant { server: server.to_owned(), knobs: BTreeMap::new(), kernel: BTreeMap::new() };
        Instance::start(workload, &variant, &self.stage().expect("CPUs are known"))
    }
}

/// The built-in workload of a variant, with few keys and rows.
pub fn resolve(variant: &str) -> Result<(Workload, ServerVariant), workload::LookupError> {
    let (mut workload, mut variants) = Catalogue::with("/nowhere").resolve(None, &[variant])?;
    workload.load.operations = match workload.load.operations {
        Operations::Keys(spec) => Operations::Keys(KeyspaceSpec { keys: KEYS, ..spec }),
        Operations::Tables(mix, tables) => Operations::Tables(mix, Tables { rows: ROWS, ..tables }),
        others @ (Operations::Http(_) | Operations::Mail(_) | Operations::Runner(_)) => others,
    };
    Ok((workload, variants.remove(0)))
}

/// A workload of one file, with one server over HTTP; `server` is the body of its section.
pub fn one_file(scene: &Scene, server: &str, operations: &str) -> Result<Workload, workload::LookupError> {
    let text = format!(
        "title = \"Test\"\n[server.test]\n{server}\n[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n{operations}"
    );
    let path = scene.path().join("workload.toml");
    std::fs::write(&path, text).expect("the scene can be written");
    Catalogue::with("/nowhere").find(&path.display().to_string())
}
