//! RAPL through powercap: the processor's counters of energy as files of the kernel. The same by events of perf is left to
//! [`super::perf`].

use std::path::{Path, PathBuf};

use super::sysfs;
use crate::boundary::Boundary;
use crate::error::PowerError;
use crate::source::NotMeasured;
use crate::source::{EnergyCounter, PowerReading, PowerSource, SourceAbout};

const DIRECTORY: &str = "/sys/class/powercap";

/// The name of what is missing where there is no zone at all.
pub(super) const NAME: &str = "rapl";

/// The files are root's since Linux 5.10, because of CVE-2020-8694.
const REMEDY: &str = "run as root, or let your group read it: sudo chgrp GROUP and chmod g+r on energy_uj of each intel-rapl \
                      zone, by a udev rule to keep it";

/// The counters of one kind of zone, of all sockets together.
#[derive(Debug)]
pub struct Rapl {
    about: SourceAbout,
    zones: Vec<Zone>,
}

#[derive(Debug)]
struct Zone {
    energy: PathBuf,
    range_microjoules: u64,
}

/// The kinds of zones. `core` and `uncore` are parts of `package`, and counted there. The name `intel-rapl` is the driver's, also
/// on AMD; `intel-rapl-mmio` has the same packages once more.
fn kind_of(zone_name: &str) -> Option<(&'static str, Boundary)> {
    match zone_name {
        name if name.starts_with("package") => Some(("rapl-package", Boundary::Package)),
        "dram" => Some(("rapl-dram", Boundary::Dram)),
        _ => None,
    }
}

/// The sources of this machine; for each kind that cannot be read, why.
pub(super) fn find(root: &Path, virtualization: Option<&str>) -> Vec<Result<Rapl, NotMeasured>> {
    let directory = sysfs::below(root, DIRECTORY);
    let zones = sysfs::names(&directory).into_iter().filter(|name| name.starts_with("intel-rapl:"));
    let named: Vec<(PathBuf, &'static str, Boundary)> = zones
        .filter_map(|zone| {
            let path = directory.join(zone);
            let (kind, boundary) = kind_of(&sysfs::text(&path.join("name"))?)?;
            Some((path, kind, boundary))
        })
        .collect();
    if named.is_empty() {
        return vec![Err(absent(&directory, virtualization))];
    }
    let mut found = Vec::new();
    for (kind, boundary) in [("rapl-package", Boundary::Package), ("rapl-dram", Boundary::Dram)] {
        let paths: Vec<&PathBuf> =
            named.iter().filter(|(_, of, _)| *of == kind).map(|(path, ..)| path).collect();
        if !paths.is_empty() {
            found.push(open(kind, boundary, &paths, &directory));
        }
    }
    found
}

fn open(
    kind: &'static str,
    boundary: Boundary,
    paths: &[&PathBuf],
    directory: &Path,
) -> Result<Rapl, NotMeasured> {
    let zone = |path: &&PathBuf| -> Result<Zone, PowerError> {
        let range_microjoules = sysfs::number(&path.join("max_energy_range_uj"), REMEDY)?;
        let zone = Zone { energy: path.join("energy_uj"), range_microjoules };
        sysfs::number(&zone.energy, REMEDY)?;
        Ok(zone)
    };
    let zones = paths.iter().map(zone).collect::<Result<Vec<_>, _>>();
    let zones = zones.map_err(|error| NotMeasured::new(kind, error.to_string()))?;
    let about = SourceAbout {
        name: kind.to_owned(),
        kind: "rapl",
        origin: format!(
            "{}, {} zone{}",
            directory.display(),
            zones.len(),
            if zones.len() == 1 { "" } else { "s" }
        ),
        boundary,
        uncertainty_percent: None,
    };
    Ok(Rapl { about, zones })
}

/// Why there is no zone.
fn absent(directory: &Path, virtualization: Option<&str>) -> NotMeasured {
    let why = match virtualization {
        Some(kind) => format!(
            "this is a virtual machine ({kind}), and its hypervisor hides the counters: measure on the machine below it, or at its plug"
        ),
        None if directory.is_dir() => format!(
            "{} has no zone of RAPL: load the driver (sudo modprobe intel_rapl_msr), or leave the container that hides it",
            directory.display()
        ),
        None => format!(
            "there is no {}: the kernel has no powercap, the processor no RAPL, or a container hides it: use a meter at the plug",
            directory.display()
        ),
    };
    NotMeasured::new(NAME, why)
}

impl PowerSource for Rapl {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let counter = |zone: &Zone| {
            let microjoules = sysfs::number(&zone.energy, REMEDY)?;
            Ok(EnergyCounter { microjoules, range_microjoules: zone.range_microjoules })
        };
        Ok(PowerReading::Energy(self.zones.iter().map(counter).collect::<Result<_, PowerError>>()?))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::machine;

    /// As on a machine with two sockets: the zones of a socket, its cores, its memory, and the same package by MMIO.
    fn two_sockets() -> Vec<(&'static str, &'static str)> {
        vec![
            ("/sys/class/powercap/intel-rapl/enabled", "1"),
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "262143000000"),
            ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
            ("/sys/class/powercap/intel-rapl:0:0/name", "core"),
            ("/sys/class/powercap/intel-rapl:0:0/energy_uj", "77"),
            ("/sys/class/powercap/intel-rapl:0:1/name", "dram"),
            ("/sys/class/powercap/intel-rapl:0:1/energy_uj", "1000000"),
            ("/sys/class/powercap/intel-rapl:0:1/max_energy_range_uj", "65712999613"),
            ("/sys/class/powercap/intel-rapl:1/name", "package-1"),
            ("/sys/class/powercap/intel-rapl:1/energy_uj", "5000000"),
            ("/sys/class/powercap/intel-rapl:1/max_energy_range_uj", "262143328850"),
            ("/sys/class/powercap/intel-rapl-mmio:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "1"),
        ]
    }

    #[test]
    fn sockets_are_added_and_no_energy_is_counted_twice() {
        let machine = machine(&two_sockets());
        let mut sources = find(machine.path(), None);
        assert_eq!(sources.len(), 2);
        let dram = sources.pop().unwrap().unwrap();
        let mut package = sources.pop().unwrap().unwrap();
        assert_eq!((package.about.boundary, dram.about.boundary), (Boundary::Package, Boundary::Dram));
        assert!(package.about.origin.ends_with("powercap, 2 zones"), "{}", package.about.origin);
        let PowerReading::Energy(counters) = package.read().unwrap() else { panic!("energy") };
        let energies: Vec<u64> = counters.iter().map(|counter| counter.microjoules).collect();
        assert_eq!(energies, [262_143_000_000, 5_000_000]);
    }

    #[test]
    fn a_wrap_of_one_socket_is_seen_by_the_meter() {
        let machine = machine(&two_sockets());
        let package = find(machine.path(), None).remove(0).unwrap();
        let mut meter = crate::PowerMeter::new(Box::new(package));
        assert_eq!(meter.sample().unwrap(), None);
        // 328,850 µJ up to the wrap and 1,000 after it, on one socket; nothing on the other.
        fs::write(machine.path().join("sys/class/powercap/intel-rapl:0/energy_uj"), "1000\n").unwrap();
        let sample = meter.sample().unwrap().unwrap();
        let joules = sample.watts.value() * sample.over.unwrap().as_secs_f64();
        assert!((joules - 0.329_850).abs() < 1e-9, "{joules}");
    }

    #[test]
    fn an_absent_counter_has_its_reason() {
        let why = |files: &[(&str, &str)], kind: Option<&str>| {
            let machine = machine(files);
            let found = find(machine.path(), kind).remove(0);
            found.unwrap_err().why
        };
        assert!(why(&[], Some("KVM")).starts_with("this is a virtual machine (KVM), and its hypervisor"));
        assert!(why(&[], None).contains("use a meter at the plug"));
        assert!(why(&[("/sys/class/powercap/dtpm/x", "")], None).contains("modprobe intel_rapl_msr"));
        let broken = [
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "9"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "N/A"),
        ];
        assert!(why(&broken, None).contains("contains \"N/A\", not a number"));
    }

    #[test]
    fn a_counter_that_only_root_may_read_says_how_to_open_it() {
        let machine = machine(&two_sockets());
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let path = machine.path().join("energy_uj").display().to_string();
        let error = PowerError::Read { path, source: denied, remedy: REMEDY }.to_string();
        assert!(error.contains("run as root, or let your group read it"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}
