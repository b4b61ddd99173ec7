//! What makes this machine quieter while it measures: kernel settings, which the caller changes by way of the journal, and idle states, which
//! the kernel gives back by itself when the file is closed, however the process ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use rustix::fs::{Access, access};

use super::value::read;
use super::{Knob, usual_purpose};
use crate::root::Root;

/// Settings, the value that is quieter, and what happens otherwise.
const QUIETER: &[(&str, &str, &str)] = &[
    ("kernel.numa_balancing", "0", "the kernel moves memory between nodes while servers run"),
    ("kernel.nmi_watchdog", "0", "a watchdog interrupts each CPU, and uses a hardware counter"),
    ("vm.compaction_proactiveness", "0", "the kernel compacts memory in the background"),
    ("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0", "a daemon copies memory into huge pages"),
    (
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
        "1",
        "the frequency depends on temperature and on other CPUs",
    ),
    ("/sys/devices/system/cpu/cpufreq/boost", "0", "the frequency depends on temperature and on other CPUs"),
];

/// While it is open and has a value, no CPU enters an idle state from which it wakes more slowly than that, in microseconds.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// A setting of this machine that has another value than the quieter one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietingSetting {
    /// The setting.
    pub knob: Knob,
    /// The quieter value.
    pub value: String,
    /// What happens otherwise.
    pub why: &'static str,
}

/// What would make a machine quieter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quieting {
    /// Settings that this machine has, and that could be changed by this user.
    pub settings: Vec<QuietingSetting>,
    /// Whether the kernel chooses idle states here, and this user may bound them.
    pub has_idle_states: bool,
}

impl Quieting {
    pub(crate) fn of(root: &Root) -> Self {
        let mut settings = Vec::new();
        for (name, value, why) in QUIETER {
            let Ok(knob) = name.parse::<Knob>() else { continue };
            let may_write = access(root.path(knob.path()), Access::WRITE_OK).is_ok();
            let is_louder = read(root, &knob).is_ok_and(|now| now != *value);
            if may_write && is_louder && usual_purpose(&knob).is_some() {
                settings.push(QuietingSetting { knob, value: (*value).to_owned(), why });
            }
        }
        let has_states = root.path("/sys/devices/system/cpu/cpu0/cpuidle/state1").exists();
        let may_bound = access(root.path(LATENCY), Access::WRITE_OK).is_ok();
        Self { settings, has_idle_states: has_states && may_bound }
    }
}

/// CPUs of this machine stay out of deep idle states until this is dropped or its process ends.
#[derive(Debug)]
pub struct ShallowIdle {
    /// The kernel forgets the bound when it is closed.
    _open: File,
}

impl ShallowIdle {
    pub(crate) fn begin(root: &Root) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open(root.path(LATENCY))?;
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _open: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    const THP_DAEMON: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag";

    #[test]
    fn settings_that_a_machine_has_and_that_are_not_quiet_yet_are_named() {
        let (_dir, root) = fake_root(&[
            (THP_DAEMON, "1\n"),
            ("/proc/sys/kernel/numa_balancing", "0\n"),
            ("/sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ]);
        let quieting = Quieting::of(&root);
        let found: Vec<(String, &str)> =
            quieting.settings.iter().map(|found| (found.knob.to_string(), found.value.as_str())).collect();
        let boost = "/sys/devices/system/cpu/cpufreq/boost".to_owned();
        assert_eq!(found, [(THP_DAEMON.to_owned(), "0"), (boost, "0")]);
        assert!(!quieting.has_idle_states);
    }

    #[test]
    fn idle_states_are_bounded_where_the_kernel_chooses_some() -> io::Result<()> {
        let (dir, root) =
            fake_root(&[(LATENCY, ""), ("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n")]);
        assert!(Quieting::of(&root).has_idle_states);
        drop(ShallowIdle::begin(&root)?);
        assert_eq!(std::fs::read(dir.path().join("dev/cpu_dma_latency"))?, [0; 4]);
        Ok(())
    }

    #[test]
    fn every_setting_is_one_that_a_plan_may_set() {
        for (name, ..) in QUIETER {
            assert!(usual_purpose(&name.parse().expect("a setting")).is_some(), "{name}");
        }
    }
}
