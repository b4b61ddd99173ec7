//! CPU time of this program with its descendants and its servers, and of all other programs: `/proc/PID/stat`.
//!
//! These values are exact, while the states in `/proc/stat` may be estimated from what runs at each timer tick.
//! Kernel threads are in neither group, because they work on behalf of any program.

use std::collections::HashSet;

use procfs::process::Stat;

use super::Readings;
use crate::process::{Processes, cpu_ticks};
use crate::telemetry::others::is_program;

pub(super) fn read(processes: &Processes, servers: &HashSet<i32>, out: &mut Readings) {
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let (own, others) = processes.partition_with(std::process::id(), servers);
    let cores = |stats: &mut dyn Iterator<Item = &&Stat>| -> f64 {
        stats.map(|stat| cpu_ticks(stat) as f64).sum::<f64>() / ticks_per_second
    };
    let help = "CPU time of showdown and all processes of its run: load processes, servers, supervisors";
    out.counter("programs.ours", "cores", help, cores(&mut own.iter()));
    let help = "CPU time of all other programs on this machine";
    out.counter("programs.others", "cores", help, cores(&mut others.iter().filter(|stat| is_program(stat))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_own_and_process_1_is_other() {
        let processes = Processes::now();
        let mut out = Readings::default();
        read(&processes, &HashSet::new(), &mut out);
        let (own, others) = processes.partition(std::process::id());
        let pids = |stats: &[&Stat]| stats.iter().map(|stat| stat.pid.cast_unsigned()).collect::<Vec<u32>>();
        assert!(pids(&own).contains(&std::process::id()));
        assert!(pids(&others).contains(&1));
        assert!(out.raw("programs.ours").is_some() && out.raw("programs.others").is_some());
    }
}
