//! What was measured in a slice of load of a server of a study.

use std::time::Duration;

use host::process::CpuUsed;
use load::engine::LoadOutcome;
use load::record::{CompactInterval, SingleOperation};
use load::summary::Summary;

/// An operation is slow that takes longer than this share of all.
pub const SLOW: f64 = 0.999;

/// What was measured in a slice of load. The time at its beginning, in which it settles, is not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySlice {
    /// Operations that were due in it, failed ones included.
    pub operations: u64,
    /// Those of them that failed, also because a connection could not be opened.
    pub failed: u64,
    /// How long operations began.
    pub length: Duration,
    /// Operations that succeeded, a second.
    pub throughput_per_s: f64,
    /// Mean response time of those that succeeded.
    pub mean_response: Duration,
    /// Share of its cores that the client used, 0 to 1.
    pub client_utilisation: f64,
    /// CPU time of the server from the begin of the slice to its end, with the time in which it settled.
    pub whole_cpu: Duration,
    /// The part of it in the kernel: by clock ticks, so good for slices that are together long.
    pub whole_kernel: Duration,
    /// Operations of that time, failed ones included as in `operations`.
    pub whole_operations: u64,
}

/// A slice with single operations.
#[derive(Clone, Debug)]
pub struct SingledSlice {
    /// As without.
    pub slice: StudySlice,
    /// Median response time, microseconds.
    pub median_us: f64,
    /// The response time that [`SLOW`] of the operations do not exceed, microseconds.
    pub slow_us: f64,
    /// The slowest operations and some drawn at random, the slowest of each worker first.
    pub singles: Vec<SingleOperation>,
    /// Names of the operations, by the numbers of the single ones.
    pub operations: Vec<String>,
}

impl StudySlice {
    /// Operations that succeeded: times, and single operations, are of these.
    pub fn succeeded(&self) -> u64 {
        self.operations - self.failed
    }

    /// CPU time of the server for the operations that were measured: their share of the whole.
    pub fn server_cpu(&self) -> Duration {
        let share = self.operations as f64 / self.whole_operations.max(1) as f64;
        self.whole_cpu.mul_f64(share.min(1.0))
    }
}

impl SingledSlice {
    /// The slice with this outcome, in which the server used this CPU time.
    pub(crate) fn of(outcome: LoadOutcome, used: &CpuUsed) -> Self {
        let summary = Summary::of(&outcome);
        let response = outcome.total.response_times();
        let all = |stats: &CompactInterval| stats.succeeded() + stats.failed();
        let slice = StudySlice {
            // Requests are those that succeeded.
            operations: summary.requests + summary.failed,
            failed: summary.failed,
            length: outcome.measured,
            throughput_per_s: summary.throughput_per_s,
            mean_response: Duration::from_secs_f64(response.mean().max(0.0) / 1e6),
            client_utilisation: summary.client.utilisation,
            whole_cpu: used.time,
            whole_kernel: used.time.mul_f64(1.0 - used.user_share()),
            whole_operations: outcome.intervals.iter().map(|interval| all(&interval.stats)).sum(),
        };
        let quantile_us = |quantile| response.value_at_quantile(quantile) as f64;
        Self {
            slice,
            median_us: quantile_us(0.5),
            slow_us: quantile_us(SLOW),
            singles: outcome.singles,
            operations: outcome.operations,
        }
    }
}

#[cfg(test)]
mod tests {
    use load::record::ErrorKind;

    use super::*;
    use crate::testing::outcome::closed_loop_outcome;

    #[test]
    fn operations_that_fail_are_counted_and_have_no_response_time() {
        let used = CpuUsed { time: Duration::from_millis(200), ..CpuUsed::default() };
        let slice = SingledSlice::of(closed_loop_outcome(900, 100), &used).slice;
        assert_eq!((slice.operations, slice.failed, slice.succeeded()), (1000, 100, 900));
        assert_eq!(slice.whole_operations, 1000);
        assert_eq!((slice.throughput_per_s.round() as u64, slice.mean_response.as_millis()), (900, 1));
        assert_eq!(slice.server_cpu(), used.time);
    }

    #[test]
    fn the_cpu_time_of_a_slice_is_its_share_of_all_operations_whether_they_failed_or_not() {
        let mut outcome = closed_loop_outcome(900, 100);
        // As many in the time in which it settled.
        let settling = outcome.intervals[0].clone();
        outcome.intervals.push(settling);
        let refused = (ErrorKind::Refused, 1000, "connection refused");
        outcome.total.connections.errors.add(refused.0, refused.1, refused.2);
        for interval in &mut outcome.intervals {
            interval.stats.connections.errors.add(refused.0, refused.1, refused.2);
        }
        let used = CpuUsed { time: Duration::from_millis(200), ..CpuUsed::default() };
        let slice = SingledSlice::of(outcome, &used).slice;
        assert_eq!((slice.operations, slice.failed, slice.whole_operations), (2000, 1100, 4000));
        assert_eq!(slice.server_cpu(), used.time / 2);
    }
}
