//! Puts the workers' intervals together: one merged interval for each interval, and the total of a run.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::record::{DRAIN, Errors, Interval, PackedInterval};
use crate::worker::FromWorker;

/// One interval of a run, all workers merged.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedInterval {
    /// Negative during the warm-up; 0 begins where measuring begins; [`DRAIN`] is what ended after the end.
    pub index: i64,
    /// What was recorded, packed.
    pub stats: PackedInterval,
}

/// What is known of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    ready: bool,
    done: bool,
    /// The latest interval it has handed on.
    latest: i64,
}

/// An interval that some workers have told their part of.
struct Part {
    /// Whose memory it is.
    worker: u32,
    stats: Box<Interval>,
}

/// An interval that every worker has told its part of.
pub(crate) struct Complete {
    /// Whose memory it is: it can be filled again.
    pub worker: u32,
    pub index: i64,
    pub stats: Box<Interval>,
}

/// Gathers the messages of a fixed number of workers.
pub(crate) struct Collector {
    workers: Vec<Standing>,
    open: BTreeMap<i64, Part>,
    /// Connections that are open before the start, over all workers.
    pub opened: u32,
    /// Why the others are not.
    pub setup_errors: Errors,
    /// Everything that was measured, the drain included.
    pub total: Interval,
    /// The part of it that ended after the end.
    pub drain: Interval,
    /// All intervals, the warm-up's included.
    pub intervals: Vec<TimedInterval>,
    /// When the last worker stopped to begin operations.
    pub stopped: Nanos,
    /// When the last operation had ended.
    pub ended: Nanos,
    /// What ended a worker before its time.
    pub failure: Option<String>,
}

impl Collector {
    pub fn new(workers: u32, operations: usize, counters: usize) -> Self {
        let standing = Standing { ready: false, done: false, latest: i64::MIN };
        Self {
            workers: vec![standing; workers as usize],
            open: BTreeMap::new(),
            opened: 0,
            setup_errors: Errors::default(),
            total: Interval::new(operations, counters),
            drain: Interval::new(operations, counters),
            intervals: Vec::new(),
            stopped: Nanos(0),
            ended: Nanos(0),
            failure: None,
        }
    }

    /// Takes one message. Returns an interval that may be filled again, and by whom.
    pub fn take(&mut self, message: FromWorker) -> Option<(u32, Box<Interval>)> {
        match message {
            FromWorker::Ready { worker, open, errors } => {
                self.workers[worker as usize].ready = true;
                self.opened += open;
                self.setup_errors.merge(&errors);
            }
            FromWorker::Interval { worker, index, stats } => {
                self.workers[worker as usize].latest = index;
                match self.open.get_mut(&index) {
                    Some(part) => {
                        part.stats.merge(&stats);
                        return Some((worker, stats));
                    }
                    None => {
                        self.open.insert(index, Part { worker, stats });
                    }
                }
            }
            FromWorker::Done { worker, stopped, ended, failure } => {
                self.workers[worker as usize].done = true;
                self.stopped = self.stopped.max(stopped);
                self.ended = self.ended.max(ended);
                self.failure = self.failure.take().or(failure);
            }
        }
        None
    }

    /// Are all workers ready?
    pub fn all_ready(&self) -> bool {
        self.workers.iter().all(|worker| worker.ready)
    }

    /// Have all workers ended?
    pub fn all_done(&self) -> bool {
        self.workers.iter().all(|worker| worker.done)
    }

    /// The earliest interval that no worker has anything to add to, if there is one.
    pub fn next_complete(&mut self) -> Option<Complete> {
        let of = |worker: &Standing| if worker.done { i64::MAX } else { worker.latest };
        let told_by_all = self.workers.iter().map(of).min().unwrap_or(i64::MAX);
        let index = *self.open.keys().next().filter(|index| **index <= told_by_all)?;
        let Part { worker, stats } = self.open.remove(&index)?;
        self.add(index, &stats);
        Some(Complete { worker, index, stats })
    }

    fn add(&mut self, index: i64, stats: &Interval) {
        if index >= 0 {
            self.total.append(stats);
        } else {
            // Connections are opened before anything is measured, and still belong to the run.
            let mut connections = Interval::new(stats.operations.len(), stats.counters.len());
            connections.connections = stats.connections.clone();
            connections.connections.errors = Errors::default();
            self.total.append(&connections);
        }
        if index == DRAIN {
            self.drain.append(stats);
        }
        self.intervals.push(TimedInterval { index, stats: PackedInterval::pack(stats) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record;

    fn interval(worker: u32, index: i64, us: u32) -> FromWorker {
        let mut stats = Box::new(Interval::new(1, 0));
        record(&mut stats.operations[0].response_time, us);
        FromWorker::Interval { worker, index, stats }
    }

    fn done(worker: u32, at: u64, failure: Option<&str>) -> FromWorker {
        let failure = failure.map(str::to_owned);
        FromWorker::Done { worker, stopped: Nanos(at), ended: Nanos(at + 5), failure }
    }

    /// Takes messages; tells which intervals they completed.
    fn completed(collector: &mut Collector, messages: impl IntoIterator<Item = FromWorker>) -> Vec<i64> {
        for message in messages {
            collector.take(message);
        }
        std::iter::from_fn(|| collector.next_complete()).map(|complete| complete.index).collect()
    }

    #[test]
    fn an_interval_is_complete_when_every_worker_has_told_its_part() {
        let mut collector = Collector::new(2, 1, 0);
        assert_eq!(completed(&mut collector, [interval(0, -1, 5), interval(0, 0, 7)]), [0_i64; 0]);
        assert_eq!(completed(&mut collector, [interval(1, -1, 5), interval(1, 0, 9)]), [-1, 0]);
        assert_eq!(collector.total.succeeded(), 2, "the warm-up is not measured");
        assert_eq!(collector.intervals.len(), 2);
    }

    #[test]
    fn a_worker_that_has_ended_holds_up_no_interval() {
        let mut collector = Collector::new(2, 1, 0);
        assert_eq!(completed(&mut collector, [interval(0, 0, 7), done(0, 1, None)]), [0_i64; 0]);
        assert_eq!(completed(&mut collector, [interval(1, 0, 7)]), [0]);
        assert_eq!(completed(&mut collector, [interval(1, 1, 7)]), [1]);
        assert!(!collector.all_done());
        assert_eq!(completed(&mut collector, [interval(1, DRAIN, 7), done(1, 2, None)]), [DRAIN]);
        assert!(collector.all_done());
        assert_eq!((collector.total.succeeded(), collector.drain.succeeded()), (4, 1));
        assert_eq!((collector.stopped, collector.ended), (Nanos(2), Nanos(7)));
    }

    #[test]
    fn the_first_failure_is_kept() {
        let mut collector = Collector::new(3, 1, 0);
        completed(&mut collector, [done(0, 1, None), done(1, 1, Some("killed")), done(2, 1, Some("later"))]);
        assert_eq!(collector.failure.as_deref(), Some("killed"));
    }
}
