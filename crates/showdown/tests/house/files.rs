//! Every source file is short and begins with its purpose, and a folder has few of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{files_below, project, sources};

/// A longer file contains more than one idea.
const MOST_LINES: usize = 500;
/// A shorter file is an interface, the face of a folder, or data that others share; any other belongs to its neighbour.
const FEWEST_LINES: usize = 60;
/// How many files of the crates are shorter and no face of a folder. This number only goes down.
const MOST_SHORT_FILES: usize = 162;
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

/// Whether a file is the face of a folder: it says what the files below it are.
fn is_face(file: &Path) -> bool {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    ["mod", "lib", "main"].contains(&name) || file.with_extension("").is_dir()
}

#[test]
fn short_files_become_no_more() {
    let mut short = 0;
    for file in files_below(&project("crates"), &["rs"]) {
        let is_source = file.components().any(|part| part.as_os_str() == "src");
        let lines = fs::read_to_string(&file).expect("a source file").lines().count();
        if is_source && lines < FEWEST_LINES && !is_face(&file) {
            short += 1;
        }
    }
    assert!(
        short <= MOST_SHORT_FILES,
        "{short} files are short, {MOST_SHORT_FILES} at most: join one to its neighbour"
    );
    assert!(
        short + 10 > MOST_SHORT_FILES,
        "{short} files are short: write this number down in place of {MOST_SHORT_FILES}"
    );
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
