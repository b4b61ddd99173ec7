//! At which rate is the error budget of an objective spent exactly?
//!
//! An objective such as "p99 < 5 ms" leaves a budget: one operation in a hundred may take longer or fail. What a server
//! spends of it, as a multiple of what it may, is its burn rate (Beyer et al., The Site Reliability Workbook, O'Reilly
//! 2018, chapter 5). The burn rate rises with the offered rate. The capacity is the rate at which it is 1.
//!
//! Operations that are late come in clusters: a pause or a queue makes hundreds of them at once. So few clusters carry all
//! of the information, and those at rates above the capacity carry more than those at it. This module fits a curve to what was
//! spent at all rates, with five parts:
//!
//! | part | what it spends, but for a constant | why |
//! |---|---|---|
//! | pauses by work | `rate / (1 - utilisation)` | all that falls due in a pause is late, and what falls due while the server catches up; the more work, the more pauses |
//! | pauses by the clock | `1 / (1 - utilisation)` | the same, and they come whatever the load is |
//! | slow operations by work | `rate` | a pause of one of many workers holds up those operations alone |
//! | slow operations | a constant | some operations take long by themselves, whatever the rate |
//! | the queue | a power of `rate / (1 - utilisation)` | it grows fast near the utilisation that the server does not reach |
//!
//! The amounts of the parts are 0 or more, and those at which a quasi-likelihood of counts whose variance grows faster than their
//! mean is highest (negative binomial). Rates far above the capacity weigh little: there, nearly all operations are late.

mod fit;
mod spending;

use self::fit::Fit;
pub use self::spending::{Arrivals, BudgetCurve, Spending};
use crate::comparison::ratio::FEWEST_BLOCKS;
use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::location::student_t;

/// What was spent of each bound of an objective, from what was spent of all of them at each rate.
pub fn by_bound(rates: impl IntoIterator<Item = Vec<Spending>>) -> Vec<Vec<Spending>> {
    let mut bounds: Vec<Vec<Spending>> = Vec::new();
    for of_bounds in rates {
        bounds.resize_with(bounds.len().max(of_bounds.len()), Vec::new);
        bounds.iter_mut().zip(of_bounds).for_each(|(bound, spending)| bound.push(spending));
    }
    bounds
}

impl BudgetCurve {
    /// The logarithm of the rate at which the budget is spent exactly, at most that of the highest rate that was tried
    /// ([`BudgetCurve::is_beyond_tried`]). None where nothing was spent, or without data.
    pub fn crossing(self, spendings: &[Spending]) -> Option<f64> {
        Some(Fit::of(self, spendings)?.crossing())
    }

    /// Whether the budget is not spent at any rate that was tried: the crossing is then no more than a lower bound.
    pub fn is_beyond_tried(self, spendings: &[Spending]) -> bool {
        Fit::of(self, spendings).is_none_or(|fit| fit.is_beyond_tried())
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
    /// median of four capacities would not have it. Where few pauses were seen, blocks agree by chance: then the values are
    /// moved apart until their interval reaches the crossing of a server that pauses as often as it may.
    pub fn block_values(self, blocks: &[Vec<Spending>]) -> Option<Vec<f64>> {
        let fit = Fit::of(self, &blocks.concat())?;
        let all = fit.crossing();
        let others = blocks.len().saturating_sub(1) as f64;
        let without = |index: usize| {
            let kept = blocks.iter().enumerate().filter(|(block, _)| *block != index);
            let kept: Vec<Spending> = kept.flat_map(|(_, spendings)| spendings).copied().collect();
            // Without the only block that spent something, the others only say that the crossing is not below their rates.
            let highest = kept.iter().map(|s| s.ln_rate).fold(all, f64::max);
            self.crossing(&kept).unwrap_or(highest)
        };
        let moved: Vec<f64> = (0..blocks.len()).map(|index| others * (all - without(index))).collect();
        let mean = moved.iter().sum::<f64>() / blocks.len() as f64;
        let half_width = student_t(&moved, Confidence::P95)
            .map_or(0.0, |found| (found.interval.high - found.interval.low) / 2.0);
        let apart = if half_width > 0.0 { (fit.unseen_pauses() / half_width).max(1.0) } else { 1.0 };
        Some(moved.into_iter().map(|moved| all + apart * (moved - mean)).collect())
    }

    /// The interval of the crossing over blocks, as logarithms of rates: Student's t of [`BudgetCurve::block_values`]. None
    /// under three blocks, or where nothing was spent.
    pub fn interval(self, blocks: &[Vec<Spending>], confidence: Confidence) -> Option<ConfidenceInterval> {
        let values = self.block_values(blocks).filter(|values| values.len() >= FEWEST_BLOCKS)?;
        Some(student_t(&values, confidence)?.interval)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CURVE: BudgetCurve = BudgetCurve { saturation: 50_000.0 };

    /// What a server spends that pauses by work and carries this much, at shares of it.
    fn pausing(capacity: f64, shares: &[f64]) -> Vec<Spending> {
        let burdened = |rate: f64| rate / (1.0 - rate / CURVE.saturation);
        let at = |share: &f64| {
            let rate = share * capacity;
            Spending {
                ln_rate: rate.ln(),
                spent: 500.0 * burdened(rate) / burdened(capacity),
                budget: 500.0,
                arrivals: Arrivals::Open,
            }
        };
        shares.iter().map(at).collect()
    }

    /// What a server spends that queues, likewise: a hundredth at half of its capacity.
    fn queueing(capacity: f64, shares: &[f64]) -> Vec<Spending> {
        let at = |share: &f64| Spending {
            ln_rate: (share * capacity).ln(),
            spent: 500.0 * share.powf(6.6),
            budget: 500.0,
            arrivals: Arrivals::Open,
        };
        shares.iter().map(at).collect()
    }

    #[test]
    fn a_budget_that_nothing_spends_has_no_crossing() {
        assert_eq!(CURVE.crossing(&[]), None);
        assert_eq!(
            CURVE.crossing(&[Spending { ln_rate: 1.0, spent: 0.0, budget: 10.0, arrivals: Arrivals::Open }]),
            None
        );
        assert_eq!(
            CURVE.crossing(&[Spending { ln_rate: 1.0, spent: 3.0, budget: 0.0, arrivals: Arrivals::Open }]),
            None
        );
    }

    #[test]
    fn a_server_that_pauses_is_found_from_far_above_its_capacity() {
        let found = CURVE.crossing(&pausing(8_000.0, &[0.6, 3.0, 4.0])).unwrap();
        assert!((found.exp() / 8_000.0 - 1.0).abs() < 0.15, "{}", found.exp());
    }

    #[test]
    fn no_capacity_is_above_the_rates_that_were_offered() {
        let shares = [0.1, 0.3, 0.5, 0.6];
        let low = queueing(40_000.0, &shares);
        let found = CURVE.crossing(&low).unwrap().exp();
        assert!((found / 24_000.0 - 1.0).abs() < 1e-6 && CURVE.is_beyond_tried(&low), "{found}");
        assert!(!CURVE.is_beyond_tried(&queueing(20_000.0, &[0.5, 1.0, 1.1])));
        assert!(CURVE.is_beyond_tried(&[]), "nothing was tried");
    }

    #[test]
    fn the_values_of_equal_blocks_are_the_crossing() {
        let block = queueing(20_000.0, &[0.85, 1.0, 1.1]);
        let found = CURVE.block_values(&[block.clone(), block.clone(), block]).unwrap();
        assert!(found.iter().all(|value| (value.exp() / 20_000.0 - 1.0).abs() < 0.05), "{found:?}");
    }

    #[test]
    fn a_pause_that_one_block_of_four_has_seen_is_in_the_mean_of_all() {
        let quiet = [0.85, 1.0, 1.1].map(|share| Spending {
            ln_rate: (share * 20_000.0_f64).ln(),
            spent: 1.0,
            budget: 500.0,
            arrivals: Arrivals::Open,
        });
        let pause = quiet.map(|spending| Spending { spent: 4_000.0, ..spending });
        let blocks = [quiet.to_vec(), quiet.to_vec(), pause.to_vec(), quiet.to_vec()];
        let found = CURVE.block_values(&blocks).unwrap();
        assert!(found[2] < found[0] - 0.5, "{found:?}");
        assert!(found.iter().sum::<f64>() / 4.0 < 20_000_f64.ln(), "{found:?}");
    }

    proptest! {
        #[test]
        fn a_server_that_pauses_is_found(capacity in 10.0..25e3) {
            let found = CURVE.crossing(&pausing(capacity, &[0.5, 0.8, 0.94, 1.1, 1.4])).unwrap();
            prop_assert!((found.exp() / capacity - 1.0).abs() < 0.06, "{}", found.exp());
        }

        #[test]
        fn a_server_that_queues_is_found(capacity in 20e3..40e3) {
            let found = CURVE.crossing(&queueing(capacity, &[0.3, 0.5, 0.8, 0.94, 1.1])).unwrap();
            prop_assert!((found.exp() / capacity - 1.0).abs() < 0.08, "{}", found.exp());
        }

        #[test]
        fn what_was_spent_more_lowers_the_capacity(more in 1.1..5.0) {
            let before = queueing(30_000.0, &[0.8, 1.0, 1.15]);
            let mut after = before.clone();
            after[1].spent *= more;
            prop_assert!(CURVE.crossing(&after).unwrap() < CURVE.crossing(&before).unwrap());
        }
    }
}
