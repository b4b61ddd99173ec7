//! How long slices are: what leaves the least scatter, and what the load and its objective need.

use std::time::Duration;

use load::inputs::slo::Slo;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use stats::allan::best_slice;

use super::phases::observations;
use super::slices::DrawnSlice;
use super::warm_up::WarmedUp;

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
