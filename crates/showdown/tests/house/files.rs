//! Every source file is short and begins with its purpose, and a folder has few of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{project, sources};

/// A longer file contains more than one idea.
const MOST_LINES: usize = 500;
/// A folder with more entries has several rooms.
const MOST_ENTRIES: usize = 20;
/// Folders that may have more, each with the reason. What is data is no source: tunings, rules, decisions, results and workloads are
/// folders of files that each stand alone, and are not looked at here.
const LARGER: &[(&str, &str)] = &[
    ("bench", "a folder for each bench, which stands alone"),
    ("crates", "a folder for each crate, in the order of `MAY_USE`"),
];

#[test]
fn no_source_file_is_too_long() {
    for file in sources() {
        let lines = fs::read_to_string(&file).expect("a source file").lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines, {MOST_LINES} at most: split it", file.display());
    }
}

#[test]
fn every_source_file_begins_with_its_purpose() {
    for file in sources() {
        let text = fs::read_to_string(&file).expect("a source file");
        let begins = match file.extension().and_then(|ending| ending.to_str()) {
            Some("rs") => text.starts_with("//!"),
            Some("ts") => text.starts_with("//") || text.starts_with("/*"),
            _ => text.is_empty() || text.starts_with("\"\"\"") || text.starts_with('#'),
        };
        assert!(begins, "{} does not begin with a comment that states its purpose", file.display());
    }
}

/// Each folder with sources below it, and its entries: a module's file and its folder are one.
fn folders() -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let mut folders: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    let project = project("");
    for file in sources() {
        let mut entry = file.with_extension("");
        while let Some(folder) = entry.parent().filter(|folder| *folder != project).map(Path::to_owned) {
            folders.entry(folder.clone()).or_default().insert(entry);
            entry = folder;
        }
    }
    folders
}

#[test]
fn no_folder_has_too_many_entries() {
    let larger: Vec<PathBuf> = LARGER.iter().map(|(folder, _)| project(folder)).collect();
    for (folder, entries) in folders().into_iter().filter(|(folder, _)| !larger.contains(folder)) {
        let entries = entries.len();
        assert!(
            entries <= MOST_ENTRIES,
            "{} has {entries} entries, {MOST_ENTRIES} at most: make folders",
            folder.display()
        );
    }
}

#[test]
fn a_folder_that_may_be_larger_is() {
    let folders = folders();
    for (folder, _) in LARGER {
        let entries = folders.get(&project(folder)).map_or(0, BTreeSet::len);
        assert!(entries > MOST_ENTRIES, "{folder} has {entries} entries: take it off the list");
    }
}
