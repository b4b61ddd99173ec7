//! Names of threads: those that differ in a number only belong together.

use std::collections::HashMap;
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

/// The names of threads, each once.
#[derive(Debug, Default)]
pub(crate) struct ThreadNames {
    /// Indices in `names`.
    threads: HashMap<u32, usize>,
    names: Vec<String>,
}

impl ThreadNames {
    /// The index of a thread's name: it is read when the thread is met for the first time.
    pub(crate) fn of(&mut self, pid: u32, tid: u32) -> usize {
        if let Some(known) = self.threads.get(&tid) {
            return *known;
        }
        let name = current_name(pid, tid).or_else(|| current_name(pid, pid));
        self.name(tid, &name.unwrap_or_else(|| "ended thread".to_owned()))
    }

    /// Names a thread, and returns the index of its name.
    pub(crate) fn name(&mut self, tid: u32, name: &str) -> usize {
        let name = group_name(name);
        let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.threads.insert(tid, index);
        index
    }

    /// A thread that was met has another name.
    pub(crate) fn rename(&mut self, tid: u32, name: &str) {
        if self.threads.contains_key(&tid) {
            self.name(tid, name);
        }
    }

    /// The name of an index.
    pub(crate) fn get(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }
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
