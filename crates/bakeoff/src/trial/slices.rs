//! Slices of load: how long they are, and how those of one server become a phase.

use std::time::Duration;

use archive::model::PhaseSlices;
use load::engine::LoadOutcome;
use load::inputs::slo::Slo;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use stats::allan::best_slice;

use super::measure::WarmedUp;
use super::phases::observations;

/// No slice is shorter: below, the cost of a turn outweighs what a shorter one gains.
const SHORTEST: Duration = Duration::from_millis(50);
/// Least length of a slice, in multiples of the median response time: operations under way at its ends must be few. Not of
/// the p99, because on a shared machine that is the length of a stall of the machine.
const OVER_MEDIAN: f64 = 20.0;
/// Least number of operations of a slice.
const OPERATIONS: f64 = 200.0;
/// Length of a slice in multiples of the time limit of an objective: a queue that grows by a twentieth of the time reaches the
/// limit within it.
const OVER_LIMIT: f64 = 20.0;
/// The same where that would be more than [`LONG`].
const OVER_LONG_LIMIT: f64 = 10.0;
const LONG: Duration = Duration::from_millis(500);
/// Least time at the begin of a slice that is not measured, and its length in multiples of the median response time.
const SETTLE: Duration = Duration::from_millis(8);
const SETTLE_OVER_MEDIAN: f64 = 4.0;
/// Between two slices nothing is loaded for about this long.
const GAP: Duration = Duration::from_millis(4);
/// Lengths are drawn this far around the planned one, so that slices do not fall into step with anything periodic.
const JITTER: f64 = 0.15;

/// The planned length of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceLength {
    /// What is measured of each, in the mean.
    pub measured: Duration,
    /// What comes before and is not measured.
    pub settle: Duration,
}

impl SliceLength {
    /// The length that suits servers with these warm-ups: the longest that one of them needs. Not more than `longest`, except
    /// where an objective needs more.
    pub fn for_servers<'a>(
        warmed_up: impl IntoIterator<Item = &'a WarmedUp>,
        slo: Option<&Slo>,
        longest: Duration,
    ) -> Self {
        let least = slo.and_then(Slo::latency_limit_us).map_or(SHORTEST, long_enough_for);
        let needs = warmed_up.into_iter().map(|warm| Self::for_server(warm, least));
        let all = needs
            .reduce(|a, b| Self { measured: a.measured.max(b.measured), settle: a.settle.max(b.settle) });
        let Self { measured, settle } = all.unwrap_or(Self { measured: least, settle: SETTLE });
        let measured = measured.min(longest.max(least));
        Self { measured, settle: settle.min(measured / 2) }
    }

    fn for_server(warm: &WarmedUp, least: Duration) -> Self {
        let median = warm.measured.merged(|op| &op.response_time).value_at_quantile(0.5);
        let median = Duration::from_micros(median);
        let settle = SETTLE.max(median.mul_f64(SETTLE_OVER_MEDIAN));
        let per_s = warm.measured.succeeded() as f64 / warm.length.as_secs_f64().max(1e-9);
        let for_operations =
            Duration::try_from_secs_f64(OPERATIONS / per_s.max(1e-3)).unwrap_or(Duration::MAX);
        let least = least.max(median.mul_f64(OVER_MEDIAN)).max(for_operations);
        let interval = warm.run.spec.part.interval;
        let intervals = |time: Duration| time.as_secs_f64() / interval.as_secs_f64();
        let throughput: Vec<f64> =
            observations(&warm.run).iter().map(|observation| observation.stats.succeeded() as f64).collect();
        // The first intervals may be warm-up.
        let steady = &throughput[throughput.len() / 4..];
        let best = best_slice(steady, intervals(least).ceil() as usize, intervals(settle + GAP));
        Self { measured: least.max(interval.saturating_mul(best as u32)), settle }
    }

    /// Draws the slices of the next round.
    pub fn draw(&self, rng: &mut Pcg64Mcg) -> DrawnSlice {
        let length = self.measured.mul_f64(rng.random_range(1.0 - JITTER..=1.0 + JITTER));
        DrawnSlice { settle: self.settle, length, seed: rng.random() }
    }
}

fn long_enough_for(limit_us: f64) -> Duration {
    let times = |factor: f64| Duration::from_secs_f64(limit_us / 1e6 * factor);
    times(OVER_LIMIT).min(times(OVER_LONG_LIMIT).max(LONG)).max(SHORTEST)
}

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
