//! The capacities of servers from what their trials spent of the objective's error budget: of all blocks together, because
//! one block alone does not know it (`stats::error_budget`). Which rates were tried is left to the searches of `load`.

use archive::model::{PhaseKind, SpentBound, Trial, TrialPhase, TrialStatus};
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::error_budget::{Arrivals, BudgetCurve, Spending, by_bound};

use crate::cpu_rate::closed_loop_per_s;

/// What trials spent of each bound of the objective, at each rate. Only of those that count.
fn spendings<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Vec<Vec<Spending>> {
    let valid = trials.into_iter().filter(|trial| trial.status == TrialStatus::Valid);
    by_bound(valid.flat_map(|trial| &trial.phases).map(of_bounds))
}

/// What a phase spent of each bound; nothing of one that is no part of a search.
fn of_bounds(phase: &TrialPhase) -> Vec<Spending> {
    let Some(all) = &phase.spent else { return Vec::new() };
    let arrivals = if phase.kind == PhaseKind::ClosedLoop { Arrivals::Closed } else { Arrivals::Open };
    let ln_rate = all.rate_per_s.ln();
    let of_bound =
        |bound: &SpentBound| Spending { ln_rate, spent: bound.spent, budget: bound.budget, arrivals };
    all.bounds.iter().map(of_bound).collect()
}

/// The capacity of a variant from its trials, one a block.
pub struct PooledCapacity {
    curve: BudgetCurve,
    /// What each block spent of the bound that is spent first.
    blocks: Vec<Vec<Spending>>,
}

impl PooledCapacity {
    /// The capacity that these trials have. None where none of them has levels, as in runs of earlier versions.
    pub fn of(trials: &[&Trial]) -> Option<Self> {
        let closed_loops: Vec<f64> = trials.iter().filter_map(|trial| closed_loop_per_s(trial)).collect();
        let curve = BudgetCurve::of_closed_loop(closed_loops.iter().copied().fold(0.0, f64::max));
        let (first, _) = curve.first_spent(&spendings(trials.iter().copied()))?;
        let of_trial = |trial: &&Trial| spendings([*trial]).into_iter().nth(first).unwrap_or_default();
        Some(Self { curve, blocks: trials.iter().map(of_trial).collect() })
    }

    /// The capacity, operations a second.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.curve.crossing(&self.blocks.concat()).map(f64::exp)
    }

    /// Its interval over blocks, operations a second.
    pub fn interval(&self, confidence: Confidence) -> Option<ConfidenceInterval> {
        self.curve.interval(&self.blocks, confidence).map(|interval| interval.through(f64::exp))
    }

    /// What each block says of it, operations a second, in the order of the trials: their geometric mean is the capacity.
    pub fn block_values(&self) -> Option<Vec<f64>> {
        Some(self.curve.block_values(&self.blocks)?.into_iter().map(f64::exp).collect())
    }
}

#[cfg(test)]
mod tests {
    use archive::model::{Plan, SpentBudget};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::run::first_block::tests::closed_loop;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    /// A valid trial with a closed loop of 50,000/s and levels: each a rate, and what it spent of a budget of 100.
    fn trial(block: u32, levels: &[(f64, f64)]) -> Trial {
        let plan: Plan = PLAN.parse().expect("a plan");
        let scheduled = ScheduledTrial { number: block, block, position: 1, variant_point: 0 };
        let level = |(rate_per_s, spent): &(f64, f64)| TrialPhase {
            kind: PhaseKind::SearchStep,
            spent: Some(SpentBudget {
                rate_per_s: *rate_per_s,
                bounds: vec![SpentBound { spent: *spent, budget: 100.0 }],
                late_share: Some(spent / 1e4),
            }),
            ..closed_loop(1.0, 0.1)
        };
        let phases = [closed_loop(50_000.0, 0.5)].into_iter().chain(levels.iter().map(level)).collect();
        let blank = blank(&plan, &scheduled, &variant_points(&plan)[0]);
        Trial { status: TrialStatus::Valid, phases, ..blank }
    }

    #[test]
    fn a_pause_that_one_block_of_four_has_seen_is_in_the_capacity() {
        let quiet = [(18_000.0, 5.0), (20_000.0, 20.0), (22_000.0, 60.0)];
        let trials = [trial(1, &quiet), trial(2, &quiet), trial(3, &quiet)];
        let three = PooledCapacity::of(&trials.iter().collect::<Vec<_>>()).expect("a capacity");
        let pausing = trial(4, &[(18_000.0, 900.0), (20_000.0, 20.0), (22_000.0, 60.0)]);
        let all = PooledCapacity::of(&trials.iter().chain([&pausing]).collect::<Vec<_>>());
        let all = all.expect("a capacity");
        let rate = |capacity: &PooledCapacity| capacity.rate_per_s().expect("a rate");
        assert!(rate(&all) < 0.8 * rate(&three), "{} and {}", rate(&all), rate(&three));
        let values = all.block_values().expect("values");
        assert!(values[3] < values[0], "{values:?}");
        let mean = values.iter().map(|value| value.ln()).sum::<f64>() / 4.0;
        assert!((mean.exp() / rate(&all) - 1.0).abs() < 1e-9);
        let interval = all.interval(Confidence::P95).expect("an interval");
        assert!(interval.low < rate(&all) && rate(&all) < interval.high);
    }

    #[test]
    fn a_standstill_of_the_closed_loop_is_in_the_capacity() {
        let levels = [(18_000.0, 5.0), (20_000.0, 20.0), (22_000.0, 60.0)];
        let [without, with] = [0.0, 10_000.0].map(|spent| {
            let mut trial = trial(1, &levels);
            let bounds = vec![SpentBound { spent, budget: 2_500.0 }];
            trial.phases[0].spent = Some(SpentBudget { rate_per_s: 50_000.0, bounds, late_share: None });
            let found = PooledCapacity::of(&[&trial]).and_then(|capacity| capacity.rate_per_s());
            found.expect("a rate")
        });
        assert!(with < 0.8 * without, "{with} and {without}");
    }

    #[test]
    fn trials_of_earlier_versions_have_no_levels() {
        let old = trial(1, &[]);
        assert!(PooledCapacity::of(&[&old]).is_none() && spendings([&old]).is_empty());
    }
}
