//! What was measured in a slice of load of a held server.

use std::time::Duration;

use host::process::CpuUsed;
use load::engine::LoadOutcome;
use load::record::SingleOperation;
use load::summary::Summary;

use crate::trial::operations;

/// An operation is slow that takes longer than this share of all.
pub const SLOW: f64 = 0.999;

/// What was measured in a slice of load. The time at its beginning, in which it settles, is not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldSlice {
    /// Operations that ended, failed ones included.
    pub operations: u64,
    /// Operations that failed.
    pub failed: u64,
    /// How long operations began.
    pub length: Duration,
    /// Operations that succeeded, a second.
    pub throughput_per_s: f64,
    /// Mean response time.
    pub mean_response: Duration,
    /// Share of its cores that the client used, 0 to 1.
    pub client_utilisation: f64,
    /// CPU time of the server from the begin of the slice to its end, with the time in which it settled.
    pub whole_cpu: Duration,
    /// The part of it in the kernel: by clock ticks, so good for slices that are together long.
    pub whole_kernel: Duration,
    /// Operations of that time, failed ones included.
    pub whole_operations: u64,
}

/// A slice with single operations.
#[derive(Clone, Debug)]
pub struct SingledSlice {
    /// As without.
    pub slice: HeldSlice,
    /// Median response time, microseconds.
    pub median_us: f64,
    /// The response time that [`SLOW`] of the operations do not exceed, microseconds.
    pub slow_us: f64,
    /// The slowest operations and some drawn at random, the slowest of each worker first.
    pub singles: Vec<SingleOperation>,
    /// Names of the operations, by the numbers of the single ones.
    pub operations: Vec<String>,
}

impl HeldSlice {
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
        let response = outcome.total.merged(|op| &op.response_time);
        let slice = HeldSlice {
            operations: summary.requests,
            failed: summary.requests.saturating_sub(outcome.total.succeeded()),
            length: outcome.measured,
            throughput_per_s: summary.throughput_per_s,
            mean_response: Duration::from_secs_f64(response.mean().max(0.0) / 1e6),
            client_utilisation: summary.client.utilisation,
            whole_cpu: used.time,
            whole_kernel: used.time.mul_f64(1.0 - used.user_share()),
            whole_operations: operations(&outcome),
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
