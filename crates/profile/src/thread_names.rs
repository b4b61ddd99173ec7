//! Names of threads: those that differ in a number only belong together.

use std::fs;

/// The name of a group of threads: `io-worker-17` and `io-worker-3` are `io-worker-N`, and `nginx` is `nginx`.
pub(crate) fn group_name(name: &str) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = stem.len() < name.len() && stem.ends_with(['-', '_', '/', '#', ':', ' ', '.']);
    if is_numbered { format!("{stem}N") } else { name.to_owned() }
}

/// The name of a thread now. None if it has ended.
pub(crate) fn current_name(pid: u32, tid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    let name = String::from_utf8_lossy(&name);
    Some(name.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_threads_have_one_name() {
        assert_eq!(group_name("io-worker-17"), "io-worker-N");
        assert_eq!(group_name("GC Thread#0"), "GC Thread#N");
        for whole in ["nginx", "apache2", "17", ""] {
            assert_eq!(group_name(whole), whole);
        }
    }
}
