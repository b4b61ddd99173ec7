//! The namespaces of process IDs whose processes are seen from here. What runs in them is left to [`super::tree`].

use std::collections::BTreeSet;
use std::fs;

/// The namespaces of all processes that this user may look at, as `pid:[4026531836]` (namespaces(7)). A container's processes
/// are seen from the machine around it, and not the other way round.
pub fn seen_namespaces() -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let namespace = |entry: fs::DirEntry| fs::read_link(entry.path().join("ns/pid")).ok();
    let is_process =
        |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
    let namespaces = processes.filter(is_process).filter_map(namespace);
    namespaces.map(|namespace| namespace.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_of_this_process_is_seen() {
        let own = fs::read_link("/proc/self/ns/pid").expect("a namespace");
        assert!(seen_namespaces().contains(&*own.to_string_lossy()));
    }
}
