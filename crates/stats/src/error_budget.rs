//! At which rate is the error budget of an objective spent exactly?
//!
//! An objective such as "p99 < 5 ms" leaves a budget: one operation in a hundred may take longer or fail. What a server
//! spends of it, as a multiple of what it may, is its burn rate (Beyer et al., The Site Reliability Workbook, O'Reilly
//! 2018, chapter 5). The burn rate rises with the offered rate. The capacity is the rate at which it is 1.
//!
//! Operations that are late come in clusters: a pause or a queue makes hundreds of them at once. So few clusters carry all
//! of the information, and those at rates a little above the capacity carry more than those at it. This module fits a curve
//! to what was spent at several rates. A server that pauses now and then spends in proportion to `rate / (1 - utilisation)`:
//! all that falls due in a pause is late, and what falls due while the server catches up. So with `x = ln(rate / (1 -
//! utilisation))` the curve is `ln(burn rate) = steepness × (x - crossing)`, where a server that pauses has a steepness of 1
//! at any rate, and one that only queues has more. It is fitted by a likelihood of counts whose
//! variance grows faster than their mean (negative binomial), weighted by the distance from the capacity (Loader, Local
//! Regression and Likelihood, Springer 1999).

use crate::confidence::{Confidence, ConfidenceInterval};
use crate::location::student_t;
use crate::ratio::FEWEST_BLOCKS;

/// What was spent of a budget at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spending {
    /// Natural logarithm of the rate.
    pub ln_rate: f64,
    /// What was spent, in the unit of the budget: operations that were late, for example.
    pub spent: f64,
    /// What might have been spent.
    pub budget: f64,
}

/// What was spent of each bound of an objective, from what was spent of all of them at each rate.
pub fn by_bound(rates: impl IntoIterator<Item = Vec<Spending>>) -> Vec<Vec<Spending>> {
    let mut bounds: Vec<Vec<Spending>> = Vec::new();
    for of_bounds in rates {
        bounds.resize_with(bounds.len().max(of_bounds.len()), Vec::new);
        bounds.iter_mut().zip(of_bounds).for_each(|(bound, spending)| bound.push(spending));
    }
    bounds
}

/// How much steeper the curve may be than that of a server that pauses, and less.
const STEEPNESS: (f64, f64) = (0.5, 6.0);
/// The steepness where the data do not tell, and how far it may be off, as a logarithm.
const USUAL_STEEPNESS: f64 = 1.0;
const STEEPNESS_DEVIATION: f64 = 0.5;
/// How much the usual steepness weighs, as a share of what was spent.
const STEEPNESS_WEIGHT: f64 = 0.01;
/// Burn rate at which the variance of what was spent is twice that of a Poisson count.
const DISPERSED_FROM: f64 = 2.0;
/// Distance from the capacity, as a logarithm, at which a rate weighs 0.6 of what it weighs at the capacity.
const NEARBY: f64 = 0.3;
/// Widths of the weights on the way there: the first fits find the neighbourhood.
const NARROWING: [f64; 5] = [f64::INFINITY, 0.8, 0.5, NEARBY, NEARBY];
/// The utilisation beyond which the curve is no steeper.
const HIGHEST_UTILISATION: f64 = 0.95;
/// How far the capacity may lie from the rates that were tried, as a logarithm.
const BEYOND: f64 = 3.0;
const HALVINGS: u32 = 40;
const SECTIONS: u32 = 24;

/// The curve of a server that saturates at this rate, operations a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetCurve {
    saturation: f64,
}

impl BudgetCurve {
    /// A server whose closed loop has this throughput, operations a second.
    pub fn of_closed_loop(per_s: f64) -> Self {
        Self { saturation: 1.1 * per_s.max(f64::MIN_POSITIVE) }
    }

    /// The logarithm of what a server that pauses spends at a rate, but for a constant.
    fn abscissa(self, ln_rate: f64) -> f64 {
        let utilisation = ln_rate.exp() / self.saturation;
        if utilisation <= HIGHEST_UTILISATION {
            return ln_rate - (1.0 - utilisation).ln();
        }
        // Straight on, with the slope that the curve has there.
        let last = (HIGHEST_UTILISATION * self.saturation).ln();
        last - (1.0 - HIGHEST_UTILISATION).ln() + (ln_rate - last) / (1.0 - HIGHEST_UTILISATION)
    }

    /// The logarithm of the rate at which the budget is spent exactly. None where nothing was spent, or without data.
    pub fn crossing(self, spendings: &[Spending]) -> Option<f64> {
        let mut ln_rate = 0.0;
        for width in NARROWING {
            ln_rate = self.crossing_within(spendings, ln_rate, width)?;
        }
        Some(ln_rate)
    }

    /// Which of several bounds is spent first, and the logarithm of the rate at which it is spent exactly. None where nothing was
    /// spent of any.
    pub fn first_spent(self, bounds: &[Vec<Spending>]) -> Option<(usize, f64)> {
        let crossings = bounds.iter().enumerate();
        let known = crossings.filter_map(|(bound, spendings)| Some((bound, self.crossing(spendings)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// What each block says of the crossing of all of them, as logarithms of rates: their mean is the crossing, and their scatter
    /// says how far it depends on single blocks. They are pseudo-values of the jackknife, `n × all - (n - 1) × without this
    /// block` (Tukey, Annals of Mathematical Statistics 29, 1958; Miller, Biometrika 61, 1974), moved so that their mean is the
    /// crossing. None where nothing was spent.
    ///
    /// One block alone does not know the crossing: a pause that comes every ten seconds is in one block of four, and the
    /// median of four capacities would not have it.
    pub fn block_values(self, blocks: &[Vec<Spending>]) -> Option<Vec<f64>> {
        let all = self.crossing(&blocks.concat())?;
        let others = blocks.len().saturating_sub(1) as f64;
        let without = |index: usize| {
            let kept = blocks.iter().enumerate().filter(|(block, _)| *block != index);
            let kept: Vec<Spending> = kept.flat_map(|(_, spendings)| spendings).copied().collect();
            // Without the only block that spent something, the others only say that the crossing is not below their rates.
            let highest = kept.iter().map(|s| s.ln_rate).fold(all, f64::max);
            self.crossing_within(&kept, all, NEARBY).unwrap_or(highest)
        };
        let moved: Vec<f64> = (0..blocks.len()).map(|index| others * (all - without(index))).collect();
        let mean = moved.iter().sum::<f64>() / blocks.len() as f64;
        Some(moved.into_iter().map(|moved| all + moved - mean).collect())
    }

    /// The interval of the crossing over blocks, as logarithms of rates: Student's t of [`BudgetCurve::block_values`]. None
    /// under three blocks, or where nothing was spent.
    pub fn interval(self, blocks: &[Vec<Spending>], confidence: Confidence) -> Option<ConfidenceInterval> {
        let values = self.block_values(blocks).filter(|values| values.len() >= FEWEST_BLOCKS)?;
        Some(student_t(&values, confidence)?.interval)
    }

    /// The logarithm of the rate that has this abscissa.
    fn ln_rate_of(self, abscissa: f64) -> f64 {
        // The abscissa is beyond the logarithm of the rate, by 3 at the highest utilisation.
        let (mut low, mut high) = (abscissa - 40.0, abscissa);
        for _ in 0..2 * HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.abscissa(middle) < abscissa {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// The crossing of the curve that suits spendings best, where they weigh by their distance from a rate.
    fn crossing_within(self, spendings: &[Spending], centre: f64, width: f64) -> Option<f64> {
        let exponent = |s: &Spending| -((s.ln_rate - centre) / width).powi(2) / 2.0;
        let known = || spendings.iter().filter(|s| s.budget > 0.0);
        let largest = known().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        // In seconds of arrivals: a pause makes more operations late at a higher rate, and is one pause all the same.
        let point = |s: &Spending| Point {
            at: self.abscissa(s.ln_rate),
            spent: s.spent * (-s.ln_rate).exp(),
            budget: s.budget * (-s.ln_rate).exp(),
            weight: (exponent(s) - largest).exp(),
        };
        let points: Vec<Point> = known().map(point).collect();
        if points.iter().map(|point| point.spent).sum::<f64>() <= 0.0 {
            return None;
        }
        let strength = STEEPNESS_WEIGHT * points.iter().map(|point| point.weight * point.spent).sum::<f64>();
        let likelihood = |ln_steepness: f64| {
            let fit = best_crossing(&points, ln_steepness.exp());
            let unusual = (ln_steepness - USUAL_STEEPNESS.ln()) / STEEPNESS_DEVIATION;
            points.iter().map(|point| point.likelihood(&fit)).sum::<f64>() - strength * unusual.powi(2) / 2.0
        };
        let steepness = highest(STEEPNESS.0.ln(), STEEPNESS.1.ln(), likelihood).exp();
        Some(self.ln_rate_of(best_crossing(&points, steepness).crossing))
    }
}

/// A curve through spendings: where it crosses, on the abscissa, and how steep it is there.
#[derive(Clone, Copy)]
struct Fit {
    crossing: f64,
    steepness: f64,
}

/// A spending on the curve's abscissa, with its weight.
struct Point {
    at: f64,
    spent: f64,
    budget: f64,
    weight: f64,
}

impl Point {
    fn burn(&self, fit: &Fit) -> f64 {
        (fit.steepness * (self.at - fit.crossing)).exp()
    }

    /// What was spent beyond what the curve says, with its weight. Falls as the crossing does.
    fn surplus(&self, fit: &Fit) -> f64 {
        let burn = self.burn(fit);
        self.weight * (self.spent - burn * self.budget) / (1.0 + burn / DISPERSED_FROM)
    }

    /// The logarithm of the likelihood, but for a constant.
    fn likelihood(&self, fit: &Fit) -> f64 {
        let mean = self.budget * self.burn(fit);
        let size = self.budget * DISPERSED_FROM;
        let ln_mean = mean.max(f64::MIN_POSITIVE).ln();
        self.weight * (self.spent * ln_mean - (self.spent + size) * (mean + size).ln())
    }
}

/// Where a function of one maximum is highest, by golden sections (Kiefer, Proceedings of the AMS 4, 1953).
fn highest(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..SECTIONS {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if function(left) > function(right) {
            high = right;
        } else {
            low = left;
        }
    }
    f64::midpoint(low, high)
}

/// The curve of a steepness that suits best. The likelihood is concave in the crossing, so its derivative has one zero.
fn best_crossing(points: &[Point], steepness: f64) -> Fit {
    let at = || points.iter().map(|point| point.at);
    let (mut low, mut high) =
        (at().fold(f64::INFINITY, f64::min) - BEYOND, at().fold(f64::NEG_INFINITY, f64::max) + BEYOND);
    for _ in 0..HALVINGS {
        let crossing = f64::midpoint(low, high);
        let surplus: f64 = points.iter().map(|point| point.surplus(&Fit { crossing, steepness })).sum();
        // More was spent than the curve says: the capacity is lower.
        if surplus > 0.0 {
            high = crossing;
        } else {
            low = crossing;
        }
    }
    Fit { crossing: f64::midpoint(low, high), steepness }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CURVE: BudgetCurve = BudgetCurve { saturation: 50_000.0 };

    /// What a server spends whose curve has this crossing and steepness, at shares of the crossing.
    fn on_curve(capacity: f64, steepness: f64, shares: &[f64]) -> Vec<Spending> {
        let crossing = CURVE.abscissa(capacity.ln());
        let at = |share: &f64| {
            let ln_rate = (share * capacity).ln();
            let burn = (steepness * (CURVE.abscissa(ln_rate) - crossing)).exp();
            Spending { ln_rate, spent: 500.0 * burn, budget: 500.0 }
        };
        shares.iter().map(at).collect()
    }

    #[test]
    fn a_budget_that_nothing_spends_has_no_crossing() {
        assert_eq!(CURVE.crossing(&[]), None);
        assert_eq!(CURVE.crossing(&[Spending { ln_rate: 1.0, spent: 0.0, budget: 10.0 }]), None);
        assert_eq!(CURVE.crossing(&[Spending { ln_rate: 1.0, spent: 3.0, budget: 0.0 }]), None);
    }

    #[test]
    fn a_server_that_pauses_is_found_from_far_above_its_capacity() {
        let found = CURVE.crossing(&on_curve(8_000.0, 1.0, &[4.5, 5.0])).unwrap();
        assert!((found.exp() / 8_000.0 - 1.0).abs() < 0.1, "{}", found.exp());
    }

    #[test]
    fn the_values_of_equal_blocks_are_the_crossing() {
        let block = on_curve(20_000.0, 2.0, &[0.85, 1.0, 1.1]);
        let found = CURVE.block_values(&[block.clone(), block.clone(), block]).unwrap();
        assert!(found.iter().all(|value| (value.exp() / 20_000.0 - 1.0).abs() < 0.02), "{found:?}");
    }

    #[test]
    fn a_pause_that_one_block_of_four_has_seen_is_in_the_mean_of_all() {
        let quiet = [0.85, 1.0, 1.1].map(|share| Spending {
            ln_rate: (share * 20_000.0_f64).ln(),
            spent: 1.0,
            budget: 500.0,
        });
        let pause = quiet.map(|spending| Spending { spent: 4_000.0, ..spending });
        let blocks = [quiet.to_vec(), quiet.to_vec(), pause.to_vec(), quiet.to_vec()];
        let found = CURVE.block_values(&blocks).unwrap();
        assert!(found[2] < found[0] - 0.5, "{found:?}");
        assert!(found.iter().sum::<f64>() / 4.0 < 20_000_f64.ln(), "{found:?}");
    }

    proptest! {
        #[test]
        fn a_curve_is_found_whatever_its_steepness(capacity in 10.0..25e3, steepness in 0.7..4.0) {
            let found = CURVE.crossing(&on_curve(capacity, steepness, &[0.8, 0.94, 1.1])).unwrap();
            prop_assert!((found.exp() / capacity - 1.0).abs() < 0.06, "{}", found.exp());
        }

        #[test]
        fn what_was_spent_more_lowers_the_capacity(more in 1.1..5.0) {
            let before = on_curve(1_000.0, 2.0, &[0.8, 1.0, 1.15]);
            let mut after = before.clone();
            after[1].spent *= more;
            prop_assert!(CURVE.crossing(&after).unwrap() < CURVE.crossing(&before).unwrap());
        }
    }
}
