//! What users did in an interval: their walk, and their delays. By due time: an operation counts where it fell due.

use serde::{Deserialize, Serialize};

use super::micros::{Micros, RecordedTimes, micros};

/// The delays after one operation, and the operations that they followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayStats {
    /// Operations of this kind that fell due.
    pub begun: u64,
    /// Of these operations, those after which another one came.
    pub followed: u64,
    /// Sum of the delays that were drawn after them, nanoseconds.
    pub drawn_ns: u64,
    /// Sum of the delays as they were, nanoseconds: longer where the operation took longer than its cycle.
    pub actual_ns: u64,
    /// Sum of the times from their ends until the next was due, nanoseconds.
    pub idle_ns: u64,
}

impl DelayStats {
    fn add(&mut self, other: &Self) {
        self.begun += other.begun;
        self.followed += other.followed;
        // A sum of a million users' delays over months would not fit.
        self.drawn_ns = self.drawn_ns.saturating_add(other.drawn_ns);
        self.actual_ns = self.actual_ns.saturating_add(other.actual_ns);
        self.idle_ns = self.idle_ns.saturating_add(other.idle_ns);
    }
}

/// What users did in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserStats<H = Micros> {
    /// By operation.
    pub delays: Vec<DelayStats>,
    /// How often an operation came after another: the row of each, one after the other. Empty where the next does not depend
    /// on the one before.
    pub transitions: Vec<u64>,
    /// Visits that arrived.
    pub arrived: u64,
    /// Of these, those that found no slot.
    pub refused: u64,
    /// Visits that ended, and users who left and were followed by others.
    pub left: u64,
    /// By how much operations fell due later than their cycles say, because the one before took longer; only of those that did.
    pub late: H,
}

impl UserStats {
    /// Of no user yet.
    pub fn new(operations: usize, has_transitions: bool) -> Self {
        Self {
            delays: vec![DelayStats::default(); operations],
            transitions: vec![0; if has_transitions { operations * operations } else { 0 }],
            arrived: 0,
            refused: 0,
            left: 0,
            late: micros(),
        }
    }

    /// Adds the users of another worker, process or interval.
    pub fn merge<H: RecordedTimes>(&mut self, other: &UserStats<H>) {
        self.delays.iter_mut().zip(&other.delays).for_each(|(sum, part)| sum.add(part));
        self.transitions.iter_mut().zip(&other.transitions).for_each(|(sum, part)| *sum += part);
        self.arrived += other.arrived;
        self.refused += other.refused;
        self.left += other.left;
        other.late.add_to(&mut self.late);
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.delays.fill(DelayStats::default());
        self.transitions.fill(0);
        (self.arrived, self.refused, self.left) = (0, 0, 0);
        self.late.reset();
    }

    /// The same with its histogram in another form.
    pub(super) fn map_histogram<H>(&self, form: impl Fn(&Micros) -> H) -> UserStats<H> {
        UserStats {
            arrived: self.arrived,
            refused: self.refused,
            left: self.left,
            delays: self.delays.clone(),
            transitions: self.transitions.clone(),
            late: form(&self.late),
        }
    }
}

impl<H> UserStats<H> {
    /// Whether it is of this many operations.
    pub(crate) fn is_of(&self, operations: usize) -> bool {
        let pairs = self.transitions.len();
        self.delays.len() == operations && (pairs == 0 || pairs == operations * operations)
    }

    /// All counts, and sums of seconds: those of nanoseconds may be a thousand million times as large.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        let of_delay = |delay: &DelayStats| {
            let seconds = |ns: u64| ns / 1_000_000_000;
            [
                delay.begun,
                delay.followed,
                seconds(delay.drawn_ns),
                seconds(delay.actual_ns),
                seconds(delay.idle_ns),
            ]
        };
        let visits = [self.arrived, self.refused, self.left];
        self.delays.iter().flat_map(of_delay).chain(self.transitions.iter().copied()).chain(visits)
    }
}

/// Adds the users of `part` to those of `sum`.
pub(super) fn merge_users<H: RecordedTimes>(sum: &mut Option<Box<UserStats>>, part: Option<&UserStats<H>>) {
    let Some(part) = part else { return };
    let empty = || Box::new(UserStats::new(part.delays.len(), !part.transitions.is_empty()));
    sum.get_or_insert_with(empty).merge(part);
}
