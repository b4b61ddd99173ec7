//! Moderated variances: what many alike quantities together say of the scatter of each, where each has few values.
//!
//! Four values a side leave a variance six degrees of freedom: it is wrong by a factor of two in one of ten cases, and Student's t
//! must allow for that. Where hundreds of functions are measured alike, their variances have a distribution that can be
//! estimated: a scaled inverse χ² with `degrees` degrees of freedom around `variance`. The best estimate of each variance is then a
//! mean of its own and of the common one, weighted by their degrees of freedom, and t has the sum of both.
//!
//! Source: G. K. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
//! Experiments", Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3: section 4 for the posterior variance and the moderated t,
//! section 6.2 for the estimators, the appendix for the inverse of the trigamma function.

use statrs::function::gamma::digamma;

/// From here on the asymptotic series are exact to a double's precision.
const ASYMPTOTIC: f64 = 12.0;

/// A variance with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// Its value.
    pub value: f64,
    /// Its degrees of freedom; infinite where it is known.
    pub degrees: f64,
}

/// The distribution of the variances of alike quantities: the prior of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VariancePrior(Variance);

impl VariancePrior {
    /// Estimates it from the variances of alike quantities. `None` with fewer than three that are positive and finite.
    ///
    /// ```
    /// use stats::moderated::{Variance, VariancePrior};
    /// let alike: Vec<Variance> = (0..50).map(|n| Variance { value: 1.0 + f64::from(n % 5) / 10.0, degrees: 6.0 }).collect();
    /// let prior = VariancePrior::of(&alike).expect("fifty variances");
    /// let moderated = prior.moderate(Variance { value: 0.1, degrees: 6.0 });
    /// assert!(moderated.value > 1.0 && moderated.degrees > 100.0);
    /// ```
    pub fn of(variances: &[Variance]) -> Option<Self> {
        let is_usable = |variance: &&Variance| {
            variance.value > 0.0
                && variance.value.is_finite()
                && variance.degrees > 0.0
                && variance.degrees.is_finite()
        };
        let usable: Vec<&Variance> = variances.iter().filter(is_usable).collect();
        if usable.len() < 3 {
            return None;
        }
        let n = usable.len() as f64;
        // Logarithms, of which the sampling error is known (section 6.2).
        let centred = |variance: &Variance| {
            let half = variance.degrees / 2.0;
            variance.value.ln() - digamma(half) + half.ln()
        };
        let logs: Vec<f64> = usable.iter().map(|variance| centred(variance)).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let by_chance = usable.iter().map(|variance| trigamma(variance.degrees / 2.0)).sum::<f64>() / n;
        let beyond = spread - by_chance;
        if beyond <= 0.0 {
            // They scatter no more than by chance: all have one variance.
            return Some(Self(Variance { value: mean.exp(), degrees: f64::INFINITY }));
        }
        let half = inverse_trigamma(beyond);
        let value = (mean + digamma(half) - half.ln()).exp();
        Some(Self(Variance { value, degrees: 2.0 * half }))
    }

    /// The common variance, and how many degrees of freedom it is worth.
    pub fn common(self) -> Variance {
        self.0
    }

    /// The posterior mean of a variance, with the degrees of freedom of the moderated t.
    pub fn moderate(self, own: Variance) -> Variance {
        let common = self.0;
        if common.degrees.is_infinite() {
            return common;
        }
        let degrees = common.degrees + own.degrees;
        let value = (common.degrees * common.value + own.degrees * own.value) / degrees;
        Variance { value, degrees }
    }
}

/// The second derivative of ln Γ, of a positive number (Abramowitz & Stegun 6.4.6, 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < ASYMPTOTIC {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    // Bernoulli numbers.
    let series =
        y * (1.0 / 6.0 + y * (-1.0 / 30.0 + y * (1.0 / 42.0 + y * (-1.0 / 30.0 + y * (5.0 / 66.0)))));
    sum + (1.0 + 0.5 / x + series) / x
}

/// Its derivative (6.4.6, 6.4.13).
fn tetragamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < ASYMPTOTIC {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (0.5 + y * (-1.0 / 6.0 + y * (1.0 / 6.0 + y * (-0.3 + y * (5.0 / 6.0)))));
    sum - y * (1.0 + 1.0 / x + series)
}

/// The number whose trigamma is `x`, a positive number: Newton's method on its reciprocal, which converges from below.
fn inverse_trigamma(x: f64) -> f64 {
    // Limits of the function for large and for small numbers.
    if x > 1e7 {
        return 1.0 / x.sqrt();
    }
    if x < 1e-6 {
        return 1.0 / x;
    }
    let mut y = 0.5 + 1.0 / x;
    for _ in 0..50 {
        let value = trigamma(y);
        let step = value * (1.0 - value / x) / tetragamma(y);
        y += step;
        if -step / y < 1e-12 {
            break;
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{ChiSquared, Distribution};
    use rand_pcg::Pcg64;

    use super::*;

    fn of(values: &[f64], degrees: f64) -> Vec<Variance> {
        values.iter().map(|value| Variance { value: *value, degrees }).collect()
    }

    #[test]
    fn known_values_of_the_derivatives_of_ln_gamma() {
        // ζ(3), and Abramowitz & Stegun 6.4.4.
        let zeta_3 = 1.202_056_903_159_594_3;
        for (found, expected) in [
            (trigamma(1.0), PI * PI / 6.0),
            (trigamma(0.5), PI * PI / 2.0),
            (trigamma(2.0), PI * PI / 6.0 - 1.0),
            (tetragamma(1.0), -2.0 * zeta_3),
            (tetragamma(0.5), -14.0 * zeta_3),
        ] {
            assert!((found - expected).abs() < 1e-12 * expected.abs(), "{found} {expected}");
        }
    }

    #[test]
    fn the_formulas_of_smyth_by_hand() {
        // Two degrees of freedom each: ψ(1) = −γ and ψ'(1) = π²/6, so e = ln s² + γ. With ln s² = −2, 0, 2 the variance of e is
        // 4, and ψ'(d0/2) = 4 − π²/6. To 50 digits: d0 = 1.575437, s0² = 0.837145.
        let prior = VariancePrior::of(&of(&[(-2.0_f64).exp(), 1.0, 2.0_f64.exp()], 2.0)).unwrap();
        let Variance { value, degrees } = prior.common();
        assert!((trigamma(degrees / 2.0) - (4.0 - PI * PI / 6.0)).abs() < 1e-9, "{degrees}");
        assert!((degrees - 1.575_436_747_160_15).abs() < 1e-9, "{degrees}");
        assert!((value - 0.837_144_594_083_99).abs() < 1e-9, "{value}");
        // The posterior of a variance is the mean, weighted by the degrees of freedom.
        let moderated = prior.moderate(Variance { value: 5.0, degrees: 2.0 });
        assert!((moderated.value - (degrees * value + 10.0) / (degrees + 2.0)).abs() < 1e-12);
        assert!((moderated.degrees - degrees - 2.0).abs() < 1e-12);
    }

    #[test]
    fn variances_that_scatter_by_chance_only_are_one() {
        let rng = &mut Pcg64::seed_from_u64(5);
        let chance = ChiSquared::new(6.0).unwrap();
        let equal: Vec<f64> = (0..400).map(|_| 3.0 * chance.sample(rng) / 6.0).collect();
        let common = VariancePrior::of(&of(&equal, 6.0)).unwrap().common();
        assert!((common.value - 3.0).abs() < 0.2 && common.degrees > 60.0, "{common:?}");
    }

    #[test]
    fn the_distribution_of_unequal_variances_is_found() {
        let rng = &mut Pcg64::seed_from_u64(6);
        let (prior, chance) = (ChiSquared::new(8.0).unwrap(), ChiSquared::new(6.0).unwrap());
        let drawn: Vec<f64> =
            (0..5000).map(|_| 2.0 * 8.0 / prior.sample(rng) * chance.sample(rng) / 6.0).collect();
        let common = VariancePrior::of(&of(&drawn, 6.0)).unwrap().common();
        assert!((common.value - 2.0).abs() < 0.1 && (common.degrees - 8.0).abs() < 1.2, "{common:?}");
    }

    #[test]
    fn few_variances_have_no_prior() {
        assert_eq!(VariancePrior::of(&of(&[1.0, 2.0, 0.0, f64::NAN], 4.0)), None);
        assert_eq!(VariancePrior::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_inverse_is_one(y in 0.01_f64..1e5) {
            let found = inverse_trigamma(trigamma(y));
            prop_assert!((found - y).abs() < 1e-6 * y, "{found} {y}");
        }

        #[test]
        fn a_moderated_variance_is_between_its_own_and_the_common_one(
            values in prop::collection::vec(1e-3_f64..1e3, 3..60),
            own in 1e-3_f64..1e3,
            degrees in 1.0_f64..20.0,
        ) {
            let prior = VariancePrior::of(&of(&values, degrees)).unwrap();
            let common = prior.common();
            prop_assert!(common.value > 0.0 && common.value.is_finite() && common.degrees > 0.0);
            let found = prior.moderate(Variance { value: own, degrees });
            let (low, high) = (own.min(common.value), own.max(common.value));
            prop_assert!(found.value >= low * (1.0 - 1e-9) && found.value <= high * (1.0 + 1e-9));
            prop_assert!(found.degrees >= degrees);
        }
    }
}
