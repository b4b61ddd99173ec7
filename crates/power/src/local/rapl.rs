//! RAPL, the processor's counters of energy: through powercap, or else through perf, which has the same counters.

use std::path::Path;

use super::perf_events::EventOpener;
use super::{perf, powercap};
use crate::source::NotMeasured;
use crate::source::PowerSource;

/// A source, or why there is none.
type Found = Result<Box<dyn PowerSource>, NotMeasured>;

/// The sources of this machine, each once; what neither way gives has the reasons of both.
pub(super) fn find(root: &Path, virtualization: Option<&str>, opener: &dyn EventOpener) -> Vec<Found> {
    let of_perf = perf::find(root, opener);
    let mut found: Vec<Found> = powercap::find(root, virtualization)
        .into_iter()
        .map(|one| one.map(|one| Box::new(one) as _))
        .collect();
    if !of_perf.is_empty() {
        // Where powercap has no zone at all, perf's answer is the one that counts.
        found.retain(|one| one.as_ref().map_or_else(|why| why.name != powercap::NAME, |_| true));
    }
    for other in of_perf {
        let other: Found = other.map(|one| Box::new(one) as _);
        match found.iter_mut().find(|known| name(known) == name(&other)) {
            None => found.push(other),
            Some(Ok(_)) => {}
            Some(known) => match other {
                Ok(source) => *known = Ok(source),
                Err(of_perf) => {
                    if let Err(known) = known {
                        known.why = format!("{}; and by perf: {}", known.why, of_perf.why);
                    }
                }
            },
        }
    }
    found
}

fn name(found: &Found) -> &str {
    match found {
        Ok(source) => &source.about().name,
        Err(missing) => &missing.name,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::local::perf_events::{EventCount, PmuEvent};
    use crate::testing::machine;

    const PERF: [(&str, &str); 5] = [
        ("/sys/bus/event_source/devices/power/type", "22"),
        ("/sys/bus/event_source/devices/power/cpumask", "0"),
        ("/sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02"),
        ("/sys/bus/event_source/devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10"),
        ("/sys/bus/event_source/devices/power/events/energy-pkg.unit", "Joules"),
    ];

    const POWERCAP: [(&str, &str); 3] = [
        ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
        ("/sys/class/powercap/intel-rapl:0/energy_uj", "5"),
        ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
    ];

    struct Zero;

    impl EventCount for Zero {
        fn count(&mut self) -> io::Result<u64> {
            Ok(0)
        }
    }

    /// A kernel that permits everything, or nothing.
    struct Kernel {
        permits: bool,
    }

    impl EventOpener for Kernel {
        fn open(&self, _: PmuEvent) -> io::Result<Box<dyn EventCount>> {
            if self.permits { Ok(Box::new(Zero)) } else { Err(io::ErrorKind::PermissionDenied.into()) }
        }
    }

    fn kinds(files: &[(&str, &str)], permits: bool) -> Vec<Result<&'static str, String>> {
        let found = find(machine(files).path(), None, &Kernel { permits });
        found
            .into_iter()
            .map(|one| one.map(|source| source.about().kind).map_err(|missing| missing.why))
            .collect()
    }

    #[test]
    fn powercap_comes_first_and_perf_takes_its_place() {
        let both = [&POWERCAP[..], &PERF].concat();
        assert_eq!(kinds(&both, true), [Ok("rapl")]);
        assert_eq!(kinds(&both, false), [Ok("rapl")]);
        // A container hides powercap's files.
        assert_eq!(kinds(&PERF, true), [Ok("rapl-perf")]);
        assert_eq!(kinds(&POWERCAP, true), [Ok("rapl")]);
    }

    #[test]
    fn without_either_the_reasons_of_both_are_told() {
        let broken =
            [&PERF[..], &POWERCAP[..1], &[("/sys/class/powercap/intel-rapl:0/energy_uj", "N/A")]].concat();
        assert_eq!(kinds(&broken, true), [Ok("rapl-perf")]);
        let [Err(why)] = &kinds(&broken, false)[..] else { panic!("a reason") };
        assert!(why.contains("max_energy_range_uj") && why.contains("; and by perf: cannot count"), "{why}");
        let [Err(why)] = &kinds(&PERF, false)[..] else { panic!("a reason") };
        assert!(why.starts_with("cannot count power/energy-pkg/ of perf"), "{why}");
        let [Err(why)] = &kinds(&[], true)[..] else { panic!("a reason") };
        assert!(why.contains("use a meter at the plug"), "{why}");
    }
}
