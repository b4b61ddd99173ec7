//! Where the search of a trial begins: what earlier trials say of it.

use archive::model::{Measure, Plan, Trial};
use stats::describe::Sample;

use crate::first_block::closed_loop_per_s;
use crate::variant_point::VariantPoint;
use crate::verdict_input::FinishedTrials;

/// What is known of a server before its trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hint {
    /// The capacity as a share of a closed loop's throughput, of all servers together. Each search then begins at its server's own
    /// closed loop. If it began at the server's own last capacity, blocks would remember each other (decision 0009).
    ShareOfClosedLoop(f64),
    /// The last value of the same variant and point.
    LastValue(f64),
}

impl Hint {
    /// The last value, if that is what is known.
    pub fn last_value(self) -> Option<f64> {
        match self {
            Self::LastValue(value) => Some(value),
            Self::ShareOfClosedLoop(_) => None,
        }
    }

    /// The hint for the next trial of this variant and point. None before its first valid one.
    pub fn of(
        plan: &Plan,
        variant_points: &[VariantPoint],
        index: usize,
        trials: &FinishedTrials,
    ) -> Option<Self> {
        let last = trials.of(index).filter_map(Trial::valid_value).last()?;
        if !matches!(plan.measure, Measure::Capacity { .. }) {
            return Some(Self::LastValue(last));
        }
        let point = &variant_points[index].point;
        let beside = trials.indexed().filter(|(of, _)| variant_points[*of].point == *point);
        capacity_share(beside.map(|(_, trial)| trial)).map(Self::ShareOfClosedLoop)
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
        assert_eq!(Hint::of(&throughput, &points, 1, &trials), None);
        assert_eq!(Hint::of(&throughput, &points, 0, &trials), Some(Hint::LastValue(800.0)));
        let capacity = Plan { measure: Measure::Capacity { slo: "p99<5ms".to_owned() }, ..plan };
        assert_eq!(
            Hint::of(&capacity, &points, 0, &trials),
            None,
            "there is no closed loop to take a share of"
        );
    }
}
