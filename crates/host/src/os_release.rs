//! Which system this is, in its own words: os-release(5).

use std::collections::BTreeMap;

use crate::root::Root;

/// The values of os-release(5) by name, without their quotes; none where there is no such file.
pub(crate) fn os_release(root: &Root) -> BTreeMap<String, String> {
    let text = root.read("/etc/os-release").or_else(|| root.read("/usr/lib/os-release")).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.trim_matches(['"', '\'']).to_owned()))
        .collect()
}
