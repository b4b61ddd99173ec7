//! A worker thread's CPU time and its time in the run queue, as the kernel counts them.

use std::ops::Sub;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use procfs::FromRead;
use procfs::process::Schedstat;

use crate::clock::Nanos;

/// A thread's times since it began, or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTimes {
    /// In user mode.
    ///
    /// The kernel divides a thread's exact run time in proportion to the timer ticks in user mode. So the sum with `system`
    /// is exact, and the division is a sample (to about one hundredth after some seconds).
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
    /// Ready to run while another thread had the CPU: `run_delay` of `/proc/thread-self/schedstat`
    /// (Documentation/scheduler/sched-stats.rst). Zero where the kernel was built without it.
    pub run_delay: Nanos,
}

impl CpuTimes {
    /// Of the calling thread, until now.
    pub fn now() -> Self {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("getrusage of the calling thread cannot fail");
        let nanos = |t: nix::sys::time::TimeVal| Nanos(t.num_nanoseconds().cast_unsigned());
        let run_delay = Schedstat::from_file("/proc/thread-self/schedstat").map_or(0, |stat| stat.run_delay);
        Self {
            user: nanos(usage.user_time()),
            system: nanos(usage.system_time()),
            run_delay: Nanos(run_delay),
        }
    }
}

impl Sub for CpuTimes {
    type Output = Self;

    /// From `earlier` to this reading; a time that went backwards is zero.
    fn sub(self, earlier: Self) -> Self {
        Self {
            user: self.user.since(earlier.user),
            system: self.system.since(earlier.system),
            run_delay: self.run_delay.since(earlier.run_delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    /// Keeps the calling thread busy until it has used this much CPU time; returns its times.
    fn work(cpu: Nanos) -> CpuTimes {
        let begin = CpuTimes::now();
        loop {
            let spent = CpuTimes::now() - begin;
            if spent.user.0 + spent.system.0 >= cpu.0 {
                return spent;
            }
        }
    }

    #[test]
    fn two_threads_on_one_cpu_wait_for_each_other() {
        let allowed = sched_getaffinity(None).expect("every thread has CPUs");
        let mut only = CpuSet::new();
        only.set((0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).expect("one at least"));
        let both: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(move || {
                    sched_setaffinity(None, &only).expect("an allowed CPU");
                    work(Nanos(200_000_000))
                })
            })
            .collect();
        let waited: u64 = both.into_iter().map(|thread| thread.join().expect("it works").run_delay.0).sum();
        // While one thread runs, the other waits, whatever else runs on this CPU.
        assert!(waited > 50_000_000, "{waited} ns");
    }
}
