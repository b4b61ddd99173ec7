//! Whether the messages of a load process are those of its share: it may be on another machine, and what it sends is added up here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::inputs::worker_share::WorkerSet;
use crate::record::{CompactInterval, DRAIN, OPENING};
use crate::spec::{LoadPart, LoadSpec};
use crate::worker::WorkerMessage;

/// Intervals that a worker may be ahead of the clock here: clocks differ.
const AHEAD: i64 = 10;

/// Single operations in one message.
const MOST_SINGLES: usize = 100_000;

/// A count of one interval. Sums of them do not overflow.
const MOST_COUNT: u64 = 1 << 50;

/// Characters of an example of an error.
const LONGEST_EXAMPLE: usize = 16 << 10;

/// The part that the process makes now, for the thread that reads its messages.
#[derive(Debug)]
pub(super) struct OrderedPart(Mutex<Order>);

#[derive(Clone, Copy, Debug)]
struct Order {
    /// How many there were before.
    number: u32,
    since: Instant,
    interval: Duration,
    warmup: Duration,
}

impl OrderedPart {
    /// Before the first part.
    pub fn none(spec: &LoadSpec) -> Self {
        Self(Mutex::new(Order::of(0, &spec.part)))
    }

    /// This part is ordered.
    pub fn begin(&self, part: &LoadPart) {
        let mut order = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *order = Order::of(order.number + 1, part);
    }

    fn now(&self) -> Order {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Order {
    fn of(number: u32, part: &LoadPart) -> Self {
        Self { number, since: Instant::now(), interval: part.interval, warmup: part.warmup }
    }

    /// Whether a worker can have this interval after the last one that it has sent.
    fn has(&self, index: i64, last: Option<i64>, elapsed: Duration) -> bool {
        let intervals = |time: Duration| {
            time.div_duration_f64(self.interval.max(Duration::from_millis(1))).ceil() as i64 + AHEAD
        };
        let is_later = last.is_none_or(|last| index > last);
        is_later
            && match index {
                OPENING | DRAIN => true,
                index => self.number > 0 && index >= -intervals(self.warmup) && index <= intervals(elapsed),
            }
    }
}

/// Checks the messages of one process.
pub(super) struct MessageCheck {
    workers: WorkerSet,
    operations: usize,
    counters: usize,
    connections: u32,
    /// By worker: whether it was ready, and the number of the part and the last interval of it.
    seen: BTreeMap<u32, Seen>,
}

#[derive(Default)]
struct Seen {
    is_ready: bool,
    part: u32,
    interval: Option<i64>,
    singles: u32,
}

impl MessageCheck {
    /// For the share of a load that these workers make.
    pub fn new(spec: &LoadSpec, workers: WorkerSet) -> Self {
        let (operations, counters) =
            spec.protocol.names().map_or((0, 0), |(names, counters)| (names.len(), counters.len()));
        let connections = spec.connections;
        Self { workers, operations, counters, connections, seen: BTreeMap::new() }
    }

    /// What is wrong with a message, before it is merged with others.
    pub fn interval(&self, stats: &CompactInterval) -> Result<(), String> {
        if stats.operations.len() != self.operations || stats.counters.len() != self.counters {
            return Err("an interval of other operations".to_owned());
        }
        if stats.users.as_ref().is_some_and(|users| !users.is_of(self.operations)) {
            return Err("an interval of users of other operations".to_owned());
        }
        if stats.most_count() > MOST_COUNT || stats.longest_example() > LONGEST_EXAMPLE {
            return Err("an interval with a count or a text that is too large".to_owned());
        }
        Ok(())
    }

    /// What is wrong with the place of a message.
    pub fn check(&mut self, message: &WorkerMessage, ordered: &OrderedPart) -> Result<(), String> {
        let worker = message.worker();
        if !message.is_of(self.workers) {
            return Err(format!("worker {worker} is not its own"));
        }
        let order = ordered.now();
        let seen = self.seen.entry(worker).or_default();
        if seen.part != order.number {
            (seen.part, seen.interval, seen.singles) = (order.number, None, 0);
        }
        match message {
            WorkerMessage::Ready { open, .. } => {
                if std::mem::replace(&mut seen.is_ready, true) || *open > self.connections {
                    return Err(format!("worker {worker} is ready twice, or with too many connections"));
                }
            }
            WorkerMessage::Interval { index, .. } => {
                if !order.has(*index, seen.interval, order.since.elapsed()) {
                    return Err(format!("worker {worker} has no interval {index} now"));
                }
                seen.interval = Some(*index);
            }
            WorkerMessage::Singles { operations, .. } => {
                seen.singles += 1;
                let is_known = |operation: u32| (operation as usize) < self.operations;
                if seen.singles > 1
                    || operations.len() > MOST_SINGLES
                    || !operations.iter().all(|one| is_known(one.operation))
                {
                    return Err(format!("worker {worker} has other single operations"));
                }
            }
            WorkerMessage::Done { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;
    use crate::record::{Errors, Interval};

    fn interval(index: i64) -> WorkerMessage {
        WorkerMessage::Interval { worker: 0, index, stats: Box::new(Interval::new(1, 0)) }
    }

    fn ready(open: u32) -> WorkerMessage {
        WorkerMessage::Ready { worker: 0, open, errors: Errors::default() }
    }

    #[test]
    fn a_worker_is_ready_once_and_has_each_interval_once_when_it_can() {
        let spec = example::outcome().spec.with_interval(Duration::from_hours(1));
        let ordered = OrderedPart::none(&spec);
        let mut check = MessageCheck::new(&spec, WorkerSet::all(1));
        let mut refused =
            |message: &WorkerMessage, ordered: &OrderedPart| check.check(message, ordered).is_err();
        assert!(refused(&interval(0), &ordered), "no part has begun");
        assert!(!refused(&interval(OPENING), &ordered) && refused(&interval(OPENING), &ordered));
        assert!(!refused(&ready(1), &ordered) && refused(&ready(1), &ordered));
        for _ in 0..2 {
            ordered.begin(&spec.part);
            for (index, is_wrong) in
                [(0, false), (0, true), (-1, true), (1, false), (1_000, true), (DRAIN, false)]
            {
                assert_eq!(refused(&interval(index), &ordered), is_wrong, "{index}");
            }
        }
        let foreign = WorkerMessage::Ready { worker: 1, open: 1, errors: Errors::default() };
        assert!(refused(&foreign, &ordered));
        let mut other = MessageCheck::new(&spec, WorkerSet::all(1));
        assert!(other.check(&ready(u32::MAX), &ordered).is_err());
    }

    #[test]
    fn an_interval_has_the_operations_of_the_load_and_counts_that_can_be_added() {
        let spec = example::outcome().spec;
        let check = MessageCheck::new(&spec, WorkerSet::all(1));
        let (operations, counters) = (check.operations, check.counters);
        let good = Interval::new(operations, counters);
        assert_eq!(check.interval(&good.compact()), Ok(()));
        assert!(check.interval(&Interval::new(operations + 1, counters).compact()).is_err());
        assert!(check.interval(&Interval::new(operations, counters + 1).compact()).is_err());
        let mut huge = good.clone();
        huge.client.wall_ns = u64::MAX;
        assert!(check.interval(&huge.compact()).is_err());
    }
}
