//! The elasticity of throughput: how much it follows a resource.
//!
//! A server is measured in pairs of slices, one plain and one with less of a resource. The elasticity is the relative change of
//! throughput over that of the resource, `E = Δln X / Δln r`. It is 1 where the resource limits the server, by the operational
//! law `X ≤ m / D`, and 0 where it does not. Source: R. G. D. Allen, "The concept of arc elasticity of demand", Review of Economic
//! Studies 1 (1934), in logarithms; Lazowska et al., *Quantitative System Performance* (1984), §3.3 and §5.2, for the law.
//!
//! Each pair gives one estimate, so what drifts from pair to pair cancels. Pairs alternate their order (plain first, perturbed
//! first), so what drifts within a pair has both signs. The interval is the one of [`crate::comparison::ratio`]: Student's t for three to
//! five pairs, signed ranks from six on where the confidence level permits.

use thiserror::Error;

use crate::comparison::ratio::IntervalMethod;
use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::location::{signed_rank, student_t};

/// Least number of pairs of an estimate.
pub const FEWEST_PAIRS: usize = 3;

/// A change of the resource below 2 % is too small: noise of 1 % in throughput would be half of an elasticity.
pub const SMALLEST_CHANGE: f64 = 0.02;

/// A plain slice and a perturbed one beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Throughput of the plain slice, in any unit.
    pub plain: f64,
    /// Throughput of the perturbed slice, in the same unit.
    pub perturbed: f64,
    /// The resource in the perturbed slice over that in the plain one, as measured: 0.8 where a fifth was taken.
    pub left: f64,
}

impl Pair {
    /// Whether the resource changed enough for an estimate. It depends on the resource alone and not on throughput, so leaving
    /// out such pairs does not bias the estimate.
    pub fn is_changed(&self) -> bool {
        self.left.is_finite() && self.left > 0.0 && self.left.ln().abs() >= SMALLEST_CHANGE
    }

    /// The elasticity that this pair shows; none if a value has no logarithm or the resource did not change.
    pub fn elasticity(&self) -> Option<f64> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        (self.is_changed() && positive(self.plain) && positive(self.perturbed))
            .then(|| (self.perturbed / self.plain).ln() / self.left.ln())
    }
}

/// An elasticity with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElasticityEstimate {
    /// The estimate.
    pub value: f64,
    /// Its confidence interval.
    pub interval: ConfidenceInterval,
    /// Number of pairs.
    pub pairs: usize,
    /// The level of the interval.
    pub confidence: Confidence,
    /// The method of the interval.
    pub method: IntervalMethod,
}

/// Why there is no elasticity.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ElasticityError {
    /// Too few pairs.
    #[error("an elasticity needs at least {needed} pairs of slices, and there are {pairs}")]
    TooFewPairs {
        /// Number of pairs.
        pairs: usize,
        /// Number of pairs needed.
        needed: usize,
    },
    /// A pair without an elasticity: throughput is not positive, or the resource did not change.
    #[error(
        "pair {pair} (counted from 0) has no elasticity: throughput {plain} and {perturbed}, resource left {left}"
    )]
    NoElasticity {
        /// Which pair, counted from 0.
        pair: usize,
        /// Its plain throughput as text, because JSON has no NaN.
        plain: String,
        /// Its perturbed throughput.
        perturbed: String,
        /// What was left of the resource.
        left: String,
    },
}

/// Estimates the elasticity from pairs.
///
/// ```
/// use stats::{confidence::Confidence, elasticity::{self, Pair}};
/// // A fifth less of the CPUs, and a fifth less throughput: the CPUs limit.
/// let pairs = [(1000.0, 801.0), (990.0, 795.0), (1010.0, 806.0), (1003.0, 800.0)]
///     .map(|(plain, perturbed)| Pair { plain, perturbed, left: 0.8 });
/// let found = elasticity::estimate(&pairs, Confidence::P95)?;
/// assert!(found.interval.low > 0.9 && found.interval.high < 1.1);
/// # Ok::<(), elasticity::ElasticityError>(())
/// ```
pub fn estimate(pairs: &[Pair], confidence: Confidence) -> Result<ElasticityEstimate, ElasticityError> {
    let values: Vec<f64> = pairs
        .iter()
        .enumerate()
        .map(|(at, pair)| {
            pair.elasticity().ok_or_else(|| ElasticityError::NoElasticity {
                pair: at,
                plain: pair.plain.to_string(),
                perturbed: pair.perturbed.to_string(),
                left: pair.left.to_string(),
            })
        })
        .collect::<Result<_, _>>()?;
    let too_few = || ElasticityError::TooFewPairs { pairs: values.len(), needed: FEWEST_PAIRS };
    if values.len() < FEWEST_PAIRS {
        return Err(too_few());
    }
    let method = IntervalMethod::for_blocks(values.len(), confidence);
    let centre = match method {
        IntervalMethod::StudentT => student_t(&values, confidence),
        IntervalMethod::SignedRank => signed_rank(&values, confidence),
    }
    .ok_or_else(too_few)?;
    Ok(ElasticityEstimate {
        value: centre.centre,
        interval: centre.interval,
        pairs: values.len(),
        confidence,
        method,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    use super::*;

    /// Pairs of a server whose throughput is `1000 · left^elasticity`, with normal noise of this standard deviation in each
    /// slice and a drift from slice to slice, in the order ABBA.
    fn pairs(elasticity: f64, noise: f64, drift: f64, count: usize, rng: &mut Pcg64) -> Vec<Pair> {
        let normal = Normal::new(0.0, noise).unwrap();
        let mut slice = 0.0;
        (0..count)
            .map(|at| {
                let left: f64 = 0.8 + rng.random_range(-0.01..0.01);
                let mut throughput = |left: f64| {
                    slice += 1.0;
                    1000.0 * (elasticity * left.ln() + normal.sample(rng) + drift * slice).exp()
                };
                let (plain, perturbed) = if at % 2 == 0 {
                    let plain = throughput(1.0);
                    (plain, throughput(left))
                } else {
                    let perturbed = throughput(left);
                    (throughput(1.0), perturbed)
                };
                Pair { plain, perturbed, left }
            })
            .collect()
    }

    #[test]
    fn the_interval_contains_the_truth_as_often_as_it_says() {
        let rng = &mut Pcg64::seed_from_u64(17);
        for (truth, count, drift) in [(0.0, 4, 0.0), (1.0, 4, 0.002), (0.4, 8, 0.0), (1.0, 12, -0.002)] {
            let contained = (0..1000)
                .filter(|_| {
                    let found = estimate(&pairs(truth, 0.02, drift, count, rng), Confidence::P95).unwrap();
                    found.interval.contains(truth)
                })
                .count();
            // 95 %, less three standard errors of a share of 1,000.
            assert!(contained >= 929, "{truth} with {count} pairs: {contained} of 1000");
        }
    }

    #[test]
    fn noise_of_two_percent_decides_with_eight_pairs() {
        let rng = &mut Pcg64::seed_from_u64(5);
        let decided = |truth: f64, rng: &mut Pcg64| {
            let found = estimate(&pairs(truth, 0.02, 0.0, 8, rng), Confidence::P95).unwrap();
            if truth > 0.5 { found.interval.low > 0.5 } else { found.interval.high < 0.25 }
        };
        for truth in [0.0, 1.0] {
            let count = (0..500).filter(|_| decided(truth, rng)).count();
            assert!(count >= 450, "elasticity {truth}: {count} of 500 decided");
        }
    }

    #[test]
    fn what_has_no_elasticity_is_refused_with_its_values() {
        let pair = Pair { plain: 100.0, perturbed: 80.0, left: 0.8 };
        let few = estimate(&[pair; 2], Confidence::P95).unwrap_err();
        assert_eq!(few, ElasticityError::TooFewPairs { pairs: 2, needed: 3 });
        for wrong in
            [Pair { left: 1.0, ..pair }, Pair { plain: 0.0, ..pair }, Pair { perturbed: f64::NAN, ..pair }]
        {
            let error = estimate(&[pair, pair, wrong], Confidence::P95).unwrap_err();
            assert!(matches!(error, ElasticityError::NoElasticity { pair: 2, .. }), "{error}");
        }
        assert!(pair.is_changed() && !Pair { left: 0.99, ..pair }.is_changed());
    }

    proptest! {
        #[test]
        fn it_depends_on_ratios_only(truth in -0.5..1.5_f64, scale in 0.01..1e6_f64, left in 0.3..0.95_f64) {
            let pair = Pair { plain: scale, perturbed: scale * left.powf(truth), left };
            let found = estimate(&[pair; 3], Confidence::P95).unwrap();
            prop_assert!((found.value - truth).abs() < 1e-6);
            prop_assert!(found.interval.low <= found.value + 1e-9 && found.value <= found.interval.high + 1e-9);
        }
    }
}
