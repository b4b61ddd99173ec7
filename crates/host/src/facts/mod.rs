//! Facts about a machine and about a server's process, for the fairness audit and the report.
//!
//! [`HostFacts`] describe the machine, [`ProcessFacts`] one process. Both serialize to JSON for the archive. Both have
//! a flat view from dotted keys to text, which [`differences`] compares. What a machine does not have or does not
//! report is absent. Other crates decide which differences matter.

mod allocator;
mod cpu;
mod flat;
mod kernel;
mod libc;
mod limits;
mod machine;
mod memory;
mod process;
mod stolen_time;
mod sysctls;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use procfs::{FromRead, Uptime};
use serde::{Deserialize, Serialize};

pub use allocator::Allocator;
pub use cpu::CpuFacts;
pub use flat::{FactDifference, differences, flatten};
pub use kernel::KernelFacts;
pub(crate) use kernel::boot_id;
pub use machine::{MachineFacts, PowerSource, Rapl};
pub use memory::MemoryFacts;
pub(crate) use memory::{available_memory_share, free_memory_and_swap};
pub use process::ProcessFacts;
pub(crate) use process::has_mapped;
pub use stolen_time::{
    COUNTED as STOLEN_TIME_COUNTED, TAKEN_OUT as STOLEN_TIME_TAKEN_OUT, UNREPORTED as STOLEN_TIME_UNREPORTED,
};

use crate::control_groups::cgroup::CgroupLimits;
use crate::root::Root;

/// The facts of a machine at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The time, and values that change by themselves.
    #[serde(rename = "moment")]
    pub volatile: VolatileFacts,
    /// Distribution, virtualization, tools.
    pub machine: MachineFacts,
    /// The kernel.
    pub kernel: KernelFacts,
    /// The processors.
    pub cpu: CpuFacts,
    /// Memory and swap.
    pub memory: MemoryFacts,
    /// The limits of this process's control groups.
    pub cgroup: CgroupLimits,
    /// Kernel settings that affect servers, by their sysctl(8) names.
    pub sysctls: BTreeMap<String, String>,
    /// The resource limits of this process (`/proc/self/limits`), as "soft / hard".
    pub limits: BTreeMap<String, String>,
}

/// Values that differ at each reading, and are not compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VolatileFacts {
    /// The time of the reading, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Seconds since boot.
    pub uptime_s: f64,
    /// Thermal throttling events since boot, summed over the cores.
    pub core_throttles: Option<u64>,
}

impl HostFacts {
    pub(crate) fn read(root: &Root) -> Self {
        Self {
            volatile: VolatileFacts::read(root),
            machine: MachineFacts::read(root),
            kernel: KernelFacts::read(root),
            cpu: CpuFacts::read(root),
            memory: MemoryFacts::read(root),
            cgroup: CgroupLimits::read(root),
            sysctls: sysctls::read(root),
            limits: limits::read(root, "/proc/self/limits"),
        }
    }

    /// The comparable facts, from dotted keys (`kernel.release`, `sysctls.net.core.somaxconn`) to text.
    pub fn flat(&self) -> BTreeMap<String, String> {
        let mut flat = flatten(self);
        flat.retain(|key, _| !key.starts_with("moment."));
        flat
    }
}

impl VolatileFacts {
    fn read(root: &Root) -> Self {
        let uptime = Uptime::from_file(root.path("/proc/uptime"));
        Self {
            unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
            uptime_s: uptime.map_or(0.0, |uptime| uptime.uptime),
            core_throttles: cpu::core_throttles(root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_the_facts_that_every_linux_has() {
        let facts = HostFacts::read(&Root::new("/"));
        assert!(facts.cpu.online > 0 && facts.memory.total_bytes > 0 && facts.volatile.uptime_s > 0.0);
        let flat = facts.flat();
        for key in ["kernel.release", "kernel.boot_id", "sysctls.net.core.somaxconn", "limits.Max open files"]
        {
            assert!(flat.contains_key(key), "{key} is missing in {flat:#?}");
        }
    }

    #[test]
    fn a_second_reading_of_the_same_machine_has_no_differences() {
        let [before, after] = [(); 2].map(|()| HostFacts::read(&Root::new("/")));
        assert_eq!(differences(&before.flat(), &after.flat()), []);
    }

    #[test]
    fn facts_round_trip_through_json() -> serde_json::Result<()> {
        let facts = HostFacts::read(&Root::new("/"));
        assert_eq!(serde_json::from_str::<HostFacts>(&serde_json::to_string(&facts)?)?, facts);
        Ok(())
    }

    #[test]
    fn facts_of_an_empty_machine_are_absent() {
        let (_dir, root) = crate::root::fake_root(&[]);
        let facts = HostFacts::read(&root);
        assert_eq!((facts.sysctls.len(), facts.kernel.boot_id, facts.cpu.model), (0, None, None));
    }
}
