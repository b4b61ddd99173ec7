//! How long threads run, from switch to switch, by the clock of the kernel's perf subsystem.
//!
//! The scheduler's account of a thread's CPU time also has the time from its wake-up until it runs, see [`crate::frames`].

use std::time::Duration;

use perf_event_open::config::{Cpu, Inherit, Opts, Proc};
use perf_event_open::count::Counter;
use perf_event_open::event::sw::Software;

use crate::threads::read::threads_of;

/// A counter of each thread, with those that it starts.
pub(super) struct RunningTime(Vec<Counter>);

impl RunningTime {
    /// Begins to count. None if a thread cannot be counted: a sum of the others would be too small.
    pub(super) fn count(pids: &[u32], has_kernel: bool) -> Option<Self> {
        let mut options = Opts { inherit: Some(Inherit::NewChild), ..Opts::default() };
        options.exclude.kernel = !has_kernel;
        options.exclude.hv = !has_kernel;
        let mut counters = Vec::new();
        for tid in pids.iter().flat_map(|pid| threads_of(*pid)) {
            match Counter::new(Software::TaskClock, (Proc(tid), Cpu::ALL), &options) {
                Ok(counter) => counters.push(counter),
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                Err(_) => return None,
            }
        }
        counters.iter().try_for_each(Counter::enable).ok()?;
        Some(Self(counters))
    }

    /// The sum of all threads.
    pub(super) fn so_far(&self) -> Option<Duration> {
        let counts =
            self.0.iter().map(|counter| counter.stat().ok().map(|stat| Duration::from_nanos(stat.count)));
        counts.sum()
    }
}
