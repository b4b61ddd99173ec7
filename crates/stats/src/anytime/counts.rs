//! Counts of events on two sides: whether one side has more of them for each operation, and by how much at most.
//!
//! Events are taken to be independent. Where they come in bunches, [`Dispersion`] says by how much the evidence must be weakened, or
//! [`windows`](crate::anytime::windows) compares seconds instead.

use statrs::function::gamma::ln_gamma;

use super::Evidence;
use crate::confidence::ConfidenceInterval;

/// Ratios over the null hypothesis whose evidence is averaged, because the true one is not known.
const ALTERNATIVES: [f64; 5] = [1.25, 1.5, 2.0, 3.0, 6.0];

/// Events of two sides, and the operations in which they occurred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TwoCounts {
    /// Events of the side in question.
    pub candidate: u64,
    /// Events of the side that it is compared with.
    pub control: u64,
    /// Operations of the side in question.
    pub candidate_operations: u64,
    /// Operations of the other side.
    pub control_operations: u64,
}

impl TwoCounts {
    /// Both sides exchanged.
    fn swapped(self) -> Self {
        Self {
            candidate: self.control,
            control: self.candidate,
            candidate_operations: self.control_operations,
            control_operations: self.candidate_operations,
        }
    }

    /// Adds the counts of a window.
    pub fn add(&mut self, other: Self) {
        self.candidate += other.candidate;
        self.control += other.control;
        self.candidate_operations += other.candidate_operations;
        self.control_operations += other.control_operations;
    }

    /// With `factor` times as many operations, if both sides have the same rate from now on: that of both together.
    #[must_use]
    pub fn continued(self, factor: f64) -> Self {
        let operations = self.candidate_operations + self.control_operations;
        let rate = (self.candidate + self.control) as f64 / operations.max(1) as f64;
        let (of_candidate, of_control) = (
            (self.candidate_operations as f64 * (factor - 1.0)).round(),
            (self.control_operations as f64 * (factor - 1.0)).round(),
        );
        Self {
            candidate: self.candidate + (of_candidate * rate).round() as u64,
            control: self.control + (of_control * rate).round() as u64,
            candidate_operations: self.candidate_operations + of_candidate as u64,
            control_operations: self.control_operations + of_control as u64,
        }
    }

    /// The candidate's rate as a multiple of the control's. None without an event of the control, or without operations.
    pub fn ratio(self) -> Option<f64> {
        if self.control == 0 || self.candidate_operations == 0 {
            return None;
        }
        let candidate = self.candidate as f64 / self.candidate_operations as f64;
        Some(candidate * self.control_operations as f64 / self.control as f64)
    }
}

/// Evidence against "a share of `theta` of the events is of the first side", with a uniform prior (Dirichlet(1,1)).
///
/// Source: M. Lindon & A. Malek, "Anytime-valid inference for multinomial count data", arXiv 2011.03567.
pub fn share(first: u64, second: u64, theta: f64) -> Evidence {
    let (n1, n2) = (first as f64, second as f64);
    let marginal = ln_gamma(n1 + 1.0) + ln_gamma(n2 + 1.0) - ln_gamma(n1 + n2 + 2.0);
    Evidence::from_log(marginal - times_log(n1, theta) - times_log(n2, 1.0 - theta))
}

/// All shares that [`share`] does not reject: a confidence interval that is valid at all times together.
pub fn share_interval(first: u64, second: u64, alpha: f64) -> ConfidenceInterval {
    let estimate = first as f64 / (first + second).max(1) as f64;
    let mut bounds = [0.0, 1.0];
    for (bound, events) in bounds.iter_mut().zip([first, second]) {
        if events == 0 {
            continue;
        }
        let (mut outside, mut inside) = (*bound, estimate);
        for _ in 0..100 {
            let middle = f64::midpoint(outside, inside);
            if share(first, second, middle).rejects(alpha) {
                outside = middle;
            } else {
                inside = middle;
            }
        }
        *bound = inside;
    }
    ConfidenceInterval { low: bounds[0], high: bounds[1] }
}

/// Evidence against "the candidate's rate is at most `base` times the control's", if it is `alternative` × `base` times.
pub fn ratio_above(counts: TwoCounts, base: f64, alternative: f64) -> Evidence {
    Evidence::from_log(log_ratio_above(counts, base, alternative))
}

/// Evidence against "the candidate's rate is at most `base` times the control's", whatever the true ratio is.
pub fn above(counts: TwoCounts, base: f64, dispersion: Dispersion) -> Evidence {
    let factor = dispersion.factor();
    Evidence::mean(ALTERNATIVES.map(|alternative| log_ratio_above(counts, base, alternative) / factor))
}

/// Evidence against "the candidate's rate is at least `margin` times the control's".
pub fn below(counts: TwoCounts, margin: f64, dispersion: Dispersion) -> Evidence {
    above(counts.swapped(), 1.0 / margin, dispersion)
}

/// The smallest ratio that [`below`] excludes: the candidate's rate is less than so many times the control's. None if no ratio up to
/// 100 is excluded.
pub fn ratio_bound(counts: TwoCounts, alpha: f64, dispersion: Dispersion) -> Option<f64> {
    const MOST: f64 = 100.0;
    if !below(counts, MOST, dispersion).rejects(alpha) {
        return None;
    }
    let (mut possible, mut excluded) = (0.001_f64, MOST);
    while excluded / possible > 1.0001 {
        let middle = (possible * excluded).sqrt();
        if below(counts, middle, dispersion).rejects(alpha) {
            excluded = middle;
        } else {
            possible = middle;
        }
    }
    Some(excluded)
}

fn log_ratio_above(counts: TwoCounts, base: f64, alternative: f64) -> f64 {
    let operations = (counts.candidate_operations + counts.control_operations) as f64;
    let share = counts.candidate_operations as f64 / operations.max(1.0);
    if share <= 0.0 || share >= 1.0 {
        return 0.0; // Each event is of the only side that has operations, which says nothing of their ratio.
    }
    let (null, other) = (share_of_events(base, share), share_of_events(base * alternative, share));
    let (n1, n2) = (counts.candidate as f64, counts.control as f64);
    n1 * (other / null).ln() + n2 * ((1.0 - other) / (1.0 - null)).ln()
}

/// The candidate's share of the events, if its rate is `ratio` times the control's.
fn share_of_events(ratio: f64, share_of_operations: f64) -> f64 {
    ratio * share_of_operations / (ratio * share_of_operations + 1.0 - share_of_operations)
}

/// n × ln x, which is 0 for no event of a share of 0.
fn times_log(n: f64, x: f64) -> f64 {
    if n == 0.0 { 0.0 } else { n * x.ln() }
}

/// How much more events scatter over windows than independent ones would.
///
/// The evidence of counts is divided by the factor, as a quasi-likelihood is (R. W. M. Wedderburn, Biometrika 61 (1974)). That is a
/// model and no theorem: simulations of stalls show that it suffices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Dispersion {
    windows: f64,
    events: f64,
    operations: f64,
    /// The sum of events² / operations.
    squares: f64,
}

impl Dispersion {
    /// Events are independent.
    pub const INDEPENDENT: Self = Self { windows: 0.0, events: 0.0, operations: 0.0, squares: 0.0 };

    /// Takes a window of one side.
    pub fn record(&mut self, events: u64, operations: u64) {
        if operations > 0 {
            self.windows += 1.0;
            self.events += events as f64;
            self.operations += operations as f64;
            self.squares += (events as f64).powi(2) / operations as f64;
        }
    }

    /// Pearson's χ² for each degree of freedom, at least 1.
    pub fn factor(self) -> f64 {
        if self.windows < 2.0 || self.events == 0.0 {
            return 1.0;
        }
        let rate = self.events / self.operations;
        let chi_squared = self.squares / rate - 2.0 * self.events + rate * self.operations;
        (chi_squared / (self.windows - 1.0)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Binomial, Distribution};
    use rand_pcg::Pcg64;

    use super::*;

    fn equal_weights(candidate: u64, control: u64) -> TwoCounts {
        TwoCounts { candidate, control, candidate_operations: 1000, control_operations: 1000 }
    }

    fn assert_four_digits(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 5e-4, "{found} for {expected}");
    }

    #[test]
    fn shares_have_the_published_evidence() {
        for (first, second, expected) in [(8, 2, 2.069), (20, 5, 24.29), (30, 10, 31.64)] {
            assert_four_digits(share(first, second, 0.5).value(), expected);
        }
        assert!((share(50, 50, 0.5).value() - 0.124).abs() < 0.0005);
    }

    #[test]
    fn an_interval_has_the_shares_that_are_not_rejected() {
        let interval = share_interval(20, 5, 0.05);
        assert!(interval.low > 0.5 && interval.high < 1.0, "24.29 is above 1/0.05: {interval:?}");
        assert!(share(20, 5, interval.low - 1e-6).rejects(0.05));
        assert!(!share(20, 5, interval.low + 1e-6).rejects(0.05));
        let none = share_interval(0, 0, 0.05);
        assert_eq!((none.low, none.high), (0.0, 1.0));
    }

    #[test]
    fn ratios_have_the_published_evidence() {
        assert_four_digits(ratio_above(equal_weights(20, 5), 1.0, 2.0).value(), 41.53);
        // With a margin of 1.5 the alternative is 3 times: q = 0.75, p = 0.6.
        assert_four_digits(ratio_above(equal_weights(20, 5), 1.5, 2.0).value(), 8.272);
        for (candidate, control, expected) in [(20, 5, 50.81), (30, 10, 71.06), (35, 12, 126.8)] {
            let found = above(equal_weights(candidate, control), 1.0, Dispersion::INDEPENDENT);
            assert_four_digits(found.value(), expected);
        }
    }

    #[test]
    fn a_bound_is_the_smallest_ratio_that_is_excluded() {
        let counts = TwoCounts {
            candidate: 400,
            control: 400,
            candidate_operations: 40_000,
            control_operations: 40_000,
        };
        let bound = ratio_bound(counts, 0.01, Dispersion::INDEPENDENT).unwrap();
        assert!((1.1..1.4).contains(&bound), "{bound}");
        assert!(below(counts, bound * 1.001, Dispersion::INDEPENDENT).rejects(0.01));
        assert!(!below(counts, bound * 0.999, Dispersion::INDEPENDENT).rejects(0.01));
        assert_eq!(ratio_bound(equal_weights(2, 2), 0.01, Dispersion::INDEPENDENT), None);
    }

    #[test]
    fn counts_go_on_with_the_rate_of_both_sides() {
        let expected = TwoCounts {
            candidate: 30 + 20,
            control: 10 + 20,
            candidate_operations: 2000,
            control_operations: 2000,
        };
        assert_eq!(equal_weights(30, 10).continued(2.0), expected);
        assert_eq!(equal_weights(30, 10).continued(1.0), equal_weights(30, 10));
    }

    #[test]
    fn a_side_without_operations_is_no_evidence() {
        let alone = TwoCounts { candidate: 9, candidate_operations: 10, ..TwoCounts::default() };
        assert_eq!(above(alone, 1.0, Dispersion::INDEPENDENT).value(), 1.0);
    }

    #[test]
    fn bunches_are_dispersed_and_independent_events_are_not() {
        let rng = &mut Pcg64::seed_from_u64(65);
        let (mut independent, mut bunches) = (Dispersion::default(), Dispersion::default());
        for window in 0..3600 {
            let late = Binomial::new(50, 0.01).unwrap().sample(rng);
            independent.record(late, 50);
            bunches.record(if window % 100 == 0 { 15 } else { late }, 50);
        }
        assert!(independent.factor() < 1.1, "{}", independent.factor());
        assert!((3.0..7.0).contains(&bunches.factor()), "{}", bunches.factor());
    }

    #[test]
    fn evidence_is_at_most_one_in_the_mean_where_the_null_hypothesis_is_true() {
        let rng = &mut Pcg64::seed_from_u64(2026);
        let paths = 100_000;
        // 40 events, each of the candidate with the share that a ratio of 1.25 at a weight of a half has.
        let events = Binomial::new(40, 1.25 / 2.25).unwrap();
        let values: Vec<f64> = (0..paths)
            .map(|_| {
                let candidate = events.sample(rng);
                above(equal_weights(candidate, 40 - candidate), 1.25, Dispersion::INDEPENDENT).value()
            })
            .collect();
        let mean = values.iter().sum::<f64>() / f64::from(paths);
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / f64::from(paths);
        let error = (variance / f64::from(paths)).sqrt();
        assert!(mean <= 1.0 + 4.0 * error, "{mean} ± {error}");
        assert!(mean > 0.8, "a test that never finds anything would pass, too: {mean}");
    }

    proptest! {
        #[test]
        fn no_count_panics(candidate in 0_u64..1_000_000, control in 0_u64..1_000_000, more in 0_u64..1_000_000) {
            let counts = TwoCounts {
                candidate, control,
                candidate_operations: candidate + more, control_operations: control + more,
            };
            prop_assert!(!above(counts, 1.25, Dispersion::INDEPENDENT).log().is_nan());
            prop_assert!(!below(counts, 1.25, Dispersion::INDEPENDENT).log().is_nan());
            let interval = share_interval(candidate, control, 0.01);
            prop_assert!(interval.low <= interval.high);
        }

        #[test]
        fn more_events_of_the_candidate_are_more_evidence(candidate in 0_u64..500, control in 0_u64..500) {
            let (fewer, more) = (equal_weights(candidate, control), equal_weights(candidate + 1, control));
            let dispersion = Dispersion::INDEPENDENT;
            prop_assert!(above(more, 1.0, dispersion) >= above(fewer, 1.0, dispersion));
            prop_assert!(below(more, 2.0, dispersion) <= below(fewer, 2.0, dispersion));
        }
    }
}
