//! The house rules that a compiler does not check: arrows between crates point down, files stay small and say
//! what they are for.

use std::fs;
use std::path::{Path, PathBuf};

/// Each crate with those that it may use, as ARCHITECTURE.md has them.
const MAY_USE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("stats", &[]),
    ("host", &[]),
    ("load", &["stats", "wire"]),
    ("archive", &["stats"]),
    ("workload", &["load", "host"]),
    ("bakeoff", &["workload", "archive", "stats", "load", "host"]),
    ("truth", &["load", "host", "stats", "wire"]),
    ("report", &["archive", "stats"]),
    ("runners", &[]),
    (
        "showdown",
        &["report", "runners", "truth", "bakeoff", "workload", "archive", "load", "host", "stats", "wire"],
    ),
];

/// A file of more lines than this is more than one idea.
const MOST_LINES: usize = 500;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/showdown lies in crates").to_owned()
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn arrows_between_crates_only_point_down() {
    let names: Vec<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    for (name, may_use) in MAY_USE {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let used = dependencies.into_iter().flat_map(toml::Table::keys);
        for used in used.filter(|used| names.contains(&used.as_str())) {
            assert!(may_use.contains(&used.as_str()), "{name} may not use {used}: see ARCHITECTURE.md");
        }
    }
}

#[test]
fn every_file_is_of_one_idea_and_says_which() {
    for (name, _) in MAY_USE {
        let mut files = Vec::new();
        rust_files(&crates().join(name).join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            assert!(text.starts_with("//!"), "{} does not begin with what it is for", file.display());
            let lines = text.lines().count();
            assert!(lines <= MOST_LINES, "{} has {lines} lines: which two ideas are in it?", file.display());
        }
    }
}
