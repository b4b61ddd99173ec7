//! Merges the workers' intervals: one interval of all workers for each stretch of time, and the total of a run.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::record::{CompactInterval, DRAIN, Interval, SingleOperation};
use crate::worker::{WorkerFailure, WorkerMessage};

/// How far a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WorkerProgress {
    done: bool,
    /// The last interval that it sent.
    latest: i64,
}

/// An interval that some workers have not sent yet.
struct OpenInterval {
    /// Whose memory it is.
    worker: u32,
    stats: Box<Interval>,
}

/// An interval that all workers have sent.
pub(crate) struct CompleteInterval {
    /// Whose memory it is: this worker can fill it again.
    pub worker: u32,
    pub index: i64,
    pub stats: Box<Interval>,
}

/// Takes the messages of a fixed number of workers.
pub(crate) struct Collector {
    workers: Vec<WorkerProgress>,
    open: BTreeMap<i64, OpenInterval>,
    /// Everything that was measured, the drain included.
    pub total: Interval,
    /// The part of it that ended after the end.
    pub drain: Interval,
    /// All intervals with their indices: negative during the warm-up; 0 begins where measuring begins; [`DRAIN`] contains
    /// what ended after the end.
    pub intervals: Vec<(i64, CompactInterval)>,
    /// Single operations of all workers.
    pub singles: Vec<SingleOperation>,
    /// When the last worker stopped to begin operations.
    pub stopped: Nanos,
    /// When the last operation had ended.
    pub ended: Nanos,
    /// The first failure of a worker.
    pub failure: Option<WorkerFailure>,
}

impl Collector {
    pub fn new(workers: u32, operations: usize, counters: usize) -> Self {
        let waiting = WorkerProgress { done: false, latest: i64::MIN };
        Self {
            workers: vec![waiting; workers as usize],
            open: BTreeMap::new(),
            total: Interval::new(operations, counters),
            drain: Interval::new(operations, counters),
            intervals: Vec::new(),
            singles: Vec::new(),
            stopped: Nanos(0),
            ended: Nanos(0),
            failure: None,
        }
    }

    /// Takes one message. Returns an interval that can be filled again, and by which worker.
    pub fn take(&mut self, message: WorkerMessage) -> Option<(u32, Box<Interval>)> {
        match message {
            // The session has taken the reports of readiness.
            WorkerMessage::Ready { .. } => {}
            WorkerMessage::Interval { worker, index, stats } => {
                self.workers[worker as usize].latest = index;
                match self.open.get_mut(&index) {
                    Some(open) => {
                        open.stats.merge(&*stats);
                        return Some((worker, stats));
                    }
                    None => {
                        self.open.insert(index, OpenInterval { worker, stats });
                    }
                }
            }
            WorkerMessage::Singles { operations, .. } => self.singles.extend(operations),
            // What becomes of a worker after its part does not concern the part: an interrupted process ends.
            WorkerMessage::Done { worker, .. } if self.workers[worker as usize].done => {}
            WorkerMessage::Done { worker, stopped, ended, failure } => {
                self.workers[worker as usize].done = true;
                self.stopped = self.stopped.max(stopped);
                self.ended = self.ended.max(ended);
                self.failure = self.failure.take().or(failure);
            }
        }
        None
    }

    /// The workers that have not ended, by their places.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> {
        let places = self.workers.iter().zip(0..);
        places.filter_map(|(worker, place)| (!worker.done).then_some(place))
    }

    /// Have all workers ended?
    pub fn all_done(&self) -> bool {
        self.workers.iter().all(|worker| worker.done)
    }

    /// The earliest interval that every worker has sent or passed, if there is one.
    pub fn next_complete(&mut self) -> Option<CompleteInterval> {
        let latest = |worker: &WorkerProgress| if worker.done { i64::MAX } else { worker.latest };
        let sent_by_all = self.workers.iter().map(latest).min().unwrap_or(i64::MAX);
        let index = *self.open.keys().next().filter(|index| **index <= sent_by_all)?;
        let OpenInterval { worker, stats } = self.open.remove(&index)?;
        self.add(index, &stats);
        Some(CompleteInterval { worker, index, stats })
    }

    fn add(&mut self, index: i64, stats: &Interval) {
        if index >= 0 {
            self.total.append(stats);
        }
        if index == DRAIN {
            self.drain.append(stats);
        }
        self.intervals.push((index, stats.compact()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record;

    fn interval(worker: u32, index: i64, us: u32) -> WorkerMessage {
        let mut stats = Box::new(Interval::new(1, 0));
        record(&mut stats.operations[0].response_time, us);
        WorkerMessage::Interval { worker, index, stats }
    }

    fn done(worker: u32, at: u64, failure: Option<WorkerFailure>) -> WorkerMessage {
        WorkerMessage::Done { worker, stopped: Nanos(at), ended: Nanos(at + 5), failure }
    }

    /// Takes messages; returns the indices of the intervals that they completed.
    fn completed(collector: &mut Collector, messages: impl IntoIterator<Item = WorkerMessage>) -> Vec<i64> {
        for message in messages {
            collector.take(message);
        }
        std::iter::from_fn(|| collector.next_complete()).map(|complete| complete.index).collect()
    }

    #[test]
    fn an_interval_is_complete_when_every_worker_has_sent_it() {
        let mut collector = Collector::new(2, 1, 0);
        assert_eq!(completed(&mut collector, [interval(0, -1, 5), interval(0, 0, 7)]), [0_i64; 0]);
        assert_eq!(completed(&mut collector, [interval(1, -1, 5), interval(1, 0, 9)]), [-1, 0]);
        assert_eq!(collector.total.succeeded(), 2, "the warm-up is not measured");
        assert_eq!(collector.intervals.len(), 2);
    }

    #[test]
    fn a_process_that_ends_after_its_part_is_no_failure() {
        let mut collector = Collector::new(2, 1, 0);
        let gone = Some(WorkerFailure::ProcessEnded);
        completed(&mut collector, [done(0, 5, None), done(0, 9, gone.clone()), done(1, 6, None)]);
        assert!(collector.all_done() && collector.failure.is_none());
        let mut early = Collector::new(2, 1, 0);
        completed(&mut early, [done(0, 5, gone.clone())]);
        assert_eq!(early.failure, gone);
    }

    #[test]
    fn a_worker_that_ends_completes_its_intervals() {
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
        let (first, second) = (WorkerFailure::Panicked, WorkerFailure::ProcessEnded);
        completed(&mut collector, [done(0, 1, None), done(1, 1, Some(first)), done(2, 1, Some(second))]);
        assert_eq!(collector.failure, Some(WorkerFailure::Panicked));
    }
}
