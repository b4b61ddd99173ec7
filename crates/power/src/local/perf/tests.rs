//! Tests of perf's energy with a copied tree of the kernel, and counts that each test makes up.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::*;
use crate::PowerMeter;
use crate::testing::machine;

/// As on a machine with two packages of Intel's; the memory has a unit of its own.
const TREE: [(&str, &str); 10] = [
    ("/sys/bus/event_source/devices/power/type", "22"),
    ("/sys/bus/event_source/devices/power/cpumask", "0,18"),
    ("/sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02"),
    ("/sys/bus/event_source/devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10"),
    ("/sys/bus/event_source/devices/power/events/energy-pkg.unit", "Joules"),
    ("/sys/bus/event_source/devices/power/events/energy-ram", "event=0x03"),
    ("/sys/bus/event_source/devices/power/events/energy-ram.scale", "1.52587890625e-05"),
    ("/sys/bus/event_source/devices/power/events/energy-ram.unit", "Joules"),
    ("/sys/bus/event_source/devices/power/events/energy-cores", "event=0x01"),
    ("/sys/bus/event_source/devices/power/events/energy-psys", "event=0x05"),
];

/// Counts that each event gives, one after the other. It remembers what was opened.
struct MadeUp {
    counts: Vec<u64>,
    opened: RefCell<Vec<PmuEvent>>,
}

struct Counts(VecDeque<u64>);

impl MadeUp {
    fn new(counts: &[u64]) -> Self {
        Self { counts: counts.to_vec(), opened: RefCell::default() }
    }
}

impl EventOpener for MadeUp {
    fn open(&self, event: PmuEvent) -> io::Result<Box<dyn EventCount>> {
        self.opened.borrow_mut().push(event);
        Ok(Box::new(Counts(self.counts.clone().into())))
    }
}

impl EventCount for Counts {
    fn count(&mut self) -> io::Result<u64> {
        self.0.pop_front().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A kernel that permits nothing.
struct Refusing(io::ErrorKind);

impl EventOpener for Refusing {
    fn open(&self, _: PmuEvent) -> io::Result<Box<dyn EventCount>> {
        Err(self.0.into())
    }
}

/// The tree with another text in one file.
fn with(file: &str, text: &'static str) -> tempfile::TempDir {
    machine(&TREE.map(|(path, known)| (path, if path.ends_with(file) { text } else { known })))
}

#[test]
fn each_package_has_an_event_and_no_energy_is_counted_twice() {
    let (tree, kernel) = (machine(&TREE), MadeUp::new(&[0]));
    let found = find(tree.path(), &kernel);
    let names: Vec<(&str, Boundary, &str)> = found
        .iter()
        .map(|found| &found.as_ref().unwrap().about)
        .map(|about| (about.name.as_str(), about.boundary, about.origin.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("rapl-package", Boundary::Package, "power/energy-pkg/ of perf, 2 packages"),
            ("rapl-dram", Boundary::Dram, "power/energy-ram/ of perf, 2 packages"),
        ]
    );
    let event = |config, cpu| PmuEvent { pmu: 22, config, cpu };
    assert_eq!(*kernel.opened.borrow(), [event(2, 0), event(2, 18), event(3, 0), event(3, 18)]);
}

#[test]
fn counts_become_joules_by_the_scale_of_their_event() {
    // 2³² counts of 2⁻³² J are 1 J for a package; 2¹⁶ of 2⁻¹⁶ J for memory.
    for (index, one_joule) in [(0, 1_u64 << 32), (1, 1 << 16)] {
        let kernel = MadeUp::new(&[0, 5 * one_joule, one_joule / 1000 + 5 * one_joule]);
        let mut source = find(machine(&TREE).path(), &kernel).swap_remove(index).unwrap();
        let mut microjoules = || {
            let PowerReading::Energy(counters) = source.read().unwrap() else { panic!("energy") };
            counters.iter().map(|counter| counter.microjoules).collect::<Vec<_>>()
        };
        assert_eq!([microjoules(), microjoules()], [vec![0, 0], vec![5_000_000; 2]]);
        assert!(microjoules().iter().all(|energy| energy.abs_diff(5_001_000) <= 16), "a thousandth more");
    }
}

#[test]
fn a_meter_adds_the_packages() {
    // 5 mJ each: more would be beyond any machine in the moment between two readings.
    let kernel = MadeUp::new(&[0, (5 << 32) / 1000]);
    let source = find(machine(&TREE).path(), &kernel).remove(0).unwrap();
    let mut meter = PowerMeter::new(Box::new(source));
    assert_eq!(meter.sample().unwrap(), None);
    let sample = meter.sample().unwrap().unwrap();
    let joules = sample.watts.value() * sample.over.unwrap().as_secs_f64();
    assert!((joules - 0.010).abs() < 1e-5, "{joules} J");
}

#[test]
fn an_event_that_fails_costs_its_watts_and_says_why() {
    let mut source = find(machine(&TREE).path(), &MadeUp::new(&[])).remove(0).unwrap();
    let error = source.read().unwrap_err().to_string();
    assert!(error.starts_with("cannot count power/energy-pkg/ of perf, 2 packages: "), "{error}");
}

#[test]
fn another_unit_or_scale_is_refused_and_never_guessed() {
    for (file, text, expected) in [
        ("energy-pkg.unit", "Watts", "its unit is \"Watts\""),
        ("energy-pkg.scale", "0", "its scale is \"0\""),
        ("energy-pkg.scale", "nan", "its scale is \"nan\""),
        ("energy-pkg", "umask=0x1", "its encoding is \"umask=0x1\""),
        ("cpumask", "1-0", "its cpumask is \"1-0\""),
        ("cpumask", "", "its cpumask is \"\""),
        ("type", "-1", "its type is \"-1\""),
    ] {
        let why = find(with(file, text).path(), &MadeUp::new(&[0])).remove(0).unwrap_err().why;
        assert!(why.contains(expected), "{why}");
        assert!(!why.contains('\n'));
    }
}

#[test]
fn without_rights_the_reason_says_what_to_do() {
    let why = |kind| find(machine(&TREE).path(), &Refusing(kind)).remove(0).unwrap_err().why;
    let denied = why(io::ErrorKind::PermissionDenied);
    assert!(
        denied.starts_with("cannot count power/energy-pkg/ of perf: permission denied: run as root"),
        "{denied}"
    );
    assert!(denied.ends_with("kernel.perf_event_paranoid=0"), "{denied}");
    assert!(why(io::ErrorKind::NotFound).ends_with("use another source"));
}

#[test]
fn a_kernel_without_these_events_has_none() {
    assert!(find(machine(&[]).path(), &MadeUp::new(&[0])).is_empty());
}

#[test]
fn masks_of_cpus_are_lists_of_ranges() {
    assert_eq!(cpus("0,18"), Some(vec![0, 18]));
    assert_eq!(cpus("0-1,8"), Some(vec![0, 1, 8]));
    assert_eq!([cpus("x"), cpus("0-99999"), cpus("")], [None, None, None]);
}
