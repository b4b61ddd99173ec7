//! A worker's recording: the interval that is being filled, when it is over, and the worker's CPU time.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::clock::Nanos;
use crate::record::Interval;

use super::message::FromWorker;

/// User and system CPU time of this thread.
///
/// The kernel splits a thread's exact run time in proportion to the timer ticks that found it in user mode,
/// so the sum is exact and the split is a sample (a hundredth or so after some seconds).
fn thread_cpu() -> (Nanos, Nanos) {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("getrusage of the calling thread cannot fail");
    let nanos = |t: nix::sys::time::TimeVal| Nanos(t.num_nanoseconds().cast_unsigned());
    (nanos(usage.user_time()), nanos(usage.system_time()))
}

/// Fills one interval after the other and hands each on when it is over.
#[derive(Debug)]
pub(super) struct Meter {
    /// What is being filled.
    pub now: Box<Interval>,
    worker: u32,
    length: Duration,
    /// Index of the interval: negative during the warm-up.
    index: i64,
    end: Nanos,
    /// Nothing is cut from here on: operations that outlast the run belong to its last interval.
    last_end: Nanos,
    begun: Nanos,
    cpu: (Nanos, Nanos),
    to_collector: Sender<FromWorker>,
    cleared: Receiver<Box<Interval>>,
}

impl Meter {
    /// A meter that fills the first interval from now on, whenever the run begins.
    pub fn new(
        first: Box<Interval>,
        worker: u32,
        to_collector: Sender<FromWorker>,
        cleared: Receiver<Box<Interval>>,
    ) -> Self {
        Self {
            now: first,
            worker,
            length: Duration::MAX,
            index: 0,
            end: Nanos::NEVER,
            last_end: Nanos::NEVER,
            begun: Nanos::now(),
            cpu: thread_cpu(),
            to_collector,
            cleared,
        }
    }

    /// Intervals of `length`, aligned to `measured_from`, until `last_end`; CPU time counts from now.
    pub fn start(&mut self, begin: Nanos, measured_from: Nanos, length: Duration, last_end: Nanos) {
        self.length = length;
        let warmup_intervals = measured_from.since(begin).0.div_ceil(Nanos::from(length).0);
        self.index = -(warmup_intervals.cast_signed());
        let lead = Nanos(Nanos::from(length).0 * warmup_intervals.saturating_sub(1));
        self.end =
            if warmup_intervals == 0 { measured_from.after(length) } else { Nanos(measured_from.0 - lead.0) };
        self.last_end = last_end;
        self.begun = begin;
        self.cpu = thread_cpu();
    }

    /// When the interval is over.
    pub fn end(&self) -> Nanos {
        if self.end >= self.last_end { Nanos::NEVER } else { self.end }
    }

    /// The run ends earlier than was planned.
    pub fn stop(&mut self, at: Nanos) {
        self.last_end = self.last_end.min(at);
    }

    /// Hands on every interval that is over by `now`.
    pub fn roll(&mut self, now: Nanos, due: u64, spun: Nanos) {
        self.account(now, due, spun);
        while now >= self.end() {
            let fresh = self.cleared.try_recv().unwrap_or_else(|_| {
                Box::new(Interval::new(self.now.operations.len(), self.now.tallies.len()))
            });
            let stats = std::mem::replace(&mut self.now, fresh);
            self.now.connections.open_peak = stats.connections.open_peak;
            self.hand_on(stats);
            self.index += 1;
            self.end = self.end.after(self.length);
        }
    }

    /// Hands on the last interval.
    pub fn finish(mut self, now: Nanos, due: u64, spun: Nanos) {
        self.account(now, due, spun);
        let last = std::mem::replace(&mut self.now, Box::new(Interval::new(0, 0)));
        self.hand_on(last);
    }

    fn account(&mut self, now: Nanos, due: u64, spun: Nanos) {
        let cpu = thread_cpu();
        let client = &mut self.now.client;
        client.due += due;
        client.spin_ns += spun.0;
        client.user_cpu_ns += cpu.0.since(self.cpu.0).0;
        client.system_cpu_ns += cpu.1.since(self.cpu.1).0;
        client.wall_ns += now.since(self.begun).0;
        (self.begun, self.cpu) = (now, cpu);
    }

    fn hand_on(&self, stats: Box<Interval>) {
        // A collector that is gone has no more use for intervals; the run is being torn down.
        let _ =
            self.to_collector.send(FromWorker::Interval { worker: self.worker, index: self.index, stats });
    }
}
