//! For tests: what docs/FORMATS.md says of the lines of a load's progress.

use serde::Serialize;

/// Asserts that the row of an event names it and its fields, and nothing else.
pub fn assert_documented(line: &impl Serialize) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMATS.md");
    let page = std::fs::read_to_string(path).expect("docs/FORMATS.md");
    let (_, section) = page.split_once("## `showdown load --format json`").expect("the section");
    let event = serde_json::to_value(line).expect("plain data");
    let fields = event.as_object().expect("an object");
    let start = format!("| `{}` |", fields["event"].as_str().expect("a name"));
    let row = section.lines().find(|row| row.starts_with(&start)).unwrap_or_else(|| panic!("{start}"));
    let mut names: Vec<&str> = row.split('`').skip(1).step_by(2).skip(1).collect();
    names.sort_unstable();
    let mut documented: Vec<&str> = fields.keys().map(String::as_str).filter(|key| *key != "event").collect();
    documented.sort_unstable();
    assert_eq!(names, documented, "{row}");
}
