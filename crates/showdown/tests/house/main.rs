//! The rules of the workspace that a compiler does not check: which crate may use which, the size and the first lines
//! of files, circles of imports, and words that are out of use.

mod circles;
mod dependencies;
mod files;
mod limits;
mod paths;
mod style;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Each crate with the crates that it may use, as in ARCHITECTURE.md.
const MAY_USE: &[(&str, &[&str])] = &[
    ("notation", &[]),
    ("wire", &[]),
    ("stats", &[]),
    ("host", &[]),
    ("load", &["stats", "wire", "notation"]),
    ("archive", &["stats", "notation"]),
    ("profile", &["host", "stats"]),
    ("workload", &["load", "host", "notation"]),
    ("machine", &["profile", "workload", "archive", "load", "host", "stats"]),
    ("power", &["stats"]),
    ("bakeoff", &["power", "machine", "profile", "workload", "archive", "stats", "load", "host"]),
    ("explain", &["bakeoff", "machine", "profile", "workload", "archive", "stats", "load", "host"]),
    ("tune", &["explain", "bakeoff", "machine", "workload", "archive", "stats", "load", "host"]),
    ("concurrency", &["bakeoff", "machine", "workload", "archive", "load", "host", "wire"]),
    ("traffic", &["machine", "profile", "archive", "load", "host", "stats", "notation"]),
    ("truth", &["load", "host", "stats", "wire"]),
    ("cost", &["power", "archive", "stats", "notation"]),
    ("report", &["archive", "cost", "stats"]),
    ("runners", &[]),
    ("olio", &["host", "load", "workload"]),
    ("queue", &[]),
    ("harness", &["traffic", "queue", "report", "archive", "host", "notation"]),
    (
        "runs",
        &[
            "report",
            "cost",
            "power",
            "tune",
            "explain",
            "concurrency",
            "bakeoff",
            "machine",
            "profile",
            "workload",
            "archive",
            "load",
            "host",
            "stats",
        ],
    ),
    (
        "showdown",
        &[
            "queue",
            "runs",
            "report",
            "cost",
            "power",
            "runners",
            "truth",
            "tune",
            "explain",
            "traffic",
            "concurrency",
            "bakeoff",
            "machine",
            "profile",
            "workload",
            "archive",
            "load",
            "host",
            "stats",
            "wire",
        ],
    ),
];

/// A folder of the project.
fn project(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder)
        .canonicalize()
        .expect("a folder of the project")
}

/// All files below a folder with one of these endings, without what others have written or tools have built.
fn files_below(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder can be read").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && !["node_modules", "target", "assets"].iter().any(|built| name == *built) {
            files.extend(files_below(&path, endings));
        } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// All source files of the project.
fn sources() -> Vec<PathBuf> {
    ["crates", "web", "bench"]
        .iter()
        .flat_map(|folder| files_below(&project(folder), &["rs", "ts", "py"]))
        .collect()
}

#[test]
fn crates_use_only_crates_below_them() {
    let names: Vec<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    for (name, may_use) in MAY_USE {
        let manifest = project("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let used = dependencies.into_iter().flat_map(toml::Table::keys);
        for used in used.filter(|used| names.contains(&used.as_str())) {
            assert!(may_use.contains(&used.as_str()), "{name} may not use {used}: see ARCHITECTURE.md");
        }
    }
}

#[test]
fn every_crate_has_its_place() {
    let folders = fs::read_dir(project("crates")).expect("crates").flatten();
    for folder in folders.filter(|folder| folder.path().join("Cargo.toml").is_file()) {
        let is_known = MAY_USE.iter().any(|(name, _)| folder.file_name() == *name);
        assert!(is_known, "{} is not in the list of crates", folder.path().display());
    }
}
