//! CPU time of this program with its descendants and its servers, and of all other programs: `/proc/PID/stat`.
//!
//! These values are exact, while the states in `/proc/stat` may be estimated from what runs at each timer tick.
//! Kernel threads are in neither group, because they work on behalf of any program.

use super::Readings;
use crate::telemetry::others::Sides;

/// What both groups have used since the first reading.
pub(super) fn read(used: Sides, out: &mut Readings) {
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let help = "CPU time of showdown and all processes of its run: load processes, servers, supervisors";
    out.counter("programs.ours", "cores", help, used.ours as f64 / ticks_per_second);
    let help = "CPU time of all other programs on this machine";
    out.counter("programs.others", "cores", help, used.others as f64 / ticks_per_second);
}
