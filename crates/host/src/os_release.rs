//! The distribution's identification: os-release(5).

use std::collections::BTreeMap;

use crate::root::Root;

/// Reads os-release(5): values by name, without quotes. Empty if the file does not exist.
pub(crate) fn os_release(root: &Root) -> BTreeMap<String, String> {
    let text = root.read("/etc/os-release").or_else(|| root.read("/usr/lib/os-release")).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.trim_matches(['"', '\'']).to_owned()))
        .collect()
}
