//! What a load spends of the error budget of an objective: how many operations were late or failed, beside how many may be.
//!
//! The capacity at an objective is the highest rate at which a sustained load spends no more than the budget: at "p99 < 5
//! ms", at most one in a hundred of *all* operations that fell due took longer or failed. Counts add up over slices, which
//! percentiles of slices do not.

use stats::error_budget::{Arrivals, Spending};

use crate::inputs::slo::{Bound, Quantity, Slo};
use crate::outcome::LoadOutcome;
use crate::record::Micros;

/// An objective on the longest time, or on p100, has no budget at all, and no finite load can show that it is met. It is
/// taken as one in this many.
const ONE_IN: f64 = 10_000.0;

/// What a load spent of each bound of an objective.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetUse {
    /// In the order of the bounds.
    bounds: Vec<BoundUse>,
    /// Operations that fell due.
    operations: f64,
}

/// What a load spent of one bound: operations, or microseconds where the bound is on the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BoundUse {
    spent: f64,
    budget: f64,
}

impl BudgetUse {
    /// What a load spent. Times are without the client's lag, which the server did not cause; operations that failed or were
    /// not sent are late.
    pub fn of(slo: &Slo, outcome: &LoadOutcome) -> Self {
        let times = outcome.total.merged(|op| &op.server_time);
        let failed = outcome.total.errors().total();
        Self::of_times(slo, &times, failed)
    }

    /// The same from the times of the operations that succeeded, microseconds, and the number of those that failed.
    pub fn of_times(slo: &Slo, times: &Micros, failed: u64) -> Self {
        let operations = (times.len() + failed) as f64;
        let of_bound = |bound: &Bound| bound_use(bound, times, failed as f64);
        Self { bounds: slo.bounds().iter().map(of_bound).collect(), operations }
    }

    /// Adds what another load spent.
    pub fn add(&mut self, other: &Self) {
        if self.bounds.is_empty() {
            self.bounds.clone_from(&other.bounds);
        } else {
            for (own, other) in self.bounds.iter_mut().zip(&other.bounds) {
                own.spent += other.spent;
                own.budget += other.budget;
            }
        }
        self.operations += other.operations;
    }

    /// The burn rate: 1 where exactly the budget was spent. Of the bound with the highest. None without operations.
    pub fn burn_rate(&self) -> Option<f64> {
        let burns = self.bounds.iter().filter(|of| of.budget > 0.0).map(|of| of.spent / of.budget);
        burns.max_by(f64::total_cmp)
    }

    /// Share of the operations that were late or failed, 0 to 1, by the first bound of the objective on a percentile or the
    /// longest time. None without such a bound, or without operations.
    pub fn late_share(&self, slo: &Slo) -> Option<f64> {
        let is_of_times = |bound: &Bound| matches!(bound.quantity, Quantity::Percentile(_) | Quantity::Max);
        let first = slo.bounds().iter().position(is_of_times)?;
        Some(self.bounds.get(first)?.spent / self.operations).filter(|share| share.is_finite())
    }

    /// What was spent of each bound, and what may be, in the order of the bounds.
    pub fn of_bounds(&self) -> impl Iterator<Item = (f64, f64)> {
        self.bounds.iter().map(|of| (of.spent, of.budget))
    }

    /// Operations that fell due.
    pub fn operations(&self) -> f64 {
        self.operations
    }

    /// The spendings of each bound at a rate, operations a second.
    pub fn spendings(&self, rate_per_s: f64, arrivals: Arrivals) -> Vec<Spending> {
        let ln_rate = rate_per_s.ln();
        let of = |of: &BoundUse| Spending { ln_rate, spent: of.spent, budget: of.budget, arrivals };
        self.bounds.iter().map(of).collect()
    }

    /// What was spent of each bound, and what may be, in the order of the bounds.
    pub(super) fn from_bounds(bounds: impl Iterator<Item = (f64, f64)>, operations: f64) -> Self {
        Self { bounds: bounds.map(|(spent, budget)| BoundUse { spent, budget }).collect(), operations }
    }
}

/// The share of the operations that may be late by a bound, 0 to 1; none of a bound on something else.
pub(super) fn late_share_allowed(bound: &Bound) -> Option<f64> {
    match bound.quantity {
        Quantity::Percentile(percent) => Some((1.0 - percent / 100.0).max(1.0 / ONE_IN)),
        Quantity::Max => Some(1.0 / ONE_IN),
        Quantity::Mean | Quantity::Errors => None,
    }
}

fn bound_use(bound: &Bound, times: &Micros, failed: f64) -> BoundUse {
    let operations = times.len() as f64 + failed;
    let late = || {
        let below = (bound.limit.ceil() as u64).saturating_sub(1);
        let in_time = if times.is_empty() { 0 } else { times.count_between(0, below) };
        operations - in_time as f64
    };
    match bound.quantity {
        Quantity::Percentile(_) | Quantity::Max => {
            let share = late_share_allowed(bound).unwrap_or_default();
            BoundUse { spent: late(), budget: share * operations }
        }
        // An operation that failed took the whole limit at least.
        Quantity::Mean => {
            let sum = if times.is_empty() { 0.0 } else { times.mean() * times.len() as f64 };
            BoundUse { spent: sum + failed * bound.limit, budget: bound.limit * operations }
        }
        Quantity::Errors => BoundUse { spent: failed, budget: bound.limit * operations },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::micros;

    fn spent(slo: &str, times: &[(u64, u64)], failed: u64) -> f64 {
        let mut recorded = micros();
        for (us, count) in times {
            recorded.record_n(*us, *count).expect("a time");
        }
        let slo = slo.parse().expect("an objective");
        BudgetUse::of_times(&slo, &recorded, failed).burn_rate().expect("a burn rate")
    }

    #[test]
    fn a_percentile_allows_a_share_of_late_operations_and_failures_are_late() {
        assert!((spent("p99<5ms", &[(1_000, 9_900), (8_000, 100)], 0) - 1.0).abs() < 1e-9);
        assert!((spent("p99<5ms", &[(1_000, 9_900), (8_000, 50)], 50) - 1.0).abs() < 1e-9);
        assert!(
            (spent("p99<5ms", &[(5_000, 100), (1_000, 9_900)], 0) - 1.0).abs() < 1e-9,
            "at the limit is late"
        );
        assert!(spent("p99<5ms", &[(1_000, 100)], 0) < 1e-9);
    }

    #[test]
    fn the_bound_that_is_spent_fastest_counts() {
        assert!((spent("p99<5ms,errors<0.1%", &[(1_000, 999)], 1) - 1.0).abs() < 1e-9);
        assert!((spent("mean<2ms", &[(1_000, 50), (3_000, 50)], 0) - 1.0).abs() < 0.01);
        assert!(spent("max<2ms", &[(1_000, 9_999), (3_000, 1)], 0) >= 1.0);
    }

    #[test]
    fn uses_add_up() {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        let mut times = micros();
        times.record_n(8_000, 10).expect("a time");
        let mut sum = BudgetUse::default();
        assert_eq!(sum.burn_rate(), None);
        sum.add(&BudgetUse::of_times(&slo, &times, 0));
        sum.add(&BudgetUse::of_times(&slo, &micros(), 30));
        assert_eq!((sum.operations(), sum.burn_rate().map(f64::round)), (40.0, Some(100.0)));
    }
}
