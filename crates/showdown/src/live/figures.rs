//! The figures of a running load: counters and histograms over its measured time so far. How they are written is left to
//! `open_metrics` and `otlp`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use load::engine::LoadEvent;
use load::record::{OperationStats, RecordedTimes};

/// Upper bounds of the classes of response times, seconds. A last class has all longer ones.
pub(super) const BOUNDS_S: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// All figures.
#[derive(Debug, Clone)]
pub(super) struct LiveFigures {
    /// What is loaded.
    pub(super) target: String,
    /// Unix time at which the counters were 0.
    pub(super) since_unix_ns: u128,
    pub(super) open_connections: u64,
    pub(super) operations: Vec<LiveOperation>,
    /// Failures by kind, of all operations.
    pub(super) failures: BTreeMap<&'static str, u64>,
}

/// The figures of an operation.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveOperation {
    pub(super) name: String,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) received_bytes: u64,
    /// Response times by class, each alone: one more than there are bounds.
    pub(super) classes: [u64; BOUNDS_S.len() + 1],
    pub(super) sum_s: f64,
}

impl LiveFigures {
    pub(super) fn new(target: &str, operations: &[String]) -> Self {
        let mut live = Vec::new();
        for name in operations {
            live.push(LiveOperation { name: name.clone(), ..LiveOperation::default() });
        }
        Self {
            target: target.to_owned(),
            since_unix_ns: unix_ns(),
            open_connections: 0,
            operations: live,
            failures: BTreeMap::new(),
        }
    }

    /// Adds an interval. Those of the warm-up are not in the answer either.
    pub(super) fn observe(&mut self, event: &LoadEvent<'_>) {
        match event {
            LoadEvent::Begins { opened, .. } => self.open_connections = u64::from(*opened),
            LoadEvent::Tick { index, stats } if *index >= 0 => {
                self.open_connections = stats.connections.open_peak;
                for (operation, stats) in self.operations.iter_mut().zip(&stats.operations) {
                    operation.add(stats);
                }
                for (kind, count) in stats.errors().counts {
                    *self.failures.entry(kind.name()).or_default() += count;
                }
            }
            LoadEvent::Tick { .. } => {}
        }
    }
}

impl LiveOperation {
    fn add(&mut self, stats: &OperationStats) {
        self.succeeded += stats.succeeded();
        self.failed += stats.errors.total();
        self.received_bytes += stats.bytes_received;
        // As in the answer: what had no reply counts with the time after which it was given up.
        let mut times = stats.response_time.clone();
        stats.unanswered.add_to(&mut times);
        if times.is_empty() {
            return;
        }
        self.sum_s += times.mean() * times.len() as f64 / 1e6;
        let mut below = 0;
        for (class, bound_s) in self.classes.iter_mut().zip(BOUNDS_S) {
            let up_to = times.count_between(0, (bound_s * 1e6).round() as u64);
            *class += up_to.saturating_sub(below);
            below = below.max(up_to);
        }
        self.classes[BOUNDS_S.len()] += times.len().saturating_sub(below);
    }

    /// How many response times there are.
    pub(super) fn count(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// The figures for a moment. A thread that panicked has left whole ones.
pub(super) fn locked(figures: &Mutex<LiveFigures>) -> MutexGuard<'_, LiveFigures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nanoseconds since 1970.
pub(super) fn unix_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// Figures for tests: two operations, of which one has three response times and a failure.
#[cfg(test)]
pub(super) fn example() -> LiveFigures {
    let mut figures =
        LiveFigures::new("http://127.0.0.1:8080/", &["GET /".to_owned(), "say \"hi\"".to_owned()]);
    (figures.since_unix_ns, figures.open_connections) = (1_700_000_000_000_000_000, 4);
    let operation = &mut figures.operations[0];
    (operation.succeeded, operation.failed, operation.received_bytes, operation.sum_s) = (3, 1, 900, 12.006);
    (operation.classes[3], operation.classes[6], operation.classes[16]) = (1, 1, 1);
    figures.failures.insert("timeout", 1);
    figures
}
