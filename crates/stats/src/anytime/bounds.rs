//! Bounds of one side that are valid at all times together: of a rate, of a quantile and of a whole distribution.

use super::counts::{Dispersion, share};

/// The highest rate of events that is possible, 0 to 1, with 1 - `alpha`.
///
/// It is where [`share`] rejects; bunched events weaken the evidence by their dispersion.
pub fn highest_rate(events: u64, operations: u64, alpha: f64, dispersion: Dispersion) -> f64 {
    let others = operations.saturating_sub(events);
    if others == 0 {
        return 1.0;
    }
    let (mut possible, mut excluded) = (events as f64 / operations as f64, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(possible, excluded);
        let evidence = share(events, others, middle).log() / dispersion.factor();
        if evidence >= -alpha.ln() {
            excluded = middle;
        } else {
            possible = middle;
        }
    }
    excluded
}

/// The highest rate that is possible after `operations` without an event: ln((n+1)/α)/n.
pub fn highest_rate_without_events(operations: u64, alpha: f64) -> f64 {
    let n = operations as f64;
    if operations == 0 { 1.0 } else { (((n + 1.0) / alpha).ln() / n).min(1.0) }
}

/// How far the rank of the quantile `p` may be from `p`, after `operations`: the quantile is between those of p - this and p + this.
///
/// Source: S. R. Howard & A. Ramdas, "Sequential estimation of quantiles", arXiv 1906.09712.
pub fn quantile_rank_error(p: f64, operations: u64, alpha: f64) -> f64 {
    let t = operations.max(2) as f64;
    let l = (1.4 * (2.1 * t).ln().ln() + (10.0 / alpha).ln()) / t;
    1.5 * (p * (1.0 - p) * l).sqrt() + 0.8 * l
}

/// How far a whole empirical distribution may be from the true one, after `operations`.
///
/// Source: as [`quantile_rank_error`].
pub fn distribution_error(operations: u64, alpha: f64) -> f64 {
    let t = operations.max(1) as f64;
    0.85 * ((((std::f64::consts::E * t).ln()).ln() + 0.8 * (1612.0 / alpha).ln()) / t).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_the_published_values() {
        assert!((quantile_rank_error(0.99, 10_000, 0.05) - 0.00504).abs() < 5e-6);
        assert!((quantile_rank_error(0.99, 100_000, 0.05) - 0.00147).abs() < 5e-6);
        assert!((distribution_error(10_000, 0.05) - 0.0277).abs() < 5e-5);
        assert!((highest_rate_without_events(10_000, 0.01) - 0.0014).abs() < 5e-5);
    }

    #[test]
    fn a_rate_with_events_continues_the_one_without() {
        let none = highest_rate(0, 10_000, 0.01, Dispersion::INDEPENDENT);
        assert!((none / highest_rate_without_events(10_000, 0.01) - 1.0).abs() < 0.002, "{none}");
        let some = highest_rate(10, 10_000, 0.01, Dispersion::INDEPENDENT);
        assert!((0.001..0.004).contains(&some) && some > none, "{some}");
        assert_eq!(highest_rate(7, 7, 0.01, Dispersion::INDEPENDENT), 1.0);
        assert_eq!(highest_rate(0, 0, 0.01, Dispersion::INDEPENDENT), 1.0);
    }
}
