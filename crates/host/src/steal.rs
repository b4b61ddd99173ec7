//! What a hypervisor takes from CPUs that want to work. From an idle one nothing can be taken, so that a look at a machine
//! that waits finds nothing: the CPUs are kept busy meanwhile.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::affinity::CpuSet;
use crate::host::Host;

/// The share of these CPUs' time that the hypervisor takes while they are kept busy for so long, 0 to 1; none where the
/// kernel does not say.
pub(crate) fn under_load(host: &Host, cpus: &CpuSet, look: Duration) -> io::Result<Option<f64>> {
    let sampler = host.sample(Vec::new(), look)?;
    let busy = keep_busy(cpus, Instant::now() + look);
    let recording = sampler.stop();
    busy.map(|()| recording.stolen(cpus))
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
        threads.into_iter().try_for_each(|thread| thread.join().expect("it only reads a clock"))
    })
}
