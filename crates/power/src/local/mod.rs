//! The meters of this machine. Those on the network are in [`crate::network`].

pub(crate) mod bmc;
pub mod hwmon;
mod not_measured;
pub mod powercap;
mod sysfs;

use std::path::Path;

pub use not_measured::NotMeasured;

use crate::source::PowerSource;

/// What this machine can measure, and what it cannot.
#[derive(Debug, Default)]
pub struct LocalSources {
    /// The sources, each read once already.
    pub sources: Vec<Box<dyn PowerSource>>,
    /// The rest, with reasons.
    pub not_measured: Vec<NotMeasured>,
}

/// Finds the sources of a machine whose files are below `root`: `/`, or a directory that a test filled. `virtualization` is the
/// kind of virtual machine, if it is one.
pub fn find(root: &Path, virtualization: Option<&str>) -> LocalSources {
    let mut local = LocalSources::default();
    for rapl in powercap::find(root, virtualization) {
        local.add(rapl);
    }
    for sensor in hwmon::find(root, virtualization) {
        local.add(sensor);
    }
    local.add(bmc::find(root, virtualization));
    local
}

impl LocalSources {
    fn add<S: PowerSource + 'static>(&mut self, found: Result<S, NotMeasured>) {
        match found {
            Ok(source) => self.sources.push(Box::new(source)),
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
