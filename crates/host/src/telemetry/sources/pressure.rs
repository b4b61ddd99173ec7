//! Pressure stall information (psi.rst): the share of the time in which tasks waited for a resource.

use std::fs;

use procfs::parse_pressure_record;

use super::Readings;
use crate::root::Root;

const SOME: &str = "Share of the time in which at least one task waited for this resource";
const FULL: &str = "Share of the time in which all non-idle tasks waited for this resource";

pub(super) fn read(root: &Root, out: &mut Readings) {
    for resource in ["cpu", "memory", "io"] {
        let path = root.path(format!("/proc/pressure/{resource}"));
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let Ok(record) = parse_pressure_record(line) else { continue };
            // The CPU has no `full` before Linux 5.13.
            let about = match line.split(' ').next() {
                Some("some") => ("some", SOME),
                Some("full") => ("full", FULL),
                _ => continue,
            };
            let seconds = record.total as f64 / 1e6;
            out.counter(format!("pressure.{resource}.{}", about.0), "share", about.1, seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn totals_are_seconds_of_waiting() {
        let (_dir, root) = fake_root(&[
            (
                "/proc/pressure/io",
                "some avg10=0.00 avg60=0.13 avg300=0.46 total=4144376\nfull avg10=0.00 avg60=0.12 avg300=0.43 total=3\n",
            ),
            ("/proc/pressure/cpu", "some avg10=0.00 avg60=0.13 avg300=0.46 total=2000000\n"),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!(out.raw("pressure.io.some"), Some(4.144_376));
        assert_eq!((out.raw("pressure.cpu.some"), out.raw("pressure.cpu.full")), (Some(2.0), None));
        assert_eq!(out.raw("pressure.memory.some"), None);
    }
}
