//! The kernel, and what was decided about it at its start.

use serde::{Deserialize, Serialize};

use super::secrets;
use crate::root::Root;

/// The kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// `uname -r`.
    pub release: Option<String>,
    /// `uname -v`: build number and preemption.
    pub version: Option<String>,
    /// The command line that it was started with, secrets masked.
    pub command_line: Option<String>,
    /// Its preemption model, where debugfs may be read.
    pub preemption: Option<String>,
    /// The clock that time is read from.
    pub clocksource: Option<String>,
    /// What this start of it is called.
    pub boot_id: Option<String>,
    /// Why its developers would not look at a bug (tainted-kernels.rst); 0 if they would.
    pub tainted: Option<String>,
}

impl Kernel {
    pub(super) fn read(root: &Root) -> Self {
        Self {
            release: root.read("/proc/sys/kernel/osrelease"),
            version: root.read("/proc/sys/kernel/version"),
            command_line: root.read("/proc/cmdline").map(|line| secrets::mask(line.split(' ')).join(" ")),
            preemption: root.choice("/sys/kernel/debug/sched/preempt"),
            clocksource: root.read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            boot_id: root.read("/proc/sys/kernel/random/boot_id"),
            tainted: root.read("/proc/sys/kernel/tainted"),
        }
    }
}
