//! Processes as the kernel lists them: their identity, a list of all, and descendants in it, from `/proc/PID/stat`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use procfs::FromRead;
use procfs::process::Stat;
use serde::{Deserialize, Serialize};

use crate::scheduling::PeriodicYield;

/// A unique identity of a process: process IDs are reused, but not with the same start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    /// The process ID.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of `proc_pid_stat(5)`).
    pub start_ticks: u64,
}

impl ProcessId {
    /// The running process with this ID now, if there is one.
    pub fn of(pid: u32) -> Option<Self> {
        read_stat(pid).filter(has_not_ended).map(|stat| Self::from(&stat))
    }

    /// Whether the kernel still lists this process. It also lists ended ones that nobody has waited for, and those whose
    /// first thread has ended.
    pub(crate) fn is_listed(self) -> bool {
        read_stat(self.pid).is_some_and(|stat| Self::from(&stat) == self)
    }

    /// Whether this process still runs.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

impl From<&Stat> for ProcessId {
    fn from(stat: &Stat) -> Self {
        Self { pid: stat.pid as u32, start_ticks: stat.starttime }
    }
}

/// A running process with all its running descendants, whoever started them. Empty if it does not run.
pub fn with_descendants(root: u32) -> Vec<ProcessId> {
    let all = Processes::now();
    let (tree, _) = all.partition(root);
    let is_rooted = tree.iter().any(|stat| stat.pid.cast_unsigned() == root && has_not_ended(stat));
    tree.into_iter().filter(|stat| is_rooted && has_not_ended(stat)).map(ProcessId::from).collect()
}

pub(super) fn has_not_ended(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X')
}

pub(super) fn read_stat(pid: u32) -> Option<Stat> {
    Stat::from_file(format!("/proc/{pid}/stat")).ok()
}

/// None if the process has ended and its parent knows.
pub(super) fn cpu_clock(pid: i32) -> Option<Duration> {
    clock_getcpuclockid(Pid::from_raw(pid)).and_then(clock_gettime).map(Duration::from).ok()
}

/// All visible processes, with zombies.
///
/// The list is read process by process, so it is not a consistent snapshot. To be sure that no process is left,
/// be the subreaper and wait for `ECHILD`.
pub(crate) struct Processes(Vec<Stat>);

impl Processes {
    /// A list for tests.
    #[cfg(test)]
    pub(crate) fn of(stats: Vec<Stat>) -> Self {
        Self(stats)
    }

    /// Reads the list.
    pub(crate) fn now() -> Self {
        let periodic_yield = PeriodicYield::new();
        let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let stats = pids.filter_map(|entry| {
            periodic_yield.yield_if_due();
            read_stat(entry.file_name().to_str()?.parse().ok()?)
        });
        Self(stats.collect())
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stat> {
        self.0.iter()
    }

    /// The process with this ID.
    pub(crate) fn get(&self, pid: u32) -> Option<&Stat> {
        self.0.iter().find(|stat| stat.pid == pid.cast_signed())
    }

    /// The parent of a process, that one's parent, and so on.
    pub(crate) fn ancestors(&self, stat: &Stat) -> impl Iterator<Item = &Stat> {
        let parent = |stat: &Stat| self.get(stat.ppid.cast_unsigned());
        // A list that is read while processes end could have a circle.
        std::iter::successors(parent(stat), move |above| parent(above)).take(self.0.len())
    }

    /// All descendants of a process.
    pub(crate) fn below(&self, root: u32) -> Vec<&Stat> {
        let mut children: HashMap<i32, Vec<&Stat>> = HashMap::new();
        for stat in &self.0 {
            children.entry(stat.ppid).or_default().push(stat);
        }
        let mut descendants = children.remove(&(root.cast_signed())).unwrap_or_default();
        let mut next = 0;
        while next < descendants.len() {
            let below = children.remove(&descendants[next].pid).unwrap_or_default();
            descendants.extend(below);
            next += 1;
        }
        descendants
    }

    /// Partitions the list: a process with its descendants, and the rest.
    pub(crate) fn partition(&self, root: u32) -> (Vec<&Stat>, Vec<&Stat>) {
        self.partition_with(root, &HashSet::new())
    }

    /// The same, with further processes in the first part.
    pub(crate) fn partition_with(&self, root: u32, further: &HashSet<i32>) -> (Vec<&Stat>, Vec<&Stat>) {
        let mut own: HashSet<i32> = self.below(root).iter().map(|stat| stat.pid).collect();
        own.insert(root.cast_signed());
        self.0.iter().partition(|stat| own.contains(&stat.pid) || further.contains(&stat.pid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_a_descendant_and_alive_until_it_ends() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        let id = ProcessId::of(child.id()).expect("the child runs");
        let all = Processes::now();
        let is_child = |stat: &&Stat| ProcessId::from(*stat) == id;
        assert!(all.below(std::process::id()).iter().any(is_child));
        let (own, others) = all.partition(std::process::id());
        assert!(own.iter().any(is_child) && !others.iter().any(is_child));
        child.kill()?;
        child.wait()?;
        assert!(!id.is_alive());
        Ok(())
    }
}
