//! Power: which difference a comparison can detect, and how many blocks a given difference needs.
//!
//! It gives statements such as "with 10 blocks this comparison detects differences of 2.4 % or more". The spread comes from
//! blocks already run ([`crate::comparison::ratio::RatioEstimate::log_sd`]) and is taken as normal. With outliers or modes the figures
//! are a guide only; the coverage tables of `docs/decisions/0002-verdict-statistics.md` are more exact.

use crate::comparison::ratio::{FEWEST_BLOCKS, IntervalMethod};
use crate::comparison::verdict::VerdictRule;
use crate::sample::location::{signed_rank_attained, signed_rank_critical, t_quantile};
use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, Normal};

/// Largest number of blocks that [`blocks_needed`] considers.
pub const MOST_BLOCKS: usize = 1000;

/// The probability that a comparison of `blocks` blocks detects a true relative `difference` (0.05 for 5 %).
///
/// `log_sd` is the standard deviation of the blocks' log ratios. `None` with fewer than three blocks, or if the difference
/// or the spread is negative or not a number. A simulation of the whole rule agrees within 3 points.
///
/// ```
/// use stats::{power::power, verdict::VerdictRule};
/// assert!(power(10, 0.05, 0.03, &VerdictRule::default()).unwrap() > 0.95);
/// assert!(power(5, 0.05, 0.03, &VerdictRule::default()).unwrap() < 0.75);
/// ```
pub fn power(blocks: usize, difference: f64, log_sd: f64, rule: &VerdictRule) -> Option<f64> {
    if !(difference >= 0.0 && is_spread(log_sd)) {
        return None;
    }
    // The interval must lie outside the negligible zone, so only the excess over the zone is detected.
    let excess = difference.ln_1p() - rule.negligible.ln_1p();
    if excess <= 0.0 {
        // Inside the zone, a verdict of a difference would be false.
        return (blocks >= FEWEST_BLOCKS).then_some(0.0);
    }
    power_of_effect(blocks, excess / log_sd, rule)
}

/// The smallest relative difference that a comparison of `blocks` blocks detects with probability `power`, such as 0.024
/// for 2.4 %. `None` for arguments that [`power()`] refuses, or a probability outside 0..1.
///
/// ```
/// use stats::{power::smallest_difference, verdict::VerdictRule};
/// let ten = smallest_difference(10, 0.02, &VerdictRule::default(), 0.95).unwrap();
/// assert!(0.03 < ten && ten < 0.035);
/// ```
pub fn smallest_difference(blocks: usize, log_sd: f64, rule: &VerdictRule, power: f64) -> Option<f64> {
    if !(is_spread(log_sd) && power > 0.0 && power < 1.0) {
        return None;
    }
    let (mut too_small, mut enough) = (0.0, 1000.0);
    for _ in 0..50 {
        let middle = f64::midpoint(too_small, enough);
        if power_of_effect(blocks, middle, rule)? < power {
            too_small = middle;
        } else {
            enough = middle;
        }
    }
    Some((enough * log_sd).exp() * (1.0 + rule.negligible) - 1.0).filter(|least| least.is_finite())
}

/// The least number of blocks that detects a relative `difference` (0.05 for 5 %) with probability `power`.
///
/// `None` if [`MOST_BLOCKS`] are not enough, as for a difference inside [`VerdictRule::negligible`], or for arguments that
/// [`power()`] refuses.
pub fn blocks_needed(difference: f64, log_sd: f64, rule: &VerdictRule, power: f64) -> Option<usize> {
    // Not a bisection: from 5 to 6 blocks the method changes, and the power may fall a little.
    (FEWEST_BLOCKS..=MOST_BLOCKS)
        .find(|&blocks| self::power(blocks, difference, log_sd, rule).is_some_and(|found| found >= power))
}

fn is_spread(log_sd: f64) -> bool {
    log_sd.is_finite() && log_sd >= 0.0
}

/// The power for an effect of this many standard deviations of a block's log ratio.
fn power_of_effect(blocks: usize, effect: f64, rule: &VerdictRule) -> Option<f64> {
    if blocks < FEWEST_BLOCKS {
        return None;
    }
    let (effective_blocks, alpha) = match IntervalMethod::for_blocks(blocks, rule.confidence) {
        IntervalMethod::StudentT => (blocks as f64, rule.confidence.alpha()),
        // The interval is the whole range, so all blocks must fall on one side.
        IntervalMethod::SignedRank if signed_rank_critical(blocks, rule.confidence) == Some(1) => {
            return Some(Normal::standard().cdf(effect).powf(blocks as f64));
        }
        // The power curve of t, adjusted for the efficiency of the rank test on normal data, 3/π (Hollander,
        // Wolfe & Chicken, §3.11), and for its actual level, which comes in steps.
        IntervalMethod::SignedRank => {
            let attained = signed_rank_attained(blocks, rule.confidence)?;
            (blocks as f64 * 3.0 / std::f64::consts::PI, attained)
        }
    };
    let critical = t_quantile(blocks - 1, 1.0 - alpha / 2.0)?;
    t_power(blocks - 1, critical, effect * effective_blocks.sqrt())
}

/// P(T > critical) for noncentral t with noncentrality `shift`: the normal probability for a given sample spread,
/// averaged over the distribution of the spread (Simpson's rule over ±8 standard deviations of a chi variable).
///
/// The opposite tail, a verdict in the wrong direction, is not counted.
fn t_power(degrees: usize, critical: f64, shift: f64) -> Option<f64> {
    const STEPS: usize = 400;
    let degrees = degrees as f64;
    let chi_squared = ChiSquared::new(degrees).ok()?;
    let normal = Normal::standard();
    // χ has a standard deviation under 1/√2 around √degrees.
    let from = (degrees.sqrt() - 6.0).max(0.0);
    let width = (degrees.sqrt() + 6.0 - from) / STEPS as f64;
    let density = |step: usize| {
        let chi = from + width * step as f64;
        let found = normal.cdf(shift - critical * chi / degrees.sqrt());
        // The density of χ is 2χ times that of χ², which is infinite at zero for one degree of freedom.
        if chi == 0.0 { 0.0 } else { found * 2.0 * chi * chi_squared.pdf(chi * chi) }
    };
    let simpson = |step: usize| match step {
        0 | STEPS => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let power = (0..=STEPS).map(|step| simpson(step) * density(step)).sum::<f64>() * width / 3.0;
    Some(power.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::verdict::{RatioVerdict, Side, compare};
    use rand::SeedableRng;
    use rand_distr::Distribution;
    use rand_pcg::Pcg64;

    #[test]
    fn the_power_of_t_agrees_with_the_tables() {
        // R: power.t.test(n = 10, delta = 1, sd = 1, type = "paired"): 0.803_1 two-sided, strict = FALSE.
        let critical = t_quantile(9, 0.975).unwrap();
        let power = t_power(9, critical, 10.0_f64.sqrt()).unwrap();
        assert!((power - 0.8031).abs() < 5e-4, "{power}");
        // Without a shift, the power is the tail; this also checks the integral with two degrees of freedom.
        for degrees in [2, 4, 29] {
            let critical = t_quantile(degrees, 0.975).unwrap();
            assert!((t_power(degrees, critical, 0.0).unwrap() - 0.025).abs() < 1e-5, "{degrees}");
        }
    }

    #[test]
    fn a_difference_is_detected_at_the_stated_power() {
        let rng = &mut Pcg64::seed_from_u64(5);
        let (log_sd, runs) = (0.03, 1000);
        let noise = rand_distr::Normal::new(0.0, log_sd).unwrap();
        for (blocks, promised) in
            [(3, 0.8), (5, 0.8), (6, 0.95), (7, 0.95), (10, 0.8), (10, 0.95), (20, 0.95)]
        {
            let truth = 1.0 + smallest_difference(blocks, log_sd, &VerdictRule::default(), promised).unwrap();
            let found = (0..runs)
                .filter(|_| {
                    let pairs: Vec<(f64, f64)> =
                        (0..blocks).map(|_| (truth * f64::exp(noise.sample(rng)), 1.0)).collect();
                    let verdict = compare(&pairs, &VerdictRule::default()).verdict;
                    matches!(verdict, RatioVerdict::Difference { higher: Side::A, .. })
                })
                .count();
            let share = found as f64 / f64::from(runs);
            assert!(
                (share - promised).abs() < 0.035,
                "{blocks} blocks: {share} detected, {promised} expected"
            );
        }
    }

    #[test]
    fn smaller_differences_need_more_blocks() {
        let needed = |difference| blocks_needed(difference, 0.03, &VerdictRule::default(), 0.95);
        assert_eq!([needed(0.50), needed(0.10), needed(0.05)], [Some(3), Some(4), Some(10)]);
        assert!(needed(0.02).unwrap() > 50);
        assert_eq!(needed(0.004), None, "inside the negligible zone");
    }

    #[test]
    fn invalid_arguments_have_no_power() {
        let rule = VerdictRule::default();
        assert_eq!(power(2, 0.05, 0.03, &rule), None);
        assert_eq!(power(10, f64::NAN, 0.03, &rule), None);
        assert_eq!(power(10, 0.05, -1.0, &rule), None);
        assert_eq!(smallest_difference(10, 0.03, &rule, 1.0), None);
        assert_eq!(blocks_needed(0.05, f64::INFINITY, &rule, 0.95), None);
    }

    #[test]
    fn without_noise_every_difference_outside_the_negligible_zone_is_detected() {
        assert_eq!(power(3, 0.02, 0.0, &VerdictRule::default()), Some(1.0));
        let least = smallest_difference(3, 0.0, &VerdictRule::default(), 0.95).unwrap();
        assert!((least - VerdictRule::default().negligible).abs() < 1e-12);
    }
}
