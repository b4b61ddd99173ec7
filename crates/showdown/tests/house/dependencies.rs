//! Few dependencies are in more than one version: each is compiled twice, and two of one type do not fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::project;

/// Crates that dependencies need in several versions, at most. Nine are of `olio`, which `showdown` does not contain. This number only goes down; `cargo tree --duplicates` says who needs them.
const MOST_DUPLICATES: usize = 22;

/// Crates of other systems: they are in the list of locked versions, and never compiled here (`deny.toml` leaves them out, too).
const OF_OTHER_SYSTEMS: [&str; 3] = ["r-efi", "wasi", "windows-sys"];

#[test]
fn few_dependencies_are_in_several_versions() {
    let lock = fs::read_to_string(project("").join("Cargo.lock")).expect("the locked versions");
    let lock: toml::Table = lock.parse().expect("they are TOML");
    let packages = lock.get("package").and_then(toml::Value::as_array).expect("packages");
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let text = |key| package.get(key).and_then(toml::Value::as_str).expect("a name and a version");
        if OF_OTHER_SYSTEMS.contains(&text("name")) {
            continue;
        }
        versions.entry(text("name")).or_default().insert(text("version"));
    }
    let several: Vec<_> = versions.into_iter().filter(|(_, versions)| versions.len() > 1).collect();
    let found = several.len();
    assert!(found <= MOST_DUPLICATES, "{found} crates, {MOST_DUPLICATES} at most: {several:?}");
    assert!(found == MOST_DUPLICATES, "{found} crates: write this number down in place of {MOST_DUPLICATES}");
}
