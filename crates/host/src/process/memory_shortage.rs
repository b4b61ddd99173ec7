//! Whether the kernel ended a server for lack of memory. A signal does not say who sent it, so this counts the processes that
//! the kernel has ended for that reason, before and after.

use std::fmt;

use rustix::process::Signal;

use super::ProcessExit;
use crate::control_groups::cgroup;
use crate::control_groups::cgroup::CgroupLimits;
use crate::root::Root;

/// How many processes the kernel has ended for lack of memory since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryKills {
    /// In this process's control group, which its servers inherit. None without a memory controller.
    group: Option<u64>,
    /// On the whole machine.
    machine: Option<u64>,
}

/// A process ended, and the kernel had ended one for lack of memory meanwhile. The text continues an error message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryShortage {
    victim: Victim,
    limit_bytes: Option<u64>,
    settings: Vec<String>,
}

/// Whom the kernel ended, for all that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// The process itself: it was killed, and so was one of its control group.
    It,
    /// Probably the process itself: it was killed, and so was one somewhere on the machine.
    ProbablyIt,
    /// Another process of its control group: it exited by itself, in failure.
    OneOfItsProcesses,
}

impl MemoryKills {
    pub(crate) fn read() -> Self {
        Self::read_in(&Root::new("/"))
    }

    fn read_in(root: &Root) -> Self {
        let machine = root.read("/proc/vmstat").and_then(|text| cgroup::counter(&text, "oom_kill"));
        Self { group: cgroup::memory_kills(root), machine }
    }

    /// What has happened since this was read to a server that ended in this way. `settings` are those that lower its need of
    /// memory.
    pub(crate) fn shortage(self, exit: ProcessExit, settings: &[String]) -> Option<MemoryShortage> {
        let root = Root::new("/");
        let victim = self.victim(Self::read_in(&root), exit)?;
        let limit_bytes =
            if victim == Victim::ProbablyIt { None } else { CgroupLimits::read(&root).memory_bytes };
        Some(MemoryShortage { victim, limit_bytes, settings: settings.to_vec() })
    }

    fn victim(self, now: Self, exit: ProcessExit) -> Option<Victim> {
        let rose = |before: Option<u64>, now: Option<u64>| before.zip(now).is_some_and(|(a, b)| b > a);
        let is_killed = exit == ProcessExit::Signal(Signal::KILL.as_raw());
        match (rose(self.group, now.group), rose(self.machine, now.machine)) {
            (true, _) if is_killed => Some(Victim::It),
            (true, _) if exit != ProcessExit::Code(0) => Some(Victim::OneOfItsProcesses),
            (false, true) if is_killed => Some(Victim::ProbablyIt),
            _ => None,
        }
    }
}

impl fmt::Display for MemoryShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = match self.victim {
            Victim::It => "ended it",
            Victim::ProbablyIt => "probably ended it",
            Victim::OneOfItsProcesses => "ended one of its processes",
        };
        write!(f, "the kernel {ended} for lack of memory: give it more")?;
        if let Some(bytes) = self.limit_bytes {
            write!(f, " (its control group has {} MB)", bytes >> 20)?;
        }
        match self.settings.as_slice() {
            [] => Ok(()),
            settings => write!(f, ", or lower {}", settings.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    const VMSTAT: (&str, &str) = ("/proc/vmstat", "nr_free_pages 7\noom_kill 3\noom_kill_other 9\n");

    #[test]
    fn the_counters_of_both_versions_are_read() {
        let (_dir, root) = fake_root(&[
            VMSTAT,
            ("/proc/self/cgroup", "0::/job\n"),
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/job/memory.events", "low 0\noom 4\noom_kill 2\noom_group_kill 0\n"),
        ]);
        assert_eq!(MemoryKills::read_in(&root), MemoryKills { group: Some(2), machine: Some(3) });
        let (_dir, root) = fake_root(&[
            ("/proc/self/cgroup", "4:memory:/job\n"),
            ("/proc/self/mountinfo", "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
            ("/sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
        ]);
        assert_eq!(MemoryKills::read_in(&root), MemoryKills { group: Some(5), machine: None });
    }

    #[test]
    fn a_counter_that_rose_is_the_reason() {
        let kills = |group, machine| MemoryKills { group, machine: Some(machine) };
        let (killed, failed) = (ProcessExit::Signal(9), ProcessExit::Code(1));
        let before = kills(Some(2), 3);
        assert_eq!(before.victim(before, killed), None);
        assert_eq!(before.victim(kills(Some(3), 4), killed), Some(Victim::It));
        assert_eq!(before.victim(kills(Some(2), 4), killed), Some(Victim::ProbablyIt));
        assert_eq!(before.victim(kills(None, 4), killed), Some(Victim::ProbablyIt));
        assert_eq!(before.victim(kills(Some(3), 4), failed), Some(Victim::OneOfItsProcesses));
        assert_eq!(before.victim(kills(Some(2), 4), failed), None);
        assert_eq!(before.victim(kills(Some(3), 4), ProcessExit::Code(0)), None);
    }

    #[test]
    fn the_text_has_the_reason_and_the_remedy() {
        let settings = vec!["buffer_pool".to_owned(), "max_connections".to_owned()];
        let shortage = MemoryShortage { victim: Victim::It, limit_bytes: Some(300 << 20), settings };
        assert_eq!(
            shortage.to_string(),
            "the kernel ended it for lack of memory: give it more (its control group has 300 MB), or lower buffer_pool \
             or max_connections"
        );
        let shortage = MemoryShortage { victim: Victim::ProbablyIt, limit_bytes: None, settings: Vec::new() };
        assert_eq!(shortage.to_string(), "the kernel probably ended it for lack of memory: give it more");
    }
}
