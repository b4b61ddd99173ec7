//! How long slices are: what leaves the least scatter, and what the load and its objective need.

use std::time::Duration;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use stats::allan::best_slice;

use super::merged::DrawnSlice;
use crate::outcome::LoadOutcome;
use crate::record::{Interval, SingleLimits};

/// No slice is shorter: below, the cost of a turn outweighs what a shorter one gains.
const SHORTEST: Duration = Duration::from_millis(50);
/// Least length of a slice, in multiples of the median response time: operations under way at its ends must be few. Not of
/// the p99, because on a shared machine that is the length of a stall of the machine.
const OVER_MEDIAN: f64 = 20.0;
/// Least number of operations of a slice.
const OPERATIONS: f64 = 200.0;
/// Least time at the begin of a slice that is not measured, and its length in multiples of the median response time.
const SETTLE: Duration = Duration::from_millis(8);
const SETTLE_OVER_MEDIAN: f64 = 4.0;
/// Least time at the begin of a slice of a closed loop whose client sleeps that is not measured. Who wakes whom takes some
/// 45 ms to settle: nginx and MariaDB are 5 to 10 % slower before, others are not. A client that spins shows nothing of it (decision 0009).
pub const SETTLE_CLOSED: Duration = Duration::from_millis(50);
/// A client that uses less of its CPUs sleeps now and then.
const AWAKE: f64 = 0.9;
/// Between two slices nothing is loaded for about this long.
const GAP: Duration = Duration::from_millis(4);
/// Lengths are drawn this far around the planned one, so that slices do not fall into step with anything periodic.
const JITTER: f64 = 0.15;

/// How fast a closed loop went.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopPace {
    /// Median response time.
    pub median: Duration,
    /// Operations a second that succeeded.
    pub per_s: f64,
    /// Length of the intervals of `throughput`.
    pub interval: Duration,
    /// Operations of each interval that succeeded.
    pub throughput: Vec<f64>,
    /// CPU time of the client's workers, spinning included, as a share of the time that they ran.
    pub client_cpu: f64,
}

impl LoopPace {
    /// The pace of a loop, of which `measured` is what was recorded in its steady part, which lasted this long.
    pub fn of(outcome: &LoadOutcome, measured: &Interval, length: Duration) -> Self {
        let median = measured.merged(|op| &op.response_time).value_at_quantile(0.5);
        Self {
            median: Duration::from_micros(median),
            per_s: measured.succeeded() as f64 / length.as_secs_f64().max(1e-9),
            interval: outcome.spec.part.interval,
            throughput: outcome.observations().iter().map(|o| o.stats.succeeded() as f64).collect(),
            client_cpu: measured.client.cpu(),
        }
    }
}

/// The planned length of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceLength {
    /// What is measured of each, in the mean.
    pub measured: Duration,
    /// What comes before and is not measured.
    pub settle: Duration,
    /// The same in a closed loop.
    pub settle_closed: Duration,
}

impl SliceLength {
    /// The length that suits servers with these closed loops: the longest that one of them needs. Not more than `longest`.
    pub fn for_servers(loops: impl IntoIterator<Item = LoopPace>, longest: Duration) -> Self {
        let needs = loops.into_iter().map(|pace| Self::for_server(&pace));
        let all = needs.reduce(|a, b| Self {
            measured: a.measured.max(b.measured),
            settle: a.settle.max(b.settle),
            settle_closed: a.settle_closed.max(b.settle_closed),
        });
        let all = all.unwrap_or(Self { measured: SHORTEST, settle: SETTLE, settle_closed: SETTLE_CLOSED });
        let measured = all.measured.min(longest.max(SHORTEST));
        Self { measured, settle: all.settle.min(measured / 2), ..all }
    }

    fn for_server(pace: &LoopPace) -> Self {
        let settle = SETTLE.max(pace.median.mul_f64(SETTLE_OVER_MEDIAN));
        let for_operations =
            Duration::try_from_secs_f64(OPERATIONS / pace.per_s.max(1e-3)).unwrap_or(Duration::MAX);
        let least = SHORTEST.max(pace.median.mul_f64(OVER_MEDIAN)).max(for_operations);
        let intervals = |time: Duration| time.as_secs_f64() / pace.interval.as_secs_f64();
        // The first intervals may be warm-up.
        let steady = &pace.throughput[pace.throughput.len() / 4..];
        let best = best_slice(steady, intervals(least).ceil() as usize, intervals(settle + GAP));
        let measured = least.max(pace.interval.saturating_mul(best as u32));
        let settle_closed = if pace.client_cpu < AWAKE { settle.max(SETTLE_CLOSED) } else { settle };
        Self { measured, settle, settle_closed }
    }

    /// The same for slices of one continuous load in the server's own time: all of it is measured.
    #[must_use]
    pub fn in_own_time(self) -> Self {
        Self { settle: Duration::ZERO, ..self }
    }

    /// The same for closed loops.
    #[must_use]
    pub fn of_closed_loops(self) -> Self {
        Self { settle: self.settle_closed, ..self }
    }

    /// How long a slice loads its server, in the mean.
    pub fn under_load(&self) -> Duration {
        self.settle + self.measured
    }

    /// Rounds of one slice of each server that load each for this long.
    pub fn rounds_for(&self, load: Duration) -> u32 {
        (load.as_secs_f64() / self.under_load().as_secs_f64()).round() as u32
    }

    /// Draws the slices of the next round.
    pub fn draw(&self, rng: &mut Pcg64Mcg) -> DrawnSlice {
        let length = self.measured.mul_f64(rng.random_range(1.0 - JITTER..=1.0 + JITTER));
        DrawnSlice { settle: self.settle, length, seed: rng.random(), singles: SingleLimits::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(median_ms: u64, per_s: f64) -> LoopPace {
        let interval = Duration::from_millis(20);
        let throughput = vec![100.0; 100];
        LoopPace { median: Duration::from_millis(median_ms), per_s, interval, throughput, client_cpu: 1.0 }
    }

    fn measured<const N: usize>(paces: [LoopPace; N]) -> Duration {
        let slices = SliceLength::for_servers(paces, Duration::from_secs(2));
        assert!(slices.settle <= slices.measured / 2, "{slices:?}");
        slices.measured
    }

    #[test]
    fn slices_are_as_long_as_the_slowest_server_needs() {
        let fast = pace(0, 50_000.0);
        assert!(measured([fast.clone()]) < Duration::from_millis(80));
        assert!(measured([fast.clone(), pace(20, 3_000.0)]) >= Duration::from_millis(400));
        assert!(measured([fast, pace(1, 500.0)]) >= Duration::from_millis(400));
        assert_eq!(measured([pace(10_000, 1.0)]), Duration::from_secs(2), "not longer than that");
        assert_eq!(measured([]), SHORTEST);
    }

    #[test]
    fn a_closed_loop_settles_for_longer_if_its_client_sleeps() {
        let settle_with = |client_cpu: f64| {
            let paces = [pace(0, 50_000.0), LoopPace { client_cpu, ..pace(0, 50_000.0) }];
            let slices = SliceLength::for_servers(paces, Duration::from_secs(2));
            assert_eq!(slices.of_closed_loops().measured, slices.measured);
            slices.of_closed_loops().settle
        };
        assert!(settle_with(1.0) < SETTLE_CLOSED);
        assert_eq!(settle_with(0.6), SETTLE_CLOSED);
    }
}
