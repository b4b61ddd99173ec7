//! Processes and what they started, from `/proc/PID/stat`.

use std::collections::HashMap;

use procfs::FromRead;
use procfs::process::Stat;
use serde::{Deserialize, Serialize};

/// A process for good: process numbers are used again, but not with the same start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    /// The process number.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of `proc_pid_stat(5)`).
    pub start_ticks: u64,
}

impl ProcessId {
    /// The process with this number now, if there is one that has not ended.
    pub fn of(pid: u32) -> Option<Self> {
        read_stat(pid).filter(has_not_ended).map(|stat| Self::from(&stat))
    }

    /// Whether this very process still runs.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

impl From<&Stat> for ProcessId {
    fn from(stat: &Stat) -> Self {
        Self { pid: stat.pid as u32, start_ticks: stat.starttime }
    }
}

/// The processes of a server: everything below its keeper, so also what daemonised.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    pub(super) guard: u32,
    pub(super) keeper: u32,
}

impl Tree {
    /// The server's processes now, eldest first.
    pub fn processes(self) -> Vec<ProcessId> {
        let mut ids: Vec<_> = self.running().iter().map(ProcessId::from).collect();
        ids.sort_by_key(|id| (id.start_ticks, id.pid));
        ids
    }

    /// The memory that the server would give back: its own, and its share of what it shares with others
    /// (`Pss` of `/proc/PID/smaps_rollup`). None if we may not look at a process of it.
    ///
    /// The kernel walks over all its pages for this, so do not ask while it is being measured.
    pub fn pss_bytes(self) -> Option<u64> {
        self.running().iter().map(|stat| pss_bytes(stat.pid)).sum()
    }

    /// All below the guard: the server's processes, those that have ended, and the keeper.
    pub(crate) fn all(self) -> Vec<Stat> {
        descendants(self.guard)
    }

    /// Whether one of [`Tree::all`] is a process of the server that runs.
    pub(crate) fn is_server(self, stat: &Stat) -> bool {
        stat.pid.cast_unsigned() != self.keeper && has_not_ended(stat)
    }

    fn running(self) -> Vec<Stat> {
        self.all().into_iter().filter(|stat| self.is_server(stat)).collect()
    }

    /// What is left, for a message: "812 nginx (D), 813 nginx (D)".
    pub(super) fn describe(self) -> String {
        let said: Vec<_> =
            self.running().iter().map(|p| format!("{} {} ({})", p.pid, p.comm, p.state)).collect();
        said.join(", ")
    }
}

fn has_not_ended(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X')
}

fn read_stat(pid: u32) -> Option<Stat> {
    Stat::from_file(format!("/proc/{pid}/stat")).ok()
}

fn pss_bytes(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix("Pss:")?.strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
}

/// All below a process, zombies too, without itself.
///
/// The list is read process by process and so is not of one moment: who needs to be sure that nothing is
/// left must be the subreaper of it and wait for `ECHILD`.
pub(crate) fn descendants(root: u32) -> Vec<Stat> {
    let mut children: HashMap<i32, Vec<Stat>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(stat) = pid.and_then(read_stat) {
            children.entry(stat.ppid).or_default().push(stat);
        }
    }
    let mut found = children.remove(&(root.cast_signed())).unwrap_or_default();
    let mut seen = 0;
    while seen < found.len() {
        let below = children.remove(&found[seen].pid).unwrap_or_default();
        found.extend(below);
        seen += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_a_descendant_and_is_itself_until_it_ends() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        let id = ProcessId::of(child.id()).expect("it runs");
        assert!(descendants(std::process::id()).iter().any(|stat| ProcessId::from(stat) == id));
        child.kill()?;
        child.wait()?;
        assert!(!id.is_alive());
        Ok(())
    }
}
