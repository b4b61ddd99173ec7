//! Puts the workers' intervals together: one merged slice for each interval, and the total of a run.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::record::{Errors, Interval, PackedInterval};
use crate::worker::FromWorker;

/// One interval of a run, all workers merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Negative during the warm-up; 0 begins where measuring begins.
    pub index: i64,
    /// What was recorded, packed.
    pub stats: PackedInterval,
}

/// What a message brought about.
pub(crate) enum Progress {
    /// Nothing to tell yet.
    Nothing,
    /// All workers are ready.
    AllReady,
    /// An interval is complete: its index and contents.
    Complete(i64, Box<Interval>),
    /// All workers have ended.
    AllDone,
}

/// Gathers the messages of a fixed number of workers.
pub(crate) struct Collector {
    workers: u32,
    ready: u32,
    done: u32,
    open: BTreeMap<i64, (u32, Box<Interval>)>,
    /// Connections that are open before the start, over all workers.
    pub opened: u32,
    /// Why the others are not.
    pub setup_errors: Errors,
    /// Everything that was measured.
    pub total: Interval,
    /// All intervals, the warm-up's included.
    pub slices: Vec<Slice>,
    /// When the last worker ended.
    pub ended: Nanos,
    /// What ended a worker before its time.
    pub failure: Option<String>,
}

impl Collector {
    pub fn new(workers: u32, operations: usize, tallies: usize) -> Self {
        Self {
            workers,
            ready: 0,
            done: 0,
            open: BTreeMap::new(),
            opened: 0,
            setup_errors: Errors::default(),
            total: Interval::new(operations, tallies),
            slices: Vec::new(),
            ended: Nanos(0),
            failure: None,
        }
    }

    /// Takes one message. Returns what it brought about and an interval that may be filled again.
    pub fn take(&mut self, message: FromWorker) -> (Progress, Option<(u32, Box<Interval>)>) {
        match message {
            FromWorker::Ready { open, errors, .. } => {
                self.ready += 1;
                self.opened += open;
                self.setup_errors.merge(&errors);
                let all = self.ready == self.workers;
                (if all { Progress::AllReady } else { Progress::Nothing }, None)
            }
            FromWorker::Interval { worker, index, stats } => {
                let (count, spare) = match self.open.get_mut(&index) {
                    Some((count, merged)) => {
                        merged.merge(&stats);
                        *count += 1;
                        (*count, Some((worker, stats)))
                    }
                    None => {
                        self.open.insert(index, (1, stats));
                        (1, None)
                    }
                };
                let progress = if count == self.workers { self.complete(index) } else { Progress::Nothing };
                (progress, spare)
            }
            FromWorker::Done { at, failure, .. } => {
                self.done += 1;
                self.ended = self.ended.max(at);
                self.failure = self.failure.take().or(failure);
                (if self.done == self.workers { Progress::AllDone } else { Progress::Nothing }, None)
            }
        }
    }

    /// Intervals that not all workers reached: those of a run that some ended earlier than others.
    pub fn complete_rest(&mut self) {
        while let Some(&index) = self.open.keys().next() {
            self.complete(index);
        }
    }

    fn complete(&mut self, index: i64) -> Progress {
        let (_, stats) = self.open.remove(&index).expect("only open intervals are completed");
        if index >= 0 {
            self.total.append(&stats);
        } else {
            // Connections are opened before anything is measured, and still belong to the run.
            let mut connections = Interval::new(stats.operations.len(), stats.tallies.len());
            connections.connections = stats.connections.clone();
            connections.connections.errors = Errors::default();
            self.total.append(&connections);
        }
        self.slices.push(Slice { index, stats: PackedInterval::pack(&stats) });
        Progress::Complete(index, stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record;

    fn interval(worker: u32, index: i64, us: u64) -> FromWorker {
        let mut stats = Box::new(Interval::new(1, 0));
        record(&mut stats.operations[0].response, Nanos(us * 1_000));
        FromWorker::Interval { worker, index, stats }
    }

    #[test]
    fn an_interval_is_complete_when_every_worker_has_told_its_part() {
        let mut collector = Collector::new(2, 1, 0);
        assert!(matches!(collector.take(interval(0, -1, 5)).0, Progress::Nothing));
        assert!(matches!(collector.take(interval(0, 0, 7)).0, Progress::Nothing));
        assert!(matches!(collector.take(interval(1, -1, 5)).0, Progress::Complete(-1, _)));
        assert!(matches!(collector.take(interval(1, 0, 9)).0, Progress::Complete(0, _)));
        assert_eq!(collector.total.succeeded(), 2, "the warm-up is not measured");
        assert_eq!(collector.slices.len(), 2);
    }

    #[test]
    fn a_run_is_over_when_every_worker_has_ended() {
        let mut collector = Collector::new(2, 1, 0);
        collector.take(interval(0, 0, 7));
        let done = |worker| FromWorker::Done { worker, at: Nanos(u64::from(worker)), failure: None };
        assert!(matches!(collector.take(done(0)).0, Progress::Nothing));
        assert!(matches!(collector.take(done(1)).0, Progress::AllDone));
        collector.complete_rest();
        assert_eq!((collector.total.succeeded(), collector.ended), (1, Nanos(1)));
    }
}
