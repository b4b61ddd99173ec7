//! The processes of a server: the descendants of its supervisor, and those that another program has started for it.

use std::sync::Arc;
use std::time::Duration;

use procfs::FromRead;
use procfs::process::{SmapsRollup, Stat};

use super::external::External;
use super::list::{ProcessId, Processes, cpu_clock, has_not_ended};

/// The processes of a server: all descendants of its supervisor, with daemons, and those that another program has started for it.
#[derive(Debug, Clone)]
pub struct ProcessTree {
    pub(crate) guard: u32,
    pub(crate) supervisor: u32,
    pub(crate) external: Option<Arc<External>>,
    /// The oldest descendant that listens where the server should.
    pub(crate) listener: Option<ProcessId>,
}

impl ProcessTree {
    /// The server's processes now, oldest first.
    pub fn processes(&self) -> Vec<ProcessId> {
        let all = Processes::now();
        let mut ids: Vec<_> = self.running(&all).map(ProcessId::from).collect();
        ids.sort_by_key(|id| (id.start_ticks, id.pid));
        ids
    }

    /// The process that is the server: the oldest one that listens where the server should, or that the workload names. A wrapper
    /// may have started it. Where that is not known, the oldest of all.
    pub fn leader(&self) -> Option<ProcessId> {
        let external = self.external.as_ref().and_then(|external| external.leader());
        let listener = || self.listener.filter(|listener| listener.is_alive());
        external.or_else(listener).or_else(|| self.processes().first().copied())
    }

    /// The CPU time that the server's running processes have used since they started, to the microsecond: `/proc/PID/stat`
    /// has it in steps of 10 ms only. A process that ends takes its time with it.
    pub fn cpu_time(&self) -> Duration {
        self.running(&Processes::now()).map(|stat| cpu_time(stat.pid)).sum()
    }

    /// The proportional set size of the server: its private memory and its share of shared memory (`Pss` of
    /// `/proc/PID/smaps_rollup`). None if a process is not readable for this user.
    ///
    /// The kernel walks over all pages for this, so do not call it during a measurement.
    pub fn pss_bytes(&self) -> Option<u64> {
        self.running(&Processes::now()).map(|stat| pss_bytes(stat.pid)).sum()
    }

    /// All descendants of the guard (the server's processes, zombies, and the supervisor), and the server's processes elsewhere.
    pub(crate) fn among<'p>(&self, processes: &'p Processes) -> Vec<&'p Stat> {
        let mut found = processes.below(self.guard);
        found.extend(self.elsewhere(processes));
        found
    }

    /// The server's processes that another program has started, with zombies.
    pub(crate) fn elsewhere<'p>(&self, processes: &'p Processes) -> Vec<&'p Stat> {
        self.external.as_ref().map_or_else(Vec::new, |external| external.among(processes))
    }

    /// Whether a process from [`ProcessTree::among`] is a running process of the server.
    pub(crate) fn is_server(&self, stat: &Stat) -> bool {
        stat.pid.cast_unsigned() != self.supervisor && has_not_ended(stat)
    }

    fn running<'p>(&self, processes: &'p Processes) -> impl Iterator<Item = &'p Stat> {
        self.among(processes).into_iter().filter(move |stat| self.is_server(stat))
    }

    /// The remaining processes for a message: "812 nginx (D), 813 nginx (D)".
    pub(crate) fn describe(&self) -> String {
        let all = Processes::now();
        let texts: Vec<_> =
            self.running(&all).map(|p| format!("{} {} ({})", p.pid, p.comm, p.state)).collect();
        texts.join(", ")
    }
}

fn cpu_time(pid: i32) -> Duration {
    cpu_clock(pid).unwrap_or_default()
}

fn pss_bytes(pid: i32) -> Option<u64> {
    let rollup = SmapsRollup::from_file(format!("/proc/{pid}/smaps_rollup")).ok()?;
    rollup.memory_map_rollup.iter().next()?.extension.map.get("Pss").copied()
}
