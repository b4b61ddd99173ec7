//! Slices of load, and how those of one server are merged.

use std::mem;
use std::time::Duration;

use crate::outcome::LoadOutcome;
use crate::record::SingleLimits;

/// What the slices of one round have in common. They draw the same operations and the same arrivals: where a mix has large
/// and small operations, what a short slice happens to draw scatters more than the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnSlice {
    /// What comes before and is not measured.
    pub settle: Duration,
    /// What is measured.
    pub length: Duration,
    /// Seed of the load.
    pub seed: u64,
    /// Single operations that are kept.
    pub singles: SingleLimits,
}

/// One slice.
pub struct Slice {
    /// From the begin of the load to the begin of its measured part.
    pub start: Duration,
    /// How long the server was loaded, with settling and draining.
    pub under_load: Duration,
    /// What was recorded.
    pub outcome: LoadOutcome,
}

/// The slices of one server and load, merged.
pub struct MergedSlices {
    /// From the begin of the load.
    pub start: Duration,
    /// From the first slice's begin to the last one's end.
    pub span: Duration,
    /// How many there are.
    pub count: u32,
    /// What they recorded.
    pub outcome: LoadOutcome,
}

impl MergedSlices {
    /// Adds a slice to those before.
    pub fn add(merged: &mut Option<Self>, slice: Slice) {
        Self::join_all(merged, Some(slice.into()));
    }

    /// Adds slices, if there are any, to those before, if there are any.
    pub fn join_all(merged: &mut Option<Self>, others: Option<Self>) {
        *merged = match (merged.take(), others) {
            (Some(mut merged), Some(others)) => {
                merged.join(others);
                Some(merged)
            }
            (merged, others) => merged.or(others),
        };
    }

    /// Adds slices of the same server, at another load or another time.
    pub fn join(&mut self, mut other: Self) {
        if other.start < self.start {
            mem::swap(self, &mut other);
        }
        let after = other.start.saturating_sub(self.start);
        self.span = self.span.max(after + other.span);
        self.count += other.count;
        self.outcome.append(other.outcome, after);
    }
}

impl From<Slice> for MergedSlices {
    fn from(slice: Slice) -> Self {
        let Slice { start, outcome, .. } = slice;
        Self { start, span: outcome.measured, count: 1, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;

    fn slice(start_s: u64) -> Slice {
        let outcome = example::outcome();
        Slice { start: Duration::from_secs(start_s), under_load: outcome.measured, outcome }
    }

    #[test]
    fn slices_keep_their_place_in_time_in_whatever_order_they_are_joined() {
        let merged = |starts: &[u64]| {
            let mut merged = None;
            for &start in starts {
                MergedSlices::add(&mut merged, slice(start));
            }
            merged.expect("slices")
        };
        let (mut early, mut late) = (merged(&[20]), merged(&[40, 60]));
        early.join(merged(&[40, 60]));
        late.join(merged(&[20]));
        for joined in [early, late] {
            assert_eq!((joined.start, joined.span), (Duration::from_secs(20), Duration::from_secs(50)));
            let mut starts: Vec<u64> =
                joined.outcome.intervals.iter().map(|interval| interval.start.as_secs()).collect();
            starts.sort_unstable();
            assert_eq!((joined.count, starts), (3, vec![0, 20, 40]));
        }
    }
}
