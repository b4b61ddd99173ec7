//! Measures CPU steal under load: the time that the hypervisor takes from busy CPUs.
//!
//! The hypervisor takes nothing from idle CPUs, so telemetry of an idle machine shows no steal. This measurement
//! therefore keeps the CPUs busy.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::affinity::CpuSet;
use crate::process::ticks;
use crate::root::Root;
use crate::telemetry;

/// Keeps these CPUs busy for `duration` and returns the stolen share of their time, 0 to 1. Returns none where
/// the kernel does not report steal.
pub(crate) fn under_load(root: &Root, cpus: &CpuSet, duration: Duration) -> io::Result<Option<f64>> {
    let sampler = telemetry::start(root, Vec::new(), duration)?;
    let busy = keep_busy(cpus, Instant::now() + duration);
    let recording = sampler.stop();
    busy.map(|()| recording.stolen(cpus, 0..=u64::MAX))
}

/// What happened to some CPUs since the boot, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpusSoFar {
    /// The time that the hypervisor has taken from them.
    pub stolen: Duration,
    /// The time in which they ran programs, in user mode or in the kernel. Without interrupts: the work of a network is charged to
    /// nobody there.
    pub programs: Duration,
}

/// What happened to these CPUs since the boot. None where the kernel does not report it for one of them.
pub(crate) fn so_far(root: &Root, cpus: &CpuSet) -> Option<CpusSoFar> {
    let text = root.read("/proc/stat")?;
    let of_cpus = text.lines().filter_map(ticks_of_line).filter(|(cpu, ..)| cpus.contains(*cpu));
    let (mut seen, mut stolen, mut programs) = (0, 0, 0);
    for (_, of_programs, of_hypervisor) in of_cpus {
        seen += 1;
        programs += of_programs;
        stolen += of_hypervisor;
    }
    (seen == cpus.len()).then(|| CpusSoFar { stolen: ticks(stolen), programs: ticks(programs) })
}

/// The CPU of a line of `proc_stat(5)`, and the ticks in which it ran programs and was taken away; none for a line of something else.
fn ticks_of_line(line: &str) -> Option<(usize, u64, u64)> {
    /// Columns after the name of the CPU: user, nice and system come first.
    const OF_PROGRAMS: usize = 3;
    const STEAL: usize = 7;
    let (name, times) = line.strip_prefix("cpu")?.split_once(' ')?;
    let ticks: Vec<u64> = times.split_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
    Some((name.parse().ok()?, ticks.iter().take(OF_PROGRAMS).sum(), *ticks.get(STEAL)?))
}

fn keep_busy(cpus: &CpuSet, until: Instant) -> io::Result<()> {
    let spin = |cpu: usize| {
        CpuSet::from_iter([cpu]).pin_this_thread()?;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cpus.iter().map(|cpu| scope.spawn(move || spin(cpu))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a spinning thread does not panic"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn ticks_are_those_of_the_cpus_that_are_asked_for() {
        let stat = "cpu  9 0 0 0 0 0 0 60 0 0\ncpu0 1 0 0 0 0 0 0 10 0 0\ncpu1 1 0 0 0 0 0 0 20 0 0\n\
                    cpu2 1 2 3 9 9 9 9 30 0 0\nintr 4 1\n";
        let (_dir, root) = fake_root(&[("/proc/stat", stat)]);
        assert_eq!(
            so_far(&root, &CpuSet::from_iter([0, 2])),
            Some(CpusSoFar { stolen: ticks(40), programs: ticks(7) })
        );
        assert_eq!(so_far(&root, &CpuSet::from_iter([0, 5])), None, "one of them is not there");
    }
}
