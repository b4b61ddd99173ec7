//! Gives the agent a hash of its sources: those of this crate and of the crates that it uses, with the versions of all others.
//! Builds of one version from other sources differ in it. Builds of the same sources for two architectures do not.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The first bytes of the hash tell builds apart as well as all of them, and fit into a line.
const BYTES: usize = 6;

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of crates").to_owned();
    let mut used = BTreeSet::new();
    add_with_used(&crates, "machine", &mut used);
    let mut files = vec![crates.join("../Cargo.lock")];
    for name in &used {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        files.push(crates.join(name).join("Cargo.toml"));
        add_files(&crates.join(name).join("src"), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&crates).unwrap_or(file).display().to_string();
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        hash.update(format!("{name} {}\n", bytes.len()));
        hash.update(bytes);
        if !name.contains("/src/") {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    let hex = hash.finalize().iter().take(BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    println!("cargo::rustc-env=SHOWDOWN_SOURCES={hex}");
}

/// Adds a crate of this workspace, and those that its manifest names.
fn add_with_used(crates: &Path, name: &str, used: &mut BTreeSet<String>) {
    let manifest = crates.join(name).join("Cargo.toml");
    if !manifest.exists() || !used.insert(name.to_owned()) {
        return;
    }
    let text = fs::read_to_string(&manifest).expect("a manifest is text");
    let dependencies = text.split("[dependencies]").nth(1).unwrap_or_default();
    for line in dependencies.lines().skip(1).take_while(|line| !line.starts_with('[')) {
        if let Some(other) = line.trim().strip_suffix(".workspace = true") {
            add_with_used(crates, other, used);
        }
    }
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() { add_files(&path, files) } else { files.push(path) }
    }
}
