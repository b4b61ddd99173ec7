//! Fuzzes `workload.toml`. The first byte chooses the built-in workload whose templates are beside it.
#![no_main]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use workload::{Folder, Workload};

/// Where this process writes what it tries.
static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a directory"));

fuzz_target!(|data: &[u8]| {
    let [choice, text @ ..] = data else { return };
    let built_in = Folder::all_built_in();
    let name = built_in[usize::from(*choice) % built_in.len()].name();
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads")).join(name);
    // An absolute path takes the place of the folder's own file.
    let file = DIRECTORY.path().join("fuzzed.toml");
    fs::write(&file, text).expect("a file");
    let _ = Workload::read(&Folder::Disk(folder), file.to_str().expect("UTF-8"));
});
