//! How much of each percentile the client itself may have added.
//!
//! A measured time M is the sum of the server's time T and the client's delay D. The delay does not depend on how long
//! the server takes for that operation, so the two are taken as independent. The operations beyond x are those that the
//! server took longer for, and those that the client's delay moved beyond x:
//!
//! ```text
//! P(M > x) = P(T > x) + E_D[ P(x − D < T ≤ x) ]
//! ```
//!
//! The last term follows from the recorded delays and, to first order, from the measured distribution in place of the
//! server's. The rest is the server's own percentile. Where it differs visibly from the measured one, the percentile is
//! reported as a client share. Whether a whole run is valid is the matter of [`crate::validity`].

use crate::record::{ClientStats, Micros};

/// The percentiles that are checked, with their quantiles.
const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// A smaller difference is not reported: this share of the percentile,
const TOLERATED_SHARE: f64 = 0.02;
/// or this many microseconds: two readings of a clock and a wake-up take as long.
const TOLERATED_US: u64 = 20;
/// Delays that differ by no more than this factor are counted as equal.
const ALIKE: f64 = 1.05;

/// A percentile of the response time that may contain a delay of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientShare {
    /// Its name: `p99.9`.
    pub percentile: &'static str,
    /// The measured percentile, microseconds.
    pub response_time_us: u64,
    /// Estimate of the client's part of it, microseconds.
    pub client_us: u64,
    /// Share of the operations that the client delayed visibly, 0 to 1.
    pub held_up: f64,
}

/// The percentiles that may contain a delay of the client, the lowest first.
pub fn client_shares(response: &Micros, client: &ClientStats) -> Vec<ClientShare> {
    let Some(server) = ServerTimes::of(response, client) else { return Vec::new() };
    let client_share = |(percentile, quantile)| {
        let response_time_us = server.measured.percentile(quantile);
        let client_us = response_time_us.saturating_sub(server.percentile(quantile));
        let tolerated_us = TOLERATED_US.max((TOLERATED_SHARE * response_time_us as f64) as u64);
        let longer = server.delays.iter().filter(|(us, _)| *us > tolerated_us);
        let held_up = longer.map(|(_, share)| share).sum::<f64>().min(1.0);
        (client_us > tolerated_us).then_some(ClientShare { percentile, response_time_us, client_us, held_up })
    };
    PERCENTILES.into_iter().filter_map(client_share).collect()
}

/// An estimate of the response time without the client's delays, microseconds. The comment at the top of this file
/// explains the percentiles.
pub struct ServerTimes {
    measured: Tail,
    server: Tail,
    delays: Vec<(u64, f64)>,
    mean: f64,
}

impl ServerTimes {
    /// From the measured response times and delays; none where there are no times.
    pub fn of(response: &Micros, client: &ClientStats) -> Option<Self> {
        if response.is_empty() {
            return None;
        }
        let delays = delays(client);
        let measured = Tail::of(response);
        let delay = delays.iter().map(|(us, share)| *us as f64 * share).sum::<f64>();
        Some(Self { server: measured.without(&delays), measured, delays, mean: response.mean() - delay })
    }

    /// The time that a share of `quantile` of the operations does not exceed.
    pub fn percentile(&self, quantile: f64) -> u64 {
        self.server.percentile(quantile)
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The largest, under the assumption that it contains the client's longest delay.
    pub fn max(&self) -> u64 {
        self.measured.percentile(1.0).saturating_sub(self.delays.last().map_or(0, |(us, _)| *us))
    }
}

/// The client's visible delays in microseconds with the share of operations that has each, the shortest first. Late sends
/// count twice: while the client is delayed, as many replies arrive as sends fall due, and the pickup counts only from
/// the next poll of the kernel.
fn delays(client: &ClientStats) -> Vec<(u64, f64)> {
    let mut delays: Vec<(u64, f64)> = shares(&client.lag, 2.0).chain(shares(&client.pickup, 1.0)).collect();
    delays.retain(|(us, _)| *us > TOLERATED_US);
    delays.sort_by_key(|(us, _)| *us);
    let is_alike = |first: u64, us: u64| us as f64 <= ALIKE * first as f64;
    delays.dedup_by(|next, kept| {
        let merged = is_alike(kept.0, next.0);
        if merged {
            kept.1 += next.1;
        }
        merged
    });
    delays
}

/// The times of a histogram with the share of each, counted `times` times.
fn shares(waits: &Micros, times: f64) -> impl Iterator<Item = (u64, f64)> {
    let each = times / waits.len() as f64;
    waits.iter_recorded().map(move |step| (step.value_iterated_to(), each * step.count_at_value() as f64))
}

/// Times in rising order with the share of operations beyond each. Never empty.
struct Tail(Vec<(u64, f64)>);

impl Tail {
    fn of(response: &Micros) -> Self {
        let all = response.len();
        let mut beyond = all;
        let steps = response.iter_recorded().map(|step| {
            beyond -= step.count_at_value();
            (step.value_iterated_to(), beyond as f64 / all as f64)
        });
        Self(steps.collect())
    }

    /// The same without the operations that these delays moved beyond each time.
    fn without(&self, delays: &[(u64, f64)]) -> Self {
        let rest = self.0.iter().map(|&(us, beyond)| {
            let moved = |(delay, share): &(u64, f64)| share * (self.beyond(us.checked_sub(*delay)) - beyond);
            (us, beyond - delays.iter().map(moved).sum::<f64>())
        });
        Self(rest.collect())
    }

    /// The share of operations beyond a time; 1 where the time is below zero.
    fn beyond(&self, us: Option<u64>) -> f64 {
        let at = us.map_or(0, |us| self.0.partition_point(|(value, _)| *value <= us));
        if at == 0 { 1.0 } else { self.0[at - 1].1 }
    }

    /// The first time that a share of `quantile` does not exceed. A linear search: the corrected tail need not fall
    /// monotonically, because the first order leaves out operations that were delayed twice.
    fn percentile(&self, quantile: f64) -> u64 {
        // Shares are quotients of counts.
        const ROUNDING: f64 = 1e-12;
        let reached = self.0.iter().find(|(_, beyond)| *beyond <= 1.0 - quantile + ROUNDING);
        reached.or(self.0.last()).map_or(0, |(us, _)| *us)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::record::{Interval, record};

    /// The client shares of operations with these response times and lags.
    fn client_shares_of(operations: impl Iterator<Item = (u32, u32)>) -> Vec<ClientShare> {
        let mut stats = Interval::new(1, 0);
        for (response_time_us, lag_us) in operations {
            record(&mut stats.operations[0].response_time, response_time_us);
            record(&mut stats.client.lag, lag_us);
        }
        client_shares(&stats.operations[0].response_time, &stats.client)
    }

    fn names(client_shares: &[ClientShare]) -> Vec<&str> {
        client_shares.iter().map(|client_share| client_share.percentile).collect()
    }

    /// Ten thousand operations of 1 ms. `slow` of them took 3 ms longer; the client was 3 ms late for `late` of them.
    fn fixed(slow: u32, late: u32) -> Vec<ClientShare> {
        let longer = |is: bool| if is { 3_000 } else { 0 };
        client_shares_of((0..10_000).map(|number| (1_000 + longer(number < slow), 5 + longer(number < late))))
    }

    #[test]
    fn a_tail_from_late_sends_is_a_client_share() {
        assert_eq!(names(&fixed(30, 30)), ["p99.9", "p99.99"]);
        assert_eq!(names(&fixed(200, 200)), ["p99", "p99.9", "p99.99"]);
        assert!(fixed(30, 30)[0].client_us.abs_diff(3_000) <= 4, "the histogram has three digits");
    }

    #[test]
    fn a_tail_of_the_server_is_no_client_share() {
        assert_eq!(fixed(30, 0), []);
        assert_eq!(fixed(200, 0), []);
    }

    #[test]
    fn an_invisible_delay_is_no_client_share() {
        assert_eq!(client_shares_of((0..10_000).map(|number| (1_000 + number % 15, 15))), []);
        assert_eq!(
            client_shares(&Interval::new(1, 0).operations[0].response_time, &Interval::new(1, 0).client),
            []
        );
    }

    /// Exponential times with a mean of 2 ms. One in 200 sends is up to 3 ms late, and one in 200 replies.
    fn disturbed() -> Interval {
        let mut stats = Interval::new(1, 0);
        let (mut delays, mut times) = (Pcg64Mcg::seed_from_u64(1), Pcg64Mcg::seed_from_u64(2));
        let mut delay = || if delays.random_bool(0.005) { delays.random_range(0..3_000) } else { 0 };
        for _ in 0..100_000 {
            let (send, read) = (delay(), delay());
            let takes = (-2_000.0 * f64::ln(1.0 - times.random::<f64>())) as u32;
            record(&mut stats.operations[0].response_time, send + takes + read);
            record(&mut stats.client.lag, send);
        }
        stats
    }

    #[test]
    fn delays_shorter_than_the_spread_hardly_change_a_distribution() {
        let stats = disturbed();
        let client_shares = client_shares(&stats.operations[0].response_time, &stats.client);
        assert!(
            !names(&client_shares).iter().any(|name| ["p50", "p90", "p95", "p99"].contains(name)),
            "{client_shares:?}"
        );
    }

    #[test]
    fn the_corrected_times_are_those_of_the_server() {
        let stats = disturbed();
        let server =
            ServerTimes::of(&stats.operations[0].response_time, &stats.client).expect("there are times");
        for (known_us, estimated_us) in [
            (2_000.0, server.mean()),
            (2_000.0 * f64::ln(10.0), server.percentile(0.9) as f64),
            (2_000.0 * f64::ln(100.0), server.percentile(0.99) as f64),
        ] {
            assert!((estimated_us / known_us - 1.0).abs() < 0.02, "{estimated_us} µs for {known_us} µs");
        }
        assert!(server.max() < stats.operations[0].response_time.max());
    }
}
