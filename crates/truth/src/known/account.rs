//! A known server's own counts and times, with which the engine's are compared.

use std::fmt::Write;

use load::clock::Nanos;
use serde::{Deserialize, Serialize};

/// The counts and times of a known server since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Requests read, without requests for this account.
    pub requests: u64,
    /// Requests answered successfully.
    pub replies: u64,
    /// Requests answered with an error.
    pub errors: u64,
    /// Requests refused because the queue was full.
    pub refused: u64,
    /// Requests whose connection was closed instead of an answer.
    pub dropped: u64,
    /// Connections accepted, without those that asked for this account.
    pub connections: u64,
    /// Requests without a receive timestamp of the kernel. Their times count from the read.
    pub unstamped: u64,
    /// Freezes so far.
    pub freezes: u64,
    /// CPU time of requests, seconds, without [extra work](Account::extra_work_s).
    pub busy_s: f64,
    /// CPU time of extra work, seconds.
    pub extra_work_s: f64,
    /// From the kernel's receive timestamp to the end of the send, for requests answered successfully. `None` without a
    /// log.
    pub service_time_us: Option<ExactTimes>,
}

impl Account {
    /// The factor by which extra work lengthens the CPU time of a request: 1.05 for 5 %. Where the server is the limit,
    /// its throughput is lower by this factor.
    pub fn slowdown(&self) -> f64 {
        if self.busy_s > 0.0 { 1.0 + self.extra_work_s / self.busy_s } else { 1.0 }
    }
}

/// The times of one request that was answered successfully.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedRequest {
    /// When the kernel received it.
    pub received: Nanos,
    /// When the send of its reply returned.
    pub sent: Nanos,
}

/// Exact quantiles of times from sorted values, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExactTimes {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p99_9: f64,
    /// Largest.
    pub max: f64,
}

impl ExactTimes {
    /// The quantiles of the service times in a log; `None` for an empty one.
    pub fn of_service(log: &[ServedRequest]) -> Option<Self> {
        Self::of(log.iter().map(|served| served.sent.since(served.received)))
    }

    /// The quantiles of these times; `None` if there are none.
    pub fn of(times: impl IntoIterator<Item = Nanos>) -> Option<Self> {
        let mut nanos: Vec<u64> = times.into_iter().map(|time| time.0).collect();
        nanos.sort_unstable();
        let max = nanos.last()?;
        // Nearest rank: the smallest value with at least this share of all values at or below it.
        let at = |share: f64| {
            let rank = (share * nanos.len() as f64).ceil().max(1.0) as usize;
            nanos[rank - 1] as f64 / 1e3
        };
        Some(Self {
            mean: nanos.iter().sum::<u64>() as f64 / nanos.len() as f64 / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: *max as f64 / 1e3,
        })
    }
}

/// The log as CSV: one line per request in the order of the replies, nanoseconds of the monotonic clock.
pub fn csv(log: &[ServedRequest]) -> String {
    let mut out = String::from("received_ns,sent_ns\n");
    for served in log {
        let _ = writeln!(out, "{},{}", served.received.0, served.sent.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(spans_us: impl IntoIterator<Item = u64>) -> Vec<ServedRequest> {
        spans_us
            .into_iter()
            .map(|us| ServedRequest { received: Nanos(5), sent: Nanos(5 + us * 1_000) })
            .collect()
    }

    #[test]
    fn quantiles_are_exact() {
        let times = ExactTimes::of_service(&log((1..=1_000).rev())).expect("there are times");
        let whole = [times.p50, times.p99, times.p99_9, times.max].map(|us| us as u64);
        assert_eq!(whole, [500, 990, 999, 1_000]);
        assert!((times.mean - 500.5).abs() < 1e-9);
        assert_eq!(ExactTimes::of_service(&[]), None);
    }

    #[test]
    fn the_log_is_csv_with_a_heading() {
        assert_eq!(csv(&log([7])), "received_ns,sent_ns\n5,7005\n");
    }

    #[test]
    fn the_slowdown_is_the_share_of_extra_work() {
        let account = Account { busy_s: 2.0, extra_work_s: 0.1, ..Account::default() };
        assert!((account.slowdown() - 1.05).abs() < 1e-12);
        assert!((Account::default().slowdown() - 1.0).abs() < 1e-12);
    }
}
