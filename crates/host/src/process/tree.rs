//! Processes and what they started, from `/proc/PID/stat`.

use std::collections::{HashMap, HashSet};

use procfs::FromRead;
use procfs::process::Stat;
use serde::{Deserialize, Serialize};

use crate::courtesy::Courtesy;

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
        let all = Processes::now();
        let mut ids: Vec<_> = self.running(&all).map(ProcessId::from).collect();
        ids.sort_by_key(|id| (id.start_ticks, id.pid));
        ids
    }

    /// The memory that the server would give back: its own, and its share of what it shares with others
    /// (`Pss` of `/proc/PID/smaps_rollup`). None if we may not look at a process of it.
    ///
    /// The kernel walks over all its pages for this, so do not ask while it is being measured.
    pub fn pss_bytes(self) -> Option<u64> {
        self.running(&Processes::now()).map(|stat| pss_bytes(stat.pid)).sum()
    }

    /// All below the guard: the server's processes, those that have ended, and the keeper.
    pub(crate) fn among(self, processes: &Processes) -> Vec<&Stat> {
        processes.below(self.guard)
    }

    /// Whether one of [`Tree::among`] is a process of the server that runs.
    pub(crate) fn is_server(self, stat: &Stat) -> bool {
        stat.pid.cast_unsigned() != self.keeper && has_not_ended(stat)
    }

    fn running(self, processes: &Processes) -> impl Iterator<Item = &Stat> {
        self.among(processes).into_iter().filter(move |stat| self.is_server(stat))
    }

    /// What is left, for a message: "812 nginx (D), 813 nginx (D)".
    pub(super) fn describe(self) -> String {
        let all = Processes::now();
        let said: Vec<_> =
            self.running(&all).map(|p| format!("{} {} ({})", p.pid, p.comm, p.state)).collect();
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

/// All processes that we can see, zombies too.
///
/// The list is read process by process and so is not of one moment: who needs to be sure that nothing is
/// left must be the subreaper of it and wait for `ECHILD`.
pub(crate) struct Processes(Vec<Stat>);

impl Processes {
    /// These, instead of what runs.
    #[cfg(test)]
    pub(crate) fn of(stats: Vec<Stat>) -> Self {
        Self(stats)
    }

    /// Reads them.
    pub(crate) fn now() -> Self {
        let courtesy = Courtesy::new();
        let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let stats = pids.filter_map(|entry| {
            courtesy.give_way();
            read_stat(entry.file_name().to_str()?.parse().ok()?)
        });
        Self(stats.collect())
    }

    /// All below a process, without itself.
    pub(crate) fn below(&self, root: u32) -> Vec<&Stat> {
        let mut children: HashMap<i32, Vec<&Stat>> = HashMap::new();
        for stat in &self.0 {
            children.entry(stat.ppid).or_default().push(stat);
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

    /// Them, split into a process with all below it, and the rest.
    pub(crate) fn apart(&self, root: u32) -> (Vec<&Stat>, Vec<&Stat>) {
        let below: HashSet<i32> = self.below(root).iter().map(|stat| stat.pid).collect();
        self.0.iter().partition(|stat| stat.pid == root.cast_signed() || below.contains(&stat.pid))
    }
}

/// What a process and those of its children that it has waited for have had of the CPUs, in clock ticks.
///
/// With the children's time nothing is lost when one of them ends: its parent has it then.
pub(crate) fn cpu_ticks(stat: &Stat) -> u64 {
    stat.utime + stat.stime + stat.cutime.max(0).cast_unsigned() + stat.cstime.max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_a_descendant_and_is_itself_until_it_ends() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        let id = ProcessId::of(child.id()).expect("it runs");
        let all = Processes::now();
        let is_child = |stat: &&Stat| ProcessId::from(*stat) == id;
        assert!(all.below(std::process::id()).iter().any(is_child));
        let (ours, others) = all.apart(std::process::id());
        assert!(ours.iter().any(is_child) && !others.iter().any(is_child));
        child.kill()?;
        child.wait()?;
        assert!(!id.is_alive());
        Ok(())
    }
}
