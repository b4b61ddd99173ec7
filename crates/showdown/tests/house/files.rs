//! Every source file is short and begins with its purpose, and a folder has few of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{project, sources};

/// A longer file contains more than one idea.
const MOST_LINES: usize = 500;
/// A folder with more source files has several rooms.
const MOST_FILES: usize = 20;
/// Folders that have more, with as many as they may have. These numbers only go down.
const LARGER: &[(&str, usize)] = &[
    ("crates/bakeoff/src/trial", 23),
    ("crates/load/src", 22),
    ("crates/machine/src", 24),
    ("crates/showdown/src/show", 30),
    ("crates/showdown/src/verbs", 32),
    ("crates/showdown/tests/bakeoff", 31),
    ("crates/stats/src", 37),
    ("crates/workload/src/definition", 22),
    ("crates/workload/src/instance", 24),
    ("web/src/sections", 29),
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

/// Each folder with sources, and how many source files it has.
fn folders() -> BTreeMap<PathBuf, usize> {
    let mut folders = BTreeMap::new();
    for file in sources() {
        let folder = file.parent().expect("a folder").to_owned();
        *folders.entry(folder).or_default() += 1;
    }
    folders
}

#[test]
fn no_folder_has_too_many_source_files() {
    let larger: BTreeMap<PathBuf, usize> =
        LARGER.iter().map(|(folder, most)| (project(folder), *most)).collect();
    for (folder, files) in folders() {
        let most = larger.get(&folder).copied().unwrap_or(MOST_FILES);
        assert!(files <= most, "{} has {files} source files, {most} at most: make folders", folder.display());
    }
}

#[test]
fn a_folder_that_got_smaller_has_its_new_number() {
    let folders = folders();
    for (folder, most) in LARGER {
        let files = folders.get(&project(folder)).copied().unwrap_or(0);
        assert_eq!(files, *most, "{folder}: write its number of source files down, or take it off the list");
    }
}
