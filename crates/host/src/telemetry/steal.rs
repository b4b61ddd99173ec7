//! Measures CPU steal under load: the time that the hypervisor takes from busy CPUs.
//!
//! The hypervisor takes nothing from idle CPUs, so telemetry of an idle machine shows no steal. This measurement
//! therefore keeps the CPUs busy.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::affinity::CpuSet;
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
