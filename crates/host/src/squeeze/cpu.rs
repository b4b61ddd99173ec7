//! Time of CPUs: a thread on each of them is busy for a share of each period. What it took is measured and not assumed.
//!
//! A quota of CPU time would be simpler, but two servers with equal quotas can differ by a third, because a group that has used
//! its quota is stopped for the rest of the period.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::affinity::CpuSet;
use crate::process::thread_cpu_time;

/// The threads are busy once in each period. A thread of the server that wakes up meanwhile may have to wait until the end of
/// that time, which is no lack of CPU time: with periods of 10 ms, a server of four processes that uses 8 % of its CPU lost 10 % of
/// its throughput. Shorter ones would cost more switches of threads, which are not measured.
const PERIOD: Duration = Duration::from_micros(500);

/// What it did not get in this many periods it does not try to get later: after a pause of the machine it would take everything.
const CATCH_UP_PERIODS: u32 = 80;

/// Burns time of CPUs, until this process ends.
pub(super) struct CpuTime {
    /// CPU time of each thread, nanoseconds.
    burned_ns: Arc<[AtomicU64]>,
}

impl CpuTime {
    /// Begins to burn this share of the time of each of these CPUs, 0 to 1. It burns by its own CPU time: what it does not get
    /// in one period, it tries to get in the next ones.
    ///
    /// # Errors
    ///
    /// A share that is not above 0 and at most 0.9, no CPU, or a CPU on which this process may not run.
    pub(super) fn begin(cpus: &CpuSet, share: f64) -> io::Result<Self> {
        if !(share > 0.0 && share <= 0.9) || cpus.is_empty() {
            let message =
                format!("cannot burn {share} of CPUs {cpus}: give a share up to 0.9 and one CPU at least");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let burned_ns: Arc<[AtomicU64]> = cpus.iter().map(|_| AtomicU64::new(0)).collect();
        for (index, cpu) in cpus.iter().enumerate() {
            let (pinned, is_pinned) = mpsc::channel();
            let burned_ns = Arc::clone(&burned_ns);
            thread::Builder::new().name(format!("burner-{cpu}")).spawn(move || {
                let result = CpuSet::from_iter([cpu]).pin_this_thread();
                let is_ready = result.is_ok();
                let _ = pinned.send(result);
                if is_ready {
                    burn(&burned_ns[index], share);
                }
            })?;
            is_pinned.recv().unwrap_or_else(|_| Err(io::Error::other("a thread of the burner ended")))?;
        }
        Ok(Self { burned_ns })
    }

    /// The CPU time that it has used until now, nanoseconds of all CPUs.
    pub(super) fn taken(&self) -> u64 {
        self.burned_ns.iter().map(|ns| ns.load(Ordering::Relaxed)).sum()
    }
}

/// Burns without an end: in each period until the thread has used its share of the time.
fn burn(burned_ns: &AtomicU64, share: f64) {
    let (started, cpu_before) = (Instant::now(), thread_cpu_time());
    let mut forgiven = Duration::ZERO;
    loop {
        let end = started.elapsed() + PERIOD;
        let burned = thread_cpu_time().saturating_sub(cpu_before);
        let most = burned + PERIOD.mul_f64(share) * CATCH_UP_PERIODS;
        let due = end.mul_f64(share).saturating_sub(forgiven);
        forgiven += due.saturating_sub(most);
        let due = due.min(most);
        loop {
            let burned = thread_cpu_time().saturating_sub(cpu_before);
            burned_ns.store(burned.as_nanos() as u64, Ordering::Relaxed);
            if burned >= due {
                break;
            }
            // In registers only: the server's caches stay its own.
            for _ in 0..100 {
                std::hint::spin_loop();
            }
        }
        thread::sleep(end.saturating_sub(started.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_share_and_a_cpu_that_is_not_allowed_are_refused() {
        let one_cpu: CpuSet = CpuSet::of_this_thread().expect("CPUs").iter().take(1).collect();
        for share in [0.0, 0.95, f64::NAN] {
            assert!(CpuTime::begin(&one_cpu, share).is_err(), "{share}");
        }
        assert!(CpuTime::begin(&CpuSet::default(), 0.2).is_err());
        let error = CpuTime::begin(&CpuSet::from_iter([1023]), 0.2).err().expect("there is no such CPU");
        assert!(error.to_string().contains("cannot run on CPUs 1023"), "{error}");
    }
}
