//! RAPL through perf: the same counters as those of powercap, as events of the kernel's PMU `power`. A container that hides powercap's
//! files may have them.

use std::io;
use std::path::Path;

use super::perf_events::{EventCount, EventOpener, PmuEvent};
use super::sysfs;
use crate::boundary::Boundary;
use crate::error::{PowerError, excerpt};
use crate::source::NotMeasured;
use crate::source::{EnergyCounter, PowerReading, PowerSource, SourceAbout};

const DIRECTORY: &str = "/sys/bus/event_source/devices/power";

/// The kernel adds up what the processor counts in 64 bits, so a count never wraps: 2⁵⁶ µJ are two years at 1 kW. It is below the
/// largest number so that the sum of all packages is, too.
const RANGE_MICROJOULES: u64 = 1 << 56;

/// The unit of the events (arch/x86/events/rapl.c).
const UNIT: &str = "Joules";

/// An event of energy, of all packages together.
#[derive(Debug)]
pub(super) struct PerfEnergy {
    about: SourceAbout,
    counts: Vec<Box<dyn EventCount>>,
    joules_a_count: f64,
}

/// The sources of this machine; for each event that cannot be counted, why. Nothing where the kernel has no such events.
pub(super) fn find(root: &Path, opener: &dyn EventOpener) -> Vec<Result<PerfEnergy, NotMeasured>> {
    let directory = sysfs::below(root, DIRECTORY);
    let kinds =
        [("energy-pkg", "rapl-package", Boundary::Package), ("energy-ram", "rapl-dram", Boundary::Dram)];
    let present = kinds.into_iter().filter(|(event, ..)| directory.join("events").join(event).exists());
    let found = present.map(|(event, name, boundary)| {
        let found = open(&directory, event, name, boundary, opener);
        found.map_err(|error| NotMeasured::new(name, error.to_string()))
    });
    found.collect()
}

fn open(
    directory: &Path,
    event: &str,
    name: &str,
    boundary: Boundary,
    opener: &dyn EventOpener,
) -> Result<PerfEnergy, PowerError> {
    let path = directory.join("events").join(event);
    let shown = format!("power/{event}/ of perf");
    let unusable = |what: &str, text: &str| PowerError::Event {
        event: shown.clone(),
        why: format!("its {what} is {:?}", excerpt(text)),
        remedy: "this kernel is newer than this program, use another source",
    };
    let text =
        |suffix: &str| sysfs::text(&path.with_file_name(format!("{event}{suffix}"))).unwrap_or_default();
    let unit = text(".unit");
    if unit != UNIT {
        return Err(unusable("unit", &unit));
    }
    let scale = text(".scale");
    let joules_a_count = scale.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0);
    let joules_a_count = joules_a_count.ok_or_else(|| unusable("scale", &scale))?;
    let config = text("");
    let config = event_number(&config).ok_or_else(|| unusable("encoding", &config))?;
    let pmu = sysfs::text(&directory.join("type")).unwrap_or_default();
    let pmu = pmu.parse().map_err(|_| unusable("type", &pmu))?;
    let mask = sysfs::text(&directory.join("cpumask")).unwrap_or_default();
    let cpus = cpus(&mask).ok_or_else(|| unusable("cpumask", &mask))?;
    let refused = |error: io::Error| PowerError::Event {
        event: shown.clone(),
        remedy: remedy(&error),
        why: error.to_string(),
    };
    let counts = cpus.iter().map(|cpu| opener.open(PmuEvent { pmu, config, cpu: *cpu }));
    let counts = counts.collect::<io::Result<Vec<_>>>().map_err(refused)?;
    let packages = if counts.len() == 1 { "package" } else { "packages" };
    let about = SourceAbout {
        name: name.to_owned(),
        kind: "rapl-perf",
        origin: format!("{shown}, {} {packages}", counts.len()),
        boundary,
        uncertainty_percent: None,
    };
    Ok(PerfEnergy { about, counts, joules_a_count })
}

/// What the kernel wants, by its refusal (`perf_event_open(2)`).
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run as root, or let everybody count events of the machine: sudo sysctl kernel.perf_event_paranoid=0"
        }
        _ => "use another source",
    }
}

/// `event=0x02`.
fn event_number(text: &str) -> Option<u64> {
    let number = text.strip_prefix("event=")?;
    match number.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        None => number.parse().ok(),
    }
}

/// `0,18` or `0-1`: a CPU of each package.
fn cpus(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // A machine has no more packages than this.
        (last >= first && last - first < 1024).then_some(())?;
        cpus.extend(first..=last);
    }
    Some(cpus)
}

impl PowerSource for PerfEnergy {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let (scale, about) = (self.joules_a_count, &self.about);
        let counters = self.counts.iter_mut().map(|count| {
            let count = count.count().map_err(|error| PowerError::Event {
                event: about.origin.clone(),
                why: error.to_string(),
                remedy: "its package may be offline, use another source",
            })?;
            let microjoules = (count as f64 * scale * 1e6) as u64;
            Ok(EnergyCounter { microjoules, range_microjoules: RANGE_MICROJOULES })
        });
        Ok(PowerReading::Energy(counters.collect::<Result<_, PowerError>>()?))
    }
}

#[cfg(test)]
mod tests;
