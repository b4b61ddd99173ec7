//! Where the search of a trial begins: what earlier trials say of it.

use archive::model::{Measure, Plan, Trial};
use stats::describe::Sample;
use stats::error_budget::Spending;

use crate::first_block::closed_loop_per_s;
use crate::sustained::spendings;
use crate::verdict_input::FinishedTrials;

/// What is known of a server before its trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    /// About the capacity as a share of a closed loop's throughput, from other runs.
    ShareOfClosedLoop(f64),
    /// What the same variant and point spent of the objective's budget in the blocks before: for each bound, at each rate. Blocks
    /// do not depend on each other by it: it chooses the rates that are tried, and not what is found at them.
    Spent(Vec<Vec<Spending>>),
    /// The last value of the same variant and point.
    LastValue(f64),
}

impl Hint {
    /// The last value, if that is what is known.
    pub fn last_value(&self) -> Option<f64> {
        match self {
            Self::LastValue(value) => Some(*value),
            Self::ShareOfClosedLoop(_) | Self::Spent(_) => None,
        }
    }

    /// The hint for the next trial of this variant and point. None before its first valid one.
    pub fn of(plan: &Plan, index: usize, trials: &FinishedTrials) -> Option<Self> {
        if !matches!(plan.measure, Measure::Capacity { .. }) {
            return trials.of(index).filter_map(Trial::valid_value).last().map(Self::LastValue);
        }
        let bounds = spendings(trials.of(index));
        (!bounds.is_empty()).then_some(Self::Spent(bounds))
    }
}

/// The median of the capacities of valid trials as shares of their closed loops. None without any.
pub fn capacity_share<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<f64> {
    let share = |trial: &Trial| Some(trial.valid_value()? / closed_loop_per_s(trial)?);
    let shares: Vec<f64> = trials.into_iter().filter_map(share).filter(|share| share.is_finite()).collect();
    Some(Sample::new(&shares).ok()?.median())
}

#[cfg(test)]
mod tests {
    use archive::model::{MeasuredValue, TrialStatus};

    use super::*;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;
    use crate::trial_order::ScheduledTrial;
    use crate::variant_point::variant_points;

    #[test]
    fn a_server_gets_no_hint_of_its_own_capacity_before_it_has_one() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let points = variant_points(&plan);
        let mut trials = FinishedTrials::default();
        let scheduled = ScheduledTrial { number: 1, block: 1, position: 1, variant_point: 0 };
        let mut trial = blank(&plan, &scheduled, &points[0]);
        trial.status = TrialStatus::Valid;
        trial.measured = Some(MeasuredValue {
            metric: "capacity".to_owned(),
            value: 800.0,
            unit: "/s".to_owned(),
            higher_is_better: true,
        });
        trials.push(0, trial);
        let throughput = Plan { measure: Measure::MaxThroughput, ..plan.clone() };
        assert_eq!(Hint::of(&throughput, 1, &trials), None);
        assert_eq!(Hint::of(&throughput, 0, &trials), Some(Hint::LastValue(800.0)));
        let capacity = Plan { measure: Measure::Capacity { slo: "p99<5ms".to_owned() }, ..plan };
        assert_eq!(Hint::of(&capacity, 0, &trials), None, "it has no level");
    }
}
