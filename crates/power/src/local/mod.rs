//! The meters of this machine. Those on the network are in [`crate::network`].

pub(crate) mod bmc;
pub mod hwmon;
mod perf;
mod perf_events;
pub mod powercap;
mod rapl;
mod sysfs;

use std::path::Path;

use crate::source::{NotMeasured, PowerSource};
use perf_events::KernelEvents;

/// What this machine can measure, and what it cannot.
#[derive(Debug, Default)]
pub struct LocalSources {
    /// The sources, each read once already.
    pub sources: Vec<Box<dyn PowerSource>>,
    /// The rest, with reasons.
    pub not_measured: Vec<NotMeasured>,
}

/// A family of meters. The names of its sources, and of what is missing of it, begin with its name.
#[derive(Debug, Clone, Copy)]
enum Family {
    Rapl,
    Hwmon,
    Bmc,
}

impl Family {
    const ALL: [Self; 3] = [Self::Rapl, Self::Hwmon, Self::Bmc];

    /// The family of a source with this name.
    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| match family {
            Self::Rapl => name.starts_with("rapl-"),
            Self::Hwmon => name.starts_with("hwmon-"),
            Self::Bmc => name == "bmc",
        })
    }

    fn find(self, root: &Path, virtualization: Option<&str>, local: &mut LocalSources) {
        match self {
            Self::Rapl => {
                for counter in rapl::find(root, virtualization, &KernelEvents) {
                    local.add(counter);
                }
            }
            Self::Hwmon => {
                for sensor in hwmon::find(root, virtualization) {
                    local.add(sensor.map(|one| Box::new(one) as _));
                }
            }
            // It is asked: that takes a moment.
            Self::Bmc => local.add(bmc::find(root, virtualization).map(|one| Box::new(one) as _)),
        }
    }
}

/// Finds the sources of a machine whose files are below `root`: `/`, or a directory that a test filled. `virtualization` is the
/// kind of virtual machine, if it is one.
pub fn find(root: &Path, virtualization: Option<&str>) -> LocalSources {
    let mut local = LocalSources::default();
    for family in Family::ALL {
        family.find(root, virtualization, &mut local);
    }
    local
}

/// Whether a source of this machine may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    Family::of(name).is_some()
}

/// Finds the sources of the family of this name, and no others: each is read, and a BMC is slow.
pub(crate) fn find_family(name: &str, root: &Path, virtualization: Option<&str>) -> LocalSources {
    let mut local = LocalSources::default();
    if let Some(family) = Family::of(name) {
        family.find(root, virtualization, &mut local);
    }
    local
}

impl LocalSources {
    fn add(&mut self, found: Result<Box<dyn PowerSource>, NotMeasured>) {
        match found {
            Ok(source) => self.sources.push(source),
            Err(reason) => self.not_measured.push(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn each_kind_is_found_or_has_its_reason_in_one_line() {
        let nothing = machine(&[]);
        let local = find(nothing.path(), Some("KVM"));
        let names: Vec<&str> = local.not_measured.iter().map(|missing| missing.name.as_str()).collect();
        assert_eq!((local.sources.len(), names), (0, vec!["rapl", "hwmon", "bmc"]));
        assert!(local.not_measured.iter().all(|missing| !missing.why.contains('\n')));
        let laptop = machine(&[
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "1"),
            ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
        ]);
        let local = find(laptop.path(), None);
        assert_eq!((local.sources.len(), local.not_measured.len()), (1, 2));
        assert_eq!(local.sources[0].about().name, "rapl-package");
    }
}
