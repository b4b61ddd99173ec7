//! Every source file is short and begins with its purpose.

use std::fs;

use super::sources;

/// A longer file contains more than one idea.
const MOST_LINES: usize = 500;

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
