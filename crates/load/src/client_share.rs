//! How much of each percentile may be the client's own doing.
//!
//! A measured time M is the server's, T, and what the client added to it, D. When the client is held up is no matter of
//! how long the server takes for that very operation: the two are taken as independent. Then the operations beyond x are
//! those that were there at the server, and those that were pushed over it:
//!
//! ```text
//! P(M > x) = P(T > x) + E_D[ P(x − D < T ≤ x) ]
//! ```
//!
//! The last term is read off the recorded delays and, to first order, the measured distribution in the place of the
//! server's. What remains is the server's own percentile; where it lies so far from the measured one that somebody would
//! notice, the percentile is in client_share. Whether a whole run may be believed is [`crate::validity`]'s.

use crate::record::{ClientStats, Micros};

/// The percentiles that are looked at, with their quantiles.
const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// What a percentile may be off without being in client_share: this share of it,
const TOLERATED_SHARE: f64 = 0.02;
/// or so much, microseconds, which two looks at a clock and a wake-up take.
const TOLERATED_US: u64 = 20;
/// Delays that differ by no more than this factor are taken as one.
const ALIKE: f64 = 1.05;

/// A percentile of the response time of which a part may be the client's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientShare {
    /// Which: `p99.9`.
    pub percentile: &'static str,
    /// What was measured, microseconds.
    pub response_time_us: u64,
    /// About so much of it the client has added, microseconds.
    pub client_us: u64,
    /// Share of the operations that it held up for longer than would be overlooked, 0 to 1.
    pub held_up: f64,
}

/// The percentiles that are in client_share, the lowest first.
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

/// The response time without what the client has added, microseconds: an estimate, whose percentiles rest on the argument
/// above.
pub struct ServerTimes {
    measured: Tail,
    server: Tail,
    delays: Vec<(u64, f64)>,
    mean: f64,
}

impl ServerTimes {
    /// Of what was measured; none where nothing was.
    pub fn of(response: &Micros, client: &ClientStats) -> Option<Self> {
        if response.is_empty() {
            return None;
        }
        let delays = delays(client);
        let measured = Tail::of(response);
        let delay = delays.iter().map(|(us, share)| *us as f64 * share).sum::<f64>();
        Some(Self { server: measured.without(&delays), measured, delays, mean: response.mean() - delay })
    }

    /// What a share of `quantile` does not exceed.
    pub fn percentile(&self, quantile: f64) -> u64 {
        self.server.percentile(quantile)
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The largest, if the client's longest delay was in it.
    pub fn max(&self) -> u64 {
        self.measured.percentile(1.0).saturating_sub(self.delays.last().map_or(0, |(us, _)| *us))
    }
}

/// The client's delays that are not overlooked, in microseconds, and the share of operations that has each, the shortest
/// first. In a pause in which sends fall due, as many replies come in, and how late those are read nobody sees before
/// the kernel is asked: late sends count twice.
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

/// The times of a histogram and what share of all has each, so many times over.
fn shares(waits: &Micros, times: f64) -> impl Iterator<Item = (u64, f64)> {
    let each = times / waits.len() as f64;
    waits.iter_recorded().map(move |step| (step.value_iterated_to(), each * step.count_at_value() as f64))
}

/// Times in their order, and the share of operations beyond each. There is one at least.
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

    /// The same without those that these delays have pushed over each time.
    fn without(&self, delays: &[(u64, f64)]) -> Self {
        let rest = self.0.iter().map(|&(us, beyond)| {
            let pushed = |(delay, share): &(u64, f64)| share * (self.beyond(us.checked_sub(*delay)) - beyond);
            (us, beyond - delays.iter().map(pushed).sum::<f64>())
        });
        Self(rest.collect())
    }

    /// The share of operations beyond a time; all are beyond none.
    fn beyond(&self, us: Option<u64>) -> f64 {
        let at = us.map_or(0, |us| self.0.partition_point(|(value, _)| *value <= us));
        if at == 0 { 1.0 } else { self.0[at - 1].1 }
    }

    /// The first time that a share of `quantile` does not exceed. It is looked for one by one: a tail without the pushed
    /// ones need not fall all the way, for beyond it lie those that were held up twice, of which the first order knows
    /// nothing.
    fn percentile(&self, quantile: f64) -> u64 {
        // Counts become shares by division.
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

    /// What is in client_share of so many operations of these times, of which the client says so of its sends.
    fn in_doubt(operations: impl Iterator<Item = (u32, u32)>) -> Vec<ClientShare> {
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

    /// Ten thousand operations of a millisecond, of which so many took 3 ms longer; the client was late for so many.
    fn fixed(slow: u32, late: u32) -> Vec<ClientShare> {
        let longer = |is: bool| if is { 3_000 } else { 0 };
        in_doubt((0..10_000).map(|number| (1_000 + longer(number < slow), 5 + longer(number < late))))
    }

    #[test]
    fn a_tail_that_the_client_was_late_for_is_in_doubt() {
        assert_eq!(names(&fixed(30, 30)), ["p99.9", "p99.99"]);
        assert_eq!(names(&fixed(200, 200)), ["p99", "p99.9", "p99.99"]);
        assert!(fixed(30, 30)[0].client_us.abs_diff(3_000) <= 4, "three digits");
    }

    #[test]
    fn a_tail_of_the_server_s_is_not() {
        assert_eq!(fixed(30, 0), []);
        assert_eq!(fixed(200, 0), []);
    }

    #[test]
    fn what_nobody_would_notice_is_no_doubt() {
        assert_eq!(in_doubt((0..10_000).map(|number| (1_000 + number % 15, 15))), []);
        assert_eq!(
            client_shares(&Interval::new(1, 0).operations[0].response_time, &Interval::new(1, 0).client),
            []
        );
    }

    /// Exponential times of 2 ms. Of the sends one in two hundred is up to 3 ms late, and of the replies as many.
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
    fn a_distribution_that_is_wider_than_the_delays_hardly_notices_them() {
        let stats = disturbed();
        let client_shares = client_shares(&stats.operations[0].response_time, &stats.client);
        assert!(
            !names(&client_shares).iter().any(|name| ["p50", "p90", "p95", "p99"].contains(name)),
            "{client_shares:?}"
        );
    }

    #[test]
    fn what_remains_is_the_server_s() {
        let stats = disturbed();
        let server =
            ServerTimes::of(&stats.operations[0].response_time, &stats.client).expect("there are times");
        for (known_us, said_us) in [
            (2_000.0, server.mean()),
            (2_000.0 * f64::ln(10.0), server.percentile(0.9) as f64),
            (2_000.0 * f64::ln(100.0), server.percentile(0.99) as f64),
        ] {
            assert!((said_us / known_us - 1.0).abs() < 0.02, "{said_us} µs for {known_us} µs");
        }
        assert!(server.max() < stats.operations[0].response_time.max());
    }
}
