//! A worker's recorder: the interval that is being filled, when it is over, and the worker's CPU time.
//!
//! An operation belongs to the interval in which it ends. Distributions contain what was *due* in the measured time;
//! throughput counts what *ended* in it. So an operation that was due during the warm-up and ends after it is counted and
//! not timed. What ends after the run is in a separate interval, the drain.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use super::cpu::CpuTimes;
use super::message::WorkerMessage;
use super::wall_clock::Arrival;
use crate::clock::Nanos;
use crate::driver::OperationId;
use crate::record::{DRAIN, Interval, OPENING, micros_of, record};

/// Operations that are kept before they are added to the histograms. After a system call, the histograms and their code are
/// not in the CPU's caches; one by one, that would cost eight cache misses an operation, and a batch loads them once. A batch
/// takes one or two microseconds, and the schedule waits for as long.
const BATCH: usize = 64;

/// An operation that succeeded, in three parts: until it was sent, until the kernel had received its reply, and until the
/// client had read that.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedOperation {
    pub operation: OperationId,
    /// When it should have begun.
    pub intended_start: Nanos,
    /// The set-up of its connection, where that belongs to it and was over before it was due.
    pub set_up: Nanos,
    /// From here on only the client could be late: it was due, and its connection was free.
    pub ready: Nanos,
    pub sent: Nanos,
    /// The first byte of the reply.
    pub first_byte: Nanos,
    /// For how long earlier replies lay unread, where the operation has several.
    pub unread_before: Nanos,
    /// The last byte.
    pub arrival: Arrival,
}

/// Fills one interval after the other and sends each to the collector when it is over.
#[derive(Debug)]
pub(super) struct Meter {
    /// The interval that is being filled.
    pub stats: Box<Interval>,
    /// Operations that are not in its histograms yet.
    batch: Vec<EndedOperation>,
    worker: u32,
    length: Duration,
    index: i64,
    end: Nanos,
    /// The end of the last interval but the drain.
    last_end: Nanos,
    /// Operations that were due before this are not timed.
    timed_from: Nanos,
    /// Operations that are due from here on are timed, once measuring has begun.
    due_from: Nanos,
    /// When CPU time was last added to an interval, and its value then.
    since: Nanos,
    cpu: CpuTimes,
    to_collector: Sender<WorkerMessage>,
    cleared: Receiver<Box<Interval>>,
}

impl Meter {
    /// A meter that fills the interval of opening connections from now on.
    pub fn new(
        first: Box<Interval>,
        worker: u32,
        to_collector: Sender<WorkerMessage>,
        cleared: Receiver<Box<Interval>>,
    ) -> Self {
        Self {
            stats: first,
            batch: Vec::with_capacity(BATCH),
            worker,
            length: Duration::MAX,
            index: OPENING,
            end: Nanos::NEVER,
            last_end: Nanos::NEVER,
            timed_from: Nanos(0),
            due_from: Nanos(0),
            since: Nanos::now(),
            cpu: CpuTimes::now(),
            to_collector,
            cleared,
        }
    }

    /// The connections are open.
    pub fn opened(&mut self) {
        self.send_stats();
    }

    /// Intervals of `length`, aligned to `measured_from`, until `last_end`; CPU time counts from `begin`. What was due before
    /// `due_from` is not timed.
    pub fn start(
        &mut self,
        begin: Nanos,
        (measured_from, due_from): (Nanos, Nanos),
        length: Duration,
        last_end: Nanos,
    ) {
        let warmup_intervals = measured_from.since(begin).0.div_ceil(Nanos::from(length).0);
        self.length = length;
        self.index = -(warmup_intervals.cast_signed());
        let to_first_end = Nanos::from(length).0 * warmup_intervals.saturating_sub(1);
        let first_end = match warmup_intervals {
            0 => measured_from.after(length),
            _ => Nanos(measured_from.0 - to_first_end),
        };
        self.last_end = last_end;
        self.end = first_end.min(last_end);
        self.due_from = due_from;
        self.since = begin;
        self.cpu = CpuTimes::now();
    }

    /// When the interval is over.
    #[inline]
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// The run ends earlier than planned.
    pub fn stop(&mut self, at: Nanos) {
        self.last_end = self.last_end.min(at);
        self.end = self.end.min(at);
    }

    /// An operation succeeded.
    #[inline]
    pub fn succeeded(&mut self, ended: EndedOperation) {
        if ended.intended_start < self.timed_from {
            self.stats.operations[ended.operation as usize].carried += 1;
            return;
        }
        self.batch.push(ended);
        if self.batch.len() == BATCH {
            self.add_batch();
        }
    }

    /// An operation failed that was sent this late because of the client.
    pub fn failed(&mut self, intended_start: Nanos, lag: Nanos) {
        if intended_start >= self.timed_from {
            record(&mut self.stats.client.lag, micros_of(lag));
        }
    }

    /// An operation was given up at `now` without an answer: its response time is at least that.
    pub fn gave_up(&mut self, operation: Option<OperationId>, intended_start: Nanos, now: Nanos) {
        if intended_start >= self.timed_from {
            let Interval { operations, connections, .. } = &mut *self.stats;
            let of_operation = operation.map(|operation| &mut operations[usize::from(operation)].unanswered);
            record(of_operation.unwrap_or(&mut connections.unanswered), micros_of(now.since(intended_start)));
        }
    }

    /// Adds the batch to the histograms.
    #[inline(never)]
    fn add_batch(&mut self) {
        let Interval { operations, client, connections, .. } = &mut *self.stats;
        for ended in self.batch.drain(..) {
            let EndedOperation {
                intended_start,
                set_up,
                ready,
                sent,
                first_byte,
                unread_before,
                arrival,
                ..
            } = ended;
            let operation = &mut operations[ended.operation as usize];
            let (wait, lag) = (Nanos(set_up.0 + ready.since(intended_start).0), sent.since(ready));
            let service = arrival.received.since(sent).since(unread_before);
            let unread = Nanos(unread_before.0 + arrival.unread.0);
            record(&mut operation.response_time, micros_of(Nanos(wait.0 + lag.0 + service.0)));
            record(&mut operation.server_time, micros_of(Nanos(wait.0 + service.0)));
            record(&mut operation.service_time, micros_of(service));
            record(&mut operation.first_byte, micros_of(first_byte.since(sent)));
            record(&mut client.lag, micros_of(lag));
            record(&mut client.pickup, micros_of(unread));
            record(&mut client.delay, micros_of(Nanos(lag.0 + unread.0)));
            client.unstamped += u64::from(!arrival.is_stamped);
            if micros_of(wait) > 0 {
                record(&mut connections.wait, micros_of(wait));
            }
        }
    }

    /// This many connections are open.
    pub fn note_open(&mut self, open: u32) {
        let peak = &mut self.stats.connections.open_peak;
        *peak = (*peak).max(u64::from(open));
    }

    /// Sends every interval that is over by `now`; `open` connections are open.
    pub fn roll(&mut self, now: Nanos, offered: u64, spun: Nanos, open: u32) {
        self.account(now, offered, spun);
        while now >= self.end {
            self.send_stats();
            self.note_open(open);
            if self.end >= self.last_end {
                (self.index, self.end) = (DRAIN, Nanos::NEVER);
            } else {
                self.index += 1;
                self.end = self.end.after(self.length).min(self.last_end);
            }
            if self.index >= 0 {
                self.timed_from = self.due_from;
            }
        }
    }

    /// Sends the last interval. What happens from now on belongs to the next start.
    pub fn finish(&mut self, now: Nanos, offered: u64, spun: Nanos, open: u32) {
        self.roll(now, offered, spun, open);
        self.send_stats();
        self.note_open(open);
        self.end = Nanos::NEVER;
        self.timed_from = Nanos(0);
    }

    fn account(&mut self, now: Nanos, offered: u64, spun: Nanos) {
        let cpu = CpuTimes::now();
        let client = &mut self.stats.client;
        client.offered += offered;
        client.spin_ns += spun.0;
        let taken = cpu - self.cpu;
        client.user_cpu_ns += taken.user.0;
        client.system_cpu_ns += taken.system.0;
        client.run_delay_ns += taken.run_delay.0;
        client.wall_ns += now.since(self.since).0;
        (self.since, self.cpu) = (now, cpu);
    }

    /// Sends the interval that is being filled, and begins an empty one.
    fn send_stats(&mut self) {
        self.add_batch();
        let fresh = self.cleared.try_recv().unwrap_or_else(|_| {
            Box::new(Interval::new(self.stats.operations.len(), self.stats.counters.len()))
        });
        let stats = std::mem::replace(&mut self.stats, fresh);
        // If the collector is gone, the run is over.
        let _ =
            self.to_collector.send(WorkerMessage::Interval { worker: self.worker, index: self.index, stats });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use proptest::prelude::*;

    use super::*;
    use crate::record::Micros;

    const MS: u64 = 1_000_000;

    /// Index, timed operations and operations that were only counted, of each interval that was sent.
    type SentIntervals = Vec<(i64, u64, u64)>;

    /// Runs a meter over operations with their due times and ends (ms), in the order of their ends.
    fn run(warmup_ms: u64, length_ms: u64, end_ms: Option<u64>, operations: &[(u64, u64)]) -> SentIntervals {
        let (to_collector, messages) = mpsc::channel();
        let (_, cleared) = mpsc::channel();
        let mut meter = Meter::new(Box::new(Interval::new(1, 0)), 0, to_collector, cleared);
        let last_end = end_ms.map_or(Nanos::NEVER, |end| Nanos(end * MS));
        let from = (Nanos(warmup_ms * MS), Nanos(warmup_ms * MS));
        meter.start(Nanos(0), from, Duration::from_millis(length_ms), last_end);
        let mut now = Nanos(0);
        for &(intended_start, ended) in operations {
            now = Nanos(ended * MS);
            if now >= meter.end() {
                meter.roll(now, 0, Nanos(0), 0);
            }
            meter.succeeded(EndedOperation {
                operation: 0,
                intended_start: Nanos(intended_start * MS),
                set_up: Nanos(0),
                ready: Nanos(intended_start * MS),
                sent: Nanos(intended_start * MS),
                first_byte: now,
                unread_before: Nanos(0),
                arrival: Arrival { received: now, unread: Nanos(0), is_stamped: true },
            });
        }
        meter.finish(now, 0, Nanos(0), 0);
        drop(meter);
        messages
            .iter()
            .map(|message| match message {
                WorkerMessage::Interval { index, stats, .. } => {
                    (index, stats.operations[0].response_time.len(), stats.operations[0].carried)
                }
                other => unreachable!("a meter sends only intervals: {other:?}"),
            })
            .collect()
    }

    #[test]
    fn an_operation_is_recorded_in_three_parts() {
        let (to_collector, messages) = mpsc::channel();
        let (_, cleared) = mpsc::channel();
        let mut meter = Meter::new(Box::new(Interval::new(1, 0)), 0, to_collector, cleared);
        let us = |us: u64| Nanos(us * 1_000);
        // It waited for a connection for 100 µs, and the client was 10 µs late. The server needed 500 µs for two replies, which
        // lay unread for 25 and 35 µs.
        meter.succeeded(EndedOperation {
            operation: 0,
            intended_start: us(1_000),
            set_up: us(0),
            ready: us(1_100),
            sent: us(1_110),
            first_byte: us(1_300),
            unread_before: us(25),
            arrival: Arrival { received: us(1_635), unread: us(35), is_stamped: true },
        });
        meter.failed(us(1_000), us(7));
        meter.gave_up(Some(0), us(1_000), us(9_000));
        meter.gave_up(None, us(1_000), us(5_000));
        meter.finish(us(2_000), 0, Nanos(0), 0);
        let Ok(WorkerMessage::Interval { stats, .. }) = messages.try_recv() else { panic!("an interval") };
        let (op, client) = (&stats.operations[0], &stats.client);
        let values = [&op.response_time, &op.server_time, &op.service_time, &op.first_byte];
        assert_eq!(values.map(Micros::max), [610, 600, 500, 190]);
        assert_eq!((stats.succeeded(), stats.response_times().len()), (1, 3));
        assert!(stats.response_times().equivalent(stats.response_times().max(), 8_000));
        assert_eq!(stats.gave_up_from_us(), Some(4_000));
        assert_eq!((client.lag.len(), client.lag.max(), client.pickup.max()), (2, 10, 60));
        assert_eq!((client.delay.max(), stats.connections.wait.max(), client.unstamped), (70, 100, 0));
    }

    #[test]
    fn intervals_are_aligned_to_the_beginning_of_measuring() {
        // Warm-up 0–250, measured 250–600, intervals of 100; one operation every 50 ms.
        let operations: Vec<(u64, u64)> = (1..=13).map(|n| (n * 50 - 1, n * 50)).collect();
        let sent = run(250, 100, Some(600), &operations);
        let expected: SentIntervals = vec![
            (-3, 0, 0),
            (-2, 2, 0),
            (-1, 2, 0),
            (0, 1, 1),
            (1, 2, 0),
            (2, 2, 0),
            (3, 1, 0),
            (DRAIN, 2, 0),
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_run_shorter_than_an_interval_has_one_and_the_drain() {
        assert_eq!(run(0, 1_000, Some(300), &[(1, 2), (299, 305)]), [(0, 1, 0), (DRAIN, 1, 0)]);
    }

    #[test]
    fn a_run_without_an_end_has_no_drain() {
        assert_eq!(run(0, 100, None, &[(1, 2), (140, 150)]), [(0, 1, 0), (1, 1, 0)]);
    }

    proptest! {
        #[test]
        fn every_operation_is_in_one_interval_and_timed_if_due_after_the_warm_up(
            warmup in 0_u64..350,
            length in 1_u64..200,
            duration in 1_u64..500,
            mut operations in prop::collection::vec((0_u64..900, 0_u64..200), 0..60),
        ) {
            let end = warmup + duration;
            operations.retain(|(intended_start, _)| *intended_start < end);
            for (intended_start, took) in &mut operations {
                *took += *intended_start;
            }
            operations.sort_by_key(|(_, ended)| *ended);
            let sent = run(warmup, length, Some(end), &operations);
            let count = |pick: &dyn Fn(&(i64, u64, u64)) -> u64| sent.iter().map(pick).sum::<u64>();
            prop_assert_eq!(count(&|(_, timed, carried)| timed + carried), operations.len() as u64);
            let measured = |(index, timed, _): &(i64, u64, u64)| if *index >= 0 { *timed } else { 0 };
            let due_after = operations.iter().filter(|(intended_start, _)| *intended_start >= warmup).count() as u64;
            prop_assert_eq!(count(&measured), due_after);
            let drained = |(index, timed, carried): &(i64, u64, u64)| if *index == DRAIN { timed + carried } else { 0 };
            let ended_after = operations.iter().filter(|(_, ended)| *ended >= end).count() as u64;
            prop_assert_eq!(count(&drained), ended_after);
            prop_assert!(sent.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
