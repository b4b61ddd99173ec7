//! What a known server tells of itself: what the engine is held against.

use std::fmt::Write;

use load::clock::Nanos;
use serde::{Deserialize, Serialize};

/// A known server's own account, from its first request on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Requests read; what asks for this account is not counted.
    pub requests: u64,
    /// Requests that were answered well.
    pub replies: u64,
    /// Requests that were answered with an error.
    pub errors: u64,
    /// Requests that were refused because the queue was full.
    pub refused: u64,
    /// Requests that were answered by closing the connection.
    pub dropped: u64,
    /// Connections accepted, those that asked for this account left out.
    pub connections: u64,
    /// Requests without a receive timestamp of the kernel: they count from when they were read.
    pub unstamped: u64,
    /// Freezes so far.
    pub freezes: u64,
    /// CPU occupied by requests, seconds, [extra work](Account::extra_work_s) left out.
    pub busy_s: f64,
    /// CPU occupied by extra work, seconds.
    pub extra_work_s: f64,
    /// From the kernel's receive timestamp to just after the send, of requests that were answered well; none
    /// without a log.
    pub service_time_us: Option<TrueTimes>,
}

impl Account {
    /// How much longer a request occupied the CPU because of the extra work: 1.05 for 5 %. Where the server is
    /// the limit, its throughput is lower by this factor.
    pub fn slowdown(&self) -> f64 {
        if self.busy_s > 0.0 { 1.0 + self.extra_work_s / self.busy_s } else { 1.0 }
    }
}

/// One request that was answered well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When the kernel received it.
    pub received: Nanos,
    /// Just after its reply was sent.
    pub sent: Nanos,
}

/// Exact quantiles of true times, microseconds: sorted values, no histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrueTimes {
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

impl TrueTimes {
    /// None of nothing.
    pub fn of(log: &[Served]) -> Option<Self> {
        let mut nanos: Vec<u64> = log.iter().map(|served| served.sent.since(served.received).0).collect();
        nanos.sort_unstable();
        let most = nanos.last()?;
        // The nearest rank: the smallest value that this share of all values does not exceed.
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
            max: *most as f64 / 1e3,
        })
    }
}

/// The log as CSV, one line for each request in the order of the replies, nanoseconds of the monotonic clock.
pub fn csv(log: &[Served]) -> String {
    let mut out = String::from("received_ns,sent_ns\n");
    for served in log {
        let _ = writeln!(out, "{},{}", served.received.0, served.sent.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(spans_us: impl IntoIterator<Item = u64>) -> Vec<Served> {
        spans_us.into_iter().map(|us| Served { received: Nanos(5), sent: Nanos(5 + us * 1_000) }).collect()
    }

    #[test]
    fn quantiles_are_exact() {
        let times = TrueTimes::of(&log((1..=1_000).rev())).expect("there are times");
        let whole = [times.p50, times.p99, times.p99_9, times.max].map(|us| us as u64);
        assert_eq!(whole, [500, 990, 999, 1_000]);
        assert!((times.mean - 500.5).abs() < 1e-9);
        assert_eq!(TrueTimes::of(&[]), None);
    }

    #[test]
    fn the_log_can_be_read_by_a_table() {
        assert_eq!(csv(&log([7])), "received_ns,sent_ns\n5,7005\n");
    }

    #[test]
    fn a_slowdown_is_what_the_extra_work_adds() {
        let account = Account { busy_s: 2.0, extra_work_s: 0.1, ..Account::default() };
        assert!((account.slowdown() - 1.05).abs() < 1e-12);
        assert!((Account::default().slowdown() - 1.0).abs() < 1e-12);
    }
}
