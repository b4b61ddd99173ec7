//! Slices of load, and how those of one server become a phase.

use std::time::Duration;

use archive::model::PhaseSlices;
use load::engine::LoadOutcome;

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
}

/// One slice.
pub struct Slice {
    /// From the begin of the trial to the begin of its measured part.
    pub start: Duration,
    /// How long the server was loaded, with settling and draining.
    pub under_load: Duration,
    /// What was recorded.
    pub outcome: LoadOutcome,
}

/// The slices of one server and load, merged.
pub struct MergedSlices {
    /// From the begin of the trial.
    pub start: Duration,
    /// How many there are, and from when to when.
    pub slices: PhaseSlices,
    /// What they recorded.
    pub outcome: LoadOutcome,
}

impl MergedSlices {
    /// Adds a slice to those before.
    pub fn add(merged: &mut Option<Self>, slice: Slice) {
        let Slice { start, outcome, .. } = slice;
        let span_s = |from: Duration, outcome: &LoadOutcome| {
            (start + outcome.measured).saturating_sub(from).as_secs_f64()
        };
        match merged {
            None => {
                let slices = PhaseSlices { count: 1, span_s: span_s(start, &outcome) };
                *merged = Some(Self { start, slices, outcome });
            }
            Some(all) => {
                all.slices.count += 1;
                all.slices.span_s = all.slices.span_s.max(span_s(all.start, &outcome));
                all.outcome.append(outcome, start.saturating_sub(all.start));
            }
        }
    }

    /// Adds the slices of a later load of the same server.
    pub fn join(&mut self, other: Self) {
        let (first, second) = (self.start.min(other.start), self.start.max(other.start));
        let end = |of: &Self| of.start.as_secs_f64() + of.slices.span_s;
        self.slices.span_s = end(self).max(end(&other)) - first.as_secs_f64();
        self.slices.count += other.slices.count;
        if other.start < self.start {
            let later = std::mem::replace(&mut self.outcome, other.outcome);
            self.outcome.append(later, second.saturating_sub(first));
        } else {
            self.outcome.append(other.outcome, second.saturating_sub(first));
        }
        self.start = first;
    }
}
