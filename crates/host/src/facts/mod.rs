//! What a machine and a server's process are: the facts that a fairness audit compares and a report cites.
//!
//! [`Facts`] is the machine, [`ProcessFacts`] is one process. Both are JSON for the archive, and both have a
//! flat view from dotted keys to text, of which [`differences`] makes the list that stands beside a verdict.
//! What a machine does not have or does not show is absent. Which differences matter is judged elsewhere.

mod allocator;
mod cpu;
mod flat;
mod kernel;
mod libc;
mod limits;
mod machine;
mod memory;
mod process;
mod secrets;
mod sysctls;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use allocator::Allocator;
pub use cpu::Cpu;
pub use flat::{Difference, differences, flatten};
pub use kernel::Kernel;
pub use machine::{Machine, PowerSource, Rapl};
pub use memory::Memory;
pub use process::ProcessFacts;

use crate::cgroup;
use crate::root::Root;

/// A machine at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// When this was taken, and what changes by itself.
    pub moment: Moment,
    /// What it is: distribution, virtualization, tools.
    pub machine: Machine,
    /// The kernel.
    pub kernel: Kernel,
    /// The processors.
    pub cpu: Cpu,
    /// Memory and swap.
    pub memory: Memory,
    /// What our control groups let us have.
    pub cgroup: cgroup::Limits,
    /// Kernel settings that matter to servers, by their sysctl(8) names.
    pub sysctls: BTreeMap<String, String>,
    /// Our resource limits (`/proc/self/limits`), as "soft / hard".
    pub limits: BTreeMap<String, String>,
}

/// What is different each time that it is looked at: not compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Seconds since the machine started.
    pub uptime_s: f64,
    /// How often cores were throttled because of heat, since the machine started, over all cores.
    pub core_throttles: Option<u64>,
}

impl Facts {
    pub(crate) fn read(root: &Root) -> Self {
        Self {
            moment: Moment::read(root),
            machine: Machine::read(root),
            kernel: Kernel::read(root),
            cpu: Cpu::read(root),
            memory: Memory::read(root),
            cgroup: cgroup::Limits::read(root),
            sysctls: sysctls::read(root),
            limits: limits::read(root, "/proc/self/limits"),
        }
    }

    /// What can be compared, from dotted keys (`kernel.release`, `sysctls.net.core.somaxconn`) to text.
    pub fn flat(&self) -> BTreeMap<String, String> {
        let mut flat = flatten(self);
        flat.retain(|key, _| !key.starts_with("moment."));
        flat
    }
}

impl Moment {
    fn read(root: &Root) -> Self {
        let uptime = root.read("/proc/uptime").unwrap_or_default();
        Self {
            unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
            uptime_s: uptime.split(' ').next().and_then(|s| s.parse().ok()).unwrap_or_default(),
            core_throttles: cpu::core_throttles(root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_the_facts_that_every_linux_has() {
        let facts = Facts::read(&Root::new("/"));
        assert!(facts.cpu.online > 0 && facts.memory.total_bytes > 0 && facts.moment.uptime_s > 0.0);
        let flat = facts.flat();
        for key in ["kernel.release", "kernel.boot_id", "sysctls.net.core.somaxconn", "limits.Max open files"]
        {
            assert!(flat.contains_key(key), "{key} is missing in {flat:#?}");
        }
    }

    #[test]
    fn the_same_machine_a_moment_later_is_the_same() {
        let [before, after] = [(); 2].map(|()| Facts::read(&Root::new("/")));
        assert_eq!(differences(&before.flat(), &after.flat()), []);
    }

    #[test]
    fn facts_survive_json() -> serde_json::Result<()> {
        let facts = Facts::read(&Root::new("/"));
        assert_eq!(serde_json::from_str::<Facts>(&serde_json::to_string(&facts)?)?, facts);
        Ok(())
    }

    #[test]
    fn of_an_empty_machine_all_is_absent_and_nothing_panics() {
        let (_dir, root) = crate::root::stand_in(&[]);
        let facts = Facts::read(&root);
        assert_eq!((facts.sysctls.len(), facts.kernel.boot_id, facts.cpu.model), (0, None, None));
    }
}
