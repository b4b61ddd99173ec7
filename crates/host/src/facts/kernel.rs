//! The kernel: its version and boot parameters.

use serde::{Deserialize, Serialize};

use super::stolen_time::stolen_time;
use crate::root::Root;
use crate::secrets;

/// The kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// `uname -r`.
    pub release: Option<String>,
    /// `uname -v`: build number and preemption.
    pub version: Option<String>,
    /// Its command line, with secrets masked.
    pub command_line: Option<String>,
    /// Its preemption model, if debugfs is readable.
    pub preemption: Option<String>,
    /// The current clocksource.
    pub clocksource: Option<String>,
    /// Whether the time that a hypervisor stole is in the CPU time of threads, if the configuration of the kernel is readable.
    pub stolen_time: Option<String>,
    /// The ID of this boot.
    pub boot_id: Option<String>,
    /// The namespace of process IDs that this program is in, `pid:[4026531836]`.
    pub pid_namespace: Option<String>,
    /// The taint flags (tainted-kernels.rst); 0 for an untainted kernel.
    pub tainted: Option<String>,
}

impl KernelFacts {
    pub(super) fn read(root: &Root) -> Self {
        Self {
            release: root.read("/proc/sys/kernel/osrelease"),
            version: root.read("/proc/sys/kernel/version"),
            command_line: root.read("/proc/cmdline").map(|line| secrets::mask(line.split(' ')).join(" ")),
            preemption: root.choice("/sys/kernel/debug/sched/preempt"),
            clocksource: root.read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            stolen_time: stolen_time(root),
            boot_id: boot_id(root),
            pid_namespace: root.link("/proc/self/ns/pid"),
            tainted: root.read("/proc/sys/kernel/tainted"),
        }
    }
}

/// The ID of this boot; none where the kernel has none.
pub(crate) fn boot_id(root: &Root) -> Option<String> {
    root.read("/proc/sys/kernel/random/boot_id")
}
