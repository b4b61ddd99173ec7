//! Pressure stall information (psi.rst): the share of the time in which tasks waited for a resource.

use procfs::{CpuPressure, FromRead, IoPressure, MemoryPressure, PressureRecord};

use super::Readings;
use crate::root::Root;

const SOME: &str = "Share of the time in which at least one task waited for this resource";
const FULL: &str = "Share of the time in which all non-idle tasks waited for this resource";

pub(super) fn read(root: &Root, out: &mut Readings) {
    let path = |resource| root.path(format!("/proc/pressure/{resource}"));
    let records = [
        ("cpu", CpuPressure::from_file(path("cpu")).map(|p| (p.some, p.full))),
        ("memory", MemoryPressure::from_file(path("memory")).map(|p| (p.some, p.full))),
        ("io", IoPressure::from_file(path("io")).map(|p| (p.some, p.full))),
    ];
    for (resource, record) in records {
        if let Ok((some, full)) = record {
            let seconds = |record: &PressureRecord| record.total as f64 / 1e6;
            out.counter(format!("pressure.{resource}.some"), "share", SOME, seconds(&some));
            out.counter(format!("pressure.{resource}.full"), "share", FULL, seconds(&full));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn totals_are_seconds_of_waiting() {
        let (_dir, root) = fake_root(&[(
            "/proc/pressure/io",
            "some avg10=0.00 avg60=0.13 avg300=0.46 total=4144376\nfull avg10=0.00 avg60=0.12 avg300=0.43 total=3\n",
        )]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!(out.raw("pressure.io.some"), Some(4.144_376));
        assert_eq!(out.raw("pressure.cpu.some"), None);
    }
}
