//! What must be measured where it follows from arithmetic.

use std::time::Duration;

use crate::known::behaviour::Freeze;

/// The response time that a share `quantile` of the requests does not exceed, where a server freezes and
/// requests come evenly or as a Poisson process, whatever the number of connections.
///
/// A request that comes `u` into a freeze of length F is served F − u later, after those that came before it
/// in the freeze. Those take `load` · u: the share of a second that the server needs for a second's requests.
/// So the wait falls in a straight line from F to nothing, which it reaches F / (1 − load) after the freeze
/// began, and of a period P the share (F − w) / (1 − load) / P has longer waits than w. (The fluid limit of a
/// queue that is interrupted: L. Kleinrock, *Queueing Systems*, vol. 2 (1976), §2.7.) With a load of nearly
/// nothing, and 1 s of 10, that is 0.5 s at the 95th percentile and 0.9 s at the 99th.
pub fn frozen_response(freeze: Freeze, load: f64, quantile: f64) -> Duration {
    let waiting = (1.0 - quantile) * (1.0 - load) * freeze.period.as_secs_f64();
    Duration::try_from_secs_f64(freeze.length.as_secs_f64() - waiting).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_ten_is_half_a_second_at_p95() {
        let freeze: Freeze = "1s/10s".parse().expect("a freeze");
        let at = |quantile| frozen_response(freeze, 0.0, quantile).as_secs_f64();
        assert!(
            [(0.5, 0.0), (0.95, 0.5), (0.99, 0.9), (1.0, 1.0)].iter().all(|(q, s)| (at(*q) - s).abs() < 1e-9)
        );
    }

    #[test]
    fn a_queue_served_one_by_one_gives_the_same() {
        let (freeze, rate, service) = ("1s/10s".parse().expect("a freeze"), 1_000, 0.000_2);
        let mut free_at: f64 = 0.0;
        let mut waits: Vec<f64> = (0..rate * 10)
            .map(|n| {
                let due = f64::from(n) / f64::from(rate);
                let begun =
                    free_at.max(due).max(if (4.5..5.5).contains(&free_at.max(due)) { 5.5 } else { 0.0 });
                free_at = begun + service;
                free_at - due
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        for quantile in [0.92, 0.95, 0.99] {
            let found = waits[(quantile * waits.len() as f64) as usize];
            let known = frozen_response(freeze, f64::from(rate) * service, quantile).as_secs_f64();
            assert!((found - known).abs() < 0.003, "{quantile}: {found} {known}");
        }
    }
}
