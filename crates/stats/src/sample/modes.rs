//! Do the trials of one variant fall into two modes?
//!
//! From restart to restart, a server and its client can run at one of two speeds, a factor of 2 apart, for a whole trial.
//! The mean of such trials is a speed that no trial had. The report must state the modes: "two modes: 9 trials near 125 k,
//! 7 near 250 k". It does not explain their cause.
//!
//! The logarithms are split in two where the sum of squares within the parts is least (2-means, exact in one dimension:
//! W. D. Fisher, "On grouping for maximum homogeneity", JASA 53 (1958)). The parts are modes if all of these are true:
//!
//! * Each part has at least two members: a single value is an outlier.
//! * The centres are at least 10 % apart.
//! * The distance of the centres, in standard deviations within the parts (Ashman, Bird & Zepf, "Detecting bimodality in
//!   astronomical datasets", AJ 108 (1994)), exceeds what the best split of *normal* values reaches in 99 of 100 samples.
//! * The gap between the parts is twice the widest gap inside one. The tail of a skewed distribution has no such gap.
//!
//! Measured with `cargo run --release -p stats --example modes`:
//!
//! | samples | modes found |
//! |---|---|
//! | ten normal values, coefficient of variation 5 % | 0.5 % |
//! | four normal values, coefficient of variation 5 % | 0.9 % |
//! | values with an exponential tail | up to 6 % |
//! | four to forty values in modes a factor of 2 apart, 5 % within, also with two members in the smaller mode | over 99 % |
//! | the same with 10 % within, halves | 71 to 85 % |

use crate::sample::describe::{mean, sum_of_squares};

/// Least number of values for two modes: two members each.
pub const FEWEST_VALUES: usize = 2 * FEWEST_MEMBERS;

const FEWEST_MEMBERS: usize = 2;
/// Least ratio of the modes' centres.
const LEAST_RATIO: f64 = 1.1;
/// The gap between the modes must be this many times wider than any gap inside one.
const GAP_STANDS_OUT: f64 = 2.0;

/// The modes of some values.
#[derive(Debug, Clone, PartialEq)]
pub enum Modes {
    /// The number of modes cannot be determined.
    Undetermined {
        /// Why.
        reason: UndeterminedReason,
    },
    /// The values do not show two modes.
    One,
    /// Two modes.
    Two {
        /// The mode with the smaller values.
        low: DetectedMode,
        /// The mode with the larger values.
        high: DetectedMode,
    },
}

/// Why modes were not determined.
#[derive(Debug, Clone, PartialEq)]
pub enum UndeterminedReason {
    /// Fewer values than [`FEWEST_VALUES`].
    TooFew {
        /// Number of values.
        values: usize,
        /// Values needed.
        needed: usize,
    },
    /// A value without a logarithm: zero, negative or not finite.
    NotPositive {
        /// Its index in the input, from 0.
        index: usize,
    },
}

/// One of two modes.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectedMode {
    /// Geometric mean of its members, in their unit.
    pub centre: f64,
    /// Indices of its members in the input, from 0, ascending.
    pub members: Vec<usize>,
}

/// Looks for two modes in positive values, in any order.
///
/// ```
/// use stats::modes::{Modes, detect};
/// let trials = [124e3, 251e3, 126e3, 249e3, 125e3, 127e3];
/// let Modes::Two { low, high } = detect(&trials) else { panic!("one mode") };
/// assert_eq!((low.members.len(), high.members), (4, vec![1, 3]));
/// ```
pub fn detect(values: &[f64]) -> Modes {
    if let Some(index) = values.iter().position(|value| !(value.is_finite() && *value > 0.0)) {
        return Modes::Undetermined { reason: UndeterminedReason::NotPositive { index } };
    }
    if values.len() < FEWEST_VALUES {
        return Modes::Undetermined {
            reason: UndeterminedReason::TooFew { values: values.len(), needed: FEWEST_VALUES },
        };
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let logs: Vec<f64> = order.iter().map(|i| values[*i].ln()).collect();
    let split = best_split(&logs);
    if !are_modes(&logs, split) {
        return Modes::One;
    }
    let mode = |places: &[usize], logs: &[f64]| {
        let mut members = places.to_vec();
        members.sort_unstable();
        DetectedMode { centre: mean(logs).exp(), members }
    };
    Modes::Two { low: mode(&order[..split], &logs[..split]), high: mode(&order[split..], &logs[split..]) }
}

/// The number of values in the lower part of the split with the least sum of squares within the parts.
fn best_split(ascending: &[f64]) -> usize {
    let within = |split: usize| sum_of_squares(&ascending[..split]) + sum_of_squares(&ascending[split..]);
    (FEWEST_MEMBERS..=ascending.len() - FEWEST_MEMBERS)
        .min_by(|a, b| within(*a).total_cmp(&within(*b)))
        .unwrap_or(FEWEST_MEMBERS)
}

/// Whether the parts of a split of ascending logarithms are modes.
fn are_modes(ascending: &[f64], split: usize) -> bool {
    let (low, high) = ascending.split_at(split);
    let distance = mean(high) - mean(low);
    let degrees = ascending.len() as f64 - 2.0;
    let spread = ((sum_of_squares(low) + sum_of_squares(high)) / degrees).sqrt();
    let widest_inside = [low, high]
        .into_iter()
        .flat_map(|part| part.windows(2))
        .map(|pair| pair[1] - pair[0])
        .fold(0.0, f64::max);
    let gap = high[0] - low[low.len() - 1];
    distance > LEAST_RATIO.ln()
        && distance > least_separation(ascending.len(), distance) * spread
        && gap > GAP_STANDS_OUT * widest_inside
}

/// The separation, in standard deviations within the parts, that the best split of `n` normal values does not reach.
///
/// It is a fit to the 99 % points of a simulation, within 0.4 of them:
///
/// | n | 8 | 10 | 12 | 16 | 20 | 30 | 50 | 100 |
/// |---|---|---|---|---|---|---|---|---|
/// | 99 % point | 7.1 | 6.1 | 5.5 | 4.9 | 4.5 | 4.0 | 3.6 | 3.2 |
///
/// 2.65 is the separation of the halves of a normal distribution, `2φ(0)/½ / √(1 − 2/π)`. Under eight values the 99 %
/// points rise steeply (n = 4: 16.5), and real modes of two members do not reach them. There, six is enough if the modes
/// are 1.5× apart: a scatter of 5 to 10 % does not produce that.
fn least_separation(n: usize, distance: f64) -> f64 {
    let normal = 2.65 + 20.3 / (n as f64).powf(0.77);
    if distance > 1.5_f64.ln() { normal.min(6.0) } else { normal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    /// The share of 1000 samples in which two modes are found; `lower` of the `n` values have half the speed.
    fn found(n: usize, lower: usize, variation: f64) -> f64 {
        let rng = &mut Pcg64::seed_from_u64(6);
        let law = Normal::new(1.0, variation).unwrap();
        let two = (0..1000).filter(|_| {
            let values: Vec<f64> =
                (0..n).map(|i| law.sample(rng) * if i < lower { 125e3 } else { 250e3 }).collect();
            matches!(detect(&values), Modes::Two { low, .. } if lower == 0 || low.members.len() == lower)
        });
        two.count() as f64 / 1000.0
    }

    #[test]
    fn normal_scatter_has_no_modes() {
        assert!(found(10, 0, 0.05) <= 0.02, "the bar");
        for (n, variation) in [(4, 0.05), (7, 0.05), (20, 0.05), (40, 0.05), (10, 0.1), (10, 0.2)] {
            let share = found(n, 0, variation);
            assert!(share <= 0.03, "{n} values, {variation}: {share}");
        }
    }

    #[test]
    fn modes_a_factor_of_two_apart_are_found_with_their_members() {
        for (n, lower) in [(4, 2), (5, 2), (6, 3), (8, 2), (10, 8), (16, 9), (40, 2)] {
            let share = found(n, lower, 0.05);
            assert!(share >= 0.97, "{lower} of {n}: {share}");
        }
    }

    #[test]
    fn one_fast_restart_is_an_outlier_and_not_a_mode() {
        assert_eq!(detect(&[125e3, 124e3, 126e3, 125e3, 127e3, 250e3]), Modes::One);
    }

    #[test]
    fn exact_repeats_are_modes_if_far_apart() {
        assert!(matches!(detect(&[1.0, 1.0, 2.0, 2.0]), Modes::Two { .. }));
        assert_eq!(detect(&[1.0, 1.0, 1.05, 1.05]), Modes::One, "modes must be 10 % apart");
        assert_eq!(detect(&[3.0; 8]), Modes::One);
    }

    #[test]
    fn undetermined_modes_have_a_reason() {
        let few = UndeterminedReason::TooFew { values: 3, needed: 4 };
        assert_eq!(detect(&[1.0; 3]), Modes::Undetermined { reason: few });
        let zero = UndeterminedReason::NotPositive { index: 1 };
        assert_eq!(detect(&[1.0, 0.0, 1.0, 1.0]), Modes::Undetermined { reason: zero });
    }

    #[test]
    fn a_uniform_distribution_has_no_modes() {
        let rng = &mut Pcg64::seed_from_u64(2);
        let false_alarms = (0..500)
            .filter(|_| {
                let values: Vec<f64> = (0..20).map(|_| rng.random_range(100.0..200.0)).collect();
                matches!(detect(&values), Modes::Two { .. })
            })
            .count();
        assert!(false_alarms <= 20, "{false_alarms} of 500");
    }

    proptest! {
        #[test]
        fn every_value_is_in_one_mode_and_the_modes_do_not_overlap(
            values in prop::collection::vec(1.0..1e6_f64, 4..30),
        ) {
            if let Modes::Two { low, high } = detect(&values) {
                let mut all = [low.members.clone(), high.members.clone()].concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..values.len()).collect::<Vec<_>>());
                let most = low.members.iter().map(|i| values[*i]).fold(0.0, f64::max);
                let least = high.members.iter().map(|i| values[*i]).fold(f64::INFINITY, f64::min);
                prop_assert!(most < least && low.centre < high.centre);
            }
        }

        #[test]
        fn no_values_panic(values in prop::collection::vec(any::<f64>(), 0..12)) {
            detect(&values);
        }
    }
}
