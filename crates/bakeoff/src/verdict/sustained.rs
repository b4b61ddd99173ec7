//! The capacities of servers from what their trials spent of the objective's error budget: of all blocks together, because
//! one block alone does not know it (`stats::error_budget`). Which rates were tried is left to the searches of `load`.

use std::collections::{BTreeMap, BTreeSet};

use archive::model::{PhaseKind, SpentBound, Trial, TrialPhase, TrialStatus};
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::describe::Sample;
use stats::error_budget::{Arrivals, BudgetCurve, Spending, by_bound};

use crate::cpu_rate::closed_loop_per_s;
use crate::verdict::input::VerdictInput;

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
        let all = spendings(trials.iter().copied());
        let first = curve.first_spent(&all).map_or(0, |(first, _)| first);
        let of_trial = |trial: &&Trial| spendings([*trial]).into_iter().nth(first).unwrap_or_default();
        let found = Self { curve, blocks: trials.iter().map(of_trial).collect() };
        highest_offered(&found.blocks.concat()).is_some().then_some(found)
    }

    /// Whether the budget was not spent at any rate that was offered: the capacity is at least what is said of it.
    pub fn is_lower_bound(&self) -> bool {
        self.curve.is_beyond_tried(&self.blocks.concat())
    }

    /// The capacity, operations a second.
    pub fn rate_per_s(&self) -> Option<f64> {
        if self.is_lower_bound() {
            let offered = self.offered()?;
            return Some((offered.iter().map(|rate| rate.ln()).sum::<f64>() / offered.len() as f64).exp());
        }
        self.curve.crossing(&self.blocks.concat()).map(f64::exp)
    }

    /// Its interval over blocks, operations a second: no higher than what was offered. Of a lower bound, that of the median of the highest
    /// rates that the blocks offered.
    pub fn interval(&self, confidence: Confidence) -> Option<ConfidenceInterval> {
        if self.is_lower_bound() {
            return Sample::new(&self.offered()?).ok()?.median_interval();
        }
        let highest = highest_offered(&self.blocks.concat())?;
        let ConfidenceInterval { low, high } =
            self.curve.interval(&self.blocks, confidence)?.through(f64::exp);
        Some(ConfidenceInterval { low: low.min(highest), high: high.min(highest) })
    }

    /// What each block says of it, operations a second, in the order of the trials: their geometric mean is the capacity. Of a lower
    /// bound, the highest rate that each block offered.
    pub fn block_values(&self) -> Option<Vec<f64>> {
        if self.is_lower_bound() {
            return self.offered();
        }
        Some(self.curve.block_values(&self.blocks)?.into_iter().map(f64::exp).collect())
    }

    /// The highest rate that each block offered.
    fn offered(&self) -> Option<Vec<f64>> {
        self.blocks.iter().map(|block| highest_offered(block)).collect()
    }
}

/// The highest rate of an open loop, operations a second.
fn highest_offered(spendings: &[Spending]) -> Option<f64> {
    let open = spendings.iter().filter(|spending| spending.arrivals == Arrivals::Open);
    open.map(|spending| spending.ln_rate.exp()).max_by(f64::total_cmp)
}

/// What the trials of a comparison say of what is measured. The value of a trial is its own, except of a capacity, which is of all
/// blocks together.
#[derive(Default)]
pub struct TrialValues {
    /// By the numbers of the trials.
    of_capacities: BTreeMap<u32, f64>,
    /// The variants that carried all that was offered.
    carried_all: BTreeSet<usize>,
}

impl TrialValues {
    /// The values of the trials of these variants.
    pub fn of(input: &VerdictInput<'_>, variants: &[usize]) -> Self {
        let mut values = Self::default();
        if !input.plan.measure.is_capacity() {
            return values;
        }
        for &variant in variants {
            let valid: Vec<&Trial> =
                input.trials.of(variant).filter(|trial| trial.valid_value().is_some()).collect();
            let Some(capacity) = PooledCapacity::of(&valid) else { continue };
            let of_blocks = capacity.block_values().unwrap_or_default();
            values.of_capacities.extend(valid.iter().map(|trial| trial.number).zip(of_blocks));
            if capacity.is_lower_bound() {
                values.carried_all.insert(variant);
            }
        }
        values
    }

    /// The value of a trial; none of one that is not valid. Trials of earlier versions have their own.
    pub fn value(&self, trial: &Trial) -> Option<f64> {
        let own = trial.valid_value()?;
        Some(self.of_capacities.get(&trial.number).copied().unwrap_or(own))
    }

    /// What is said of a pair, variants with their names, of which a server carried all that was offered: the rates follow from its closed
    /// loop, so its value is about that of the closed loop. None where each server was offered more than it carries.
    pub fn carried_all(&self, pair: [(usize, &str); 2]) -> Option<String> {
        let names: Vec<&str> = pair
            .iter()
            .filter(|(variant, _)| self.carried_all.contains(variant))
            .map(|(_, name)| *name)
            .collect();
        let loops = match names.as_slice() {
            [] => return None,
            [_] => "its closed loop",
            _ => "their closed loops",
        };
        Some(format!("{} carried all that was offered, about the throughput of {loops}", names.join(" and ")))
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
    fn a_server_that_carries_all_that_is_offered_has_a_lower_bound() {
        let trials: Vec<Trial> = (1..=3)
            .map(|block| trial(block, &[(20_000.0, 0.0), (30_000.0, f64::from(block) - 1.0)]))
            .collect();
        let found = PooledCapacity::of(&trials.iter().collect::<Vec<_>>()).expect("levels");
        assert!(found.is_lower_bound());
        assert!((found.rate_per_s().expect("a rate") - 30_000.0).abs() < 1e-6);
        let quiet = trial(1, &[(20_000.0, 0.0)]);
        assert!(
            PooledCapacity::of(&[&quiet]).is_some_and(|found| found.is_lower_bound()),
            "nothing was late"
        );
    }

    #[test]
    fn trials_of_earlier_versions_have_no_levels() {
        let old = trial(1, &[]);
        assert!(PooledCapacity::of(&[&old]).is_none() && spendings([&old]).is_empty());
    }
}
