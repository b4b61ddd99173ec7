//! Response times that follow from arithmetic.

use std::time::Duration;

use crate::known::behaviour::Freeze;

/// The quantile of response time for a server that freezes periodically. Requests arrive evenly or as a Poisson
/// process; the number of connections does not matter.
///
/// A request that arrives `u` into a freeze of length F waits F − u, and then for the requests that arrived before it
/// in the freeze. Those take `load` · u, where `load` is the share of a second that the server needs for a second's
/// requests. So the wait falls in a straight line from F to 0, which it reaches F / (1 − load) after the start of the
/// freeze. Of a period P, the share (F − w) / (1 − load) / P waits longer than w. (This is the fluid limit of a queue
/// with interruptions: L. Kleinrock, *Queueing Systems*, vol. 2 (1976), §2.7.) With a load near 0 and a freeze of 1 s
/// in 10 s, the result is 0.5 s at the 95th percentile and 0.9 s at the 99th.
pub fn frozen_response(freeze: Freeze, load: f64, quantile: f64) -> Duration {
    let waiting = (1.0 - quantile) * (1.0 - load) * freeze.period.as_secs_f64();
    Duration::try_from_secs_f64(freeze.length.as_secs_f64() - waiting).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freeze_of_one_second_in_ten_gives_half_a_second_at_p95() {
        let freeze: Freeze = "1s/10s".parse().expect("a freeze");
        let at = |quantile| frozen_response(freeze, 0.0, quantile).as_secs_f64();
        assert!(
            [(0.5, 0.0), (0.95, 0.5), (0.99, 0.9), (1.0, 1.0)].iter().all(|(q, s)| (at(*q) - s).abs() < 1e-9)
        );
    }

    #[test]
    fn a_simulated_queue_gives_the_same_quantiles() {
        let (freeze, rate, service) = ("1s/10s".parse().expect("a freeze"), 1_000, 0.000_2);
        let mut free_at: f64 = 0.0;
        let mut waits: Vec<f64> = (0..rate * 10)
            .map(|n| {
                let due = f64::from(n) / f64::from(rate);
                let begin =
                    free_at.max(due).max(if (4.5..5.5).contains(&free_at.max(due)) { 5.5 } else { 0.0 });
                free_at = begin + service;
                free_at - due
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        for quantile in [0.92, 0.95, 0.99] {
            let simulated = waits[(quantile * waits.len() as f64) as usize];
            let known = frozen_response(freeze, f64::from(rate) * service, quantile).as_secs_f64();
            assert!((simulated - known).abs() < 0.003, "{quantile}: {simulated} {known}");
        }
    }
}
