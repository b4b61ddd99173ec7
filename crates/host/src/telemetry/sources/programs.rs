//! CPU time of programs, by whose they are: ours, and everybody else's. From `/proc/PID/stat`.
//!
//! These are exact, where the kinds of `/proc/stat` may be samples of what ran at each tick of a timer. Threads of
//! the kernel are neither: they work for whoever has given them work.

use procfs::process::{Stat, StatFlags};

use super::Readings;
use crate::process::{Processes, cpu_ticks};

pub(super) fn read(processes: &Processes, out: &mut Readings) {
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let (ours, others) = processes.apart(std::process::id());
    let cores = |stats: &mut dyn Iterator<Item = &&Stat>| -> f64 {
        stats.map(|stat| cpu_ticks(stat) as f64).sum::<f64>() / ticks_per_second
    };
    let help = "CPU time of this program and all that it started: load processes, servers, their keepers";
    out.counter("programs.ours", "cores", help, cores(&mut ours.iter()));
    let help = "CPU time of all other programs on this machine";
    out.counter("programs.others", "cores", help, cores(&mut others.iter().filter(|stat| is_program(stat))));
}

/// Whether it is a program and not a thread of the kernel.
pub(in crate::telemetry) fn is_program(stat: &Stat) -> bool {
    stat.flags().is_ok_and(|flags| !flags.contains(StatFlags::PF_KTHREAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_ours_and_the_first_process_is_another_s() {
        let processes = Processes::now();
        let mut out = Readings::default();
        read(&processes, &mut out);
        let (ours, others) = processes.apart(std::process::id());
        let pids = |stats: &[&Stat]| stats.iter().map(|stat| stat.pid.cast_unsigned()).collect::<Vec<u32>>();
        assert!(pids(&ours).contains(&std::process::id()));
        assert!(pids(&others).contains(&1));
        assert!(out.raw("programs.ours").is_some() && out.raw("programs.others").is_some());
    }
}
