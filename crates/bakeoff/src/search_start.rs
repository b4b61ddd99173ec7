//! What earlier trials say of a server before its trial.

use archive::model::Trial;

use crate::verdict::input::FinishedTrials;

/// What is known of a server before its trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchStart {
    /// The last value of the same variant and point.
    pub last_value: f64,
}

impl SearchStart {
    /// Where the search of the next trial begins: that of the variant and point with this index. None before its first valid one.
    pub fn of(index: usize, trials: &FinishedTrials) -> Option<Self> {
        let last_value = trials.of(index).filter_map(Trial::valid_value).last()?;
        Some(Self { last_value })
    }
}

#[cfg(test)]
mod tests {
    use archive::model::{MeasuredValue, Plan, TrialStatus};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    #[test]
    fn a_search_start_is_of_the_same_variant() {
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
        assert_eq!(SearchStart::of(1, &trials), None);
        assert_eq!(SearchStart::of(0, &trials), Some(SearchStart { last_value: 800.0 }));
    }
}
