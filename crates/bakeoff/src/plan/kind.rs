//! The kind of a plan with what belongs to it. On disk these are fields of one table; in memory a new kind makes the compiler list the
//! places that must know it.

use archive::model::{Plan, PlannedConcurrency, PlannedStudy, RunKind};

use crate::plan::error::PlanError;

/// The kind of a plan, with what only that kind has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlannedKind<'p> {
    /// Trials of variants that are compared.
    Compare,
    /// Trials of variants at the points of axes.
    Sweep,
    /// A study of servers.
    Explain(&'p PlannedStudy),
    /// Steps of transfers in progress.
    Concurrency(&'p PlannedConcurrency),
}

impl<'p> PlannedKind<'p> {
    /// That of a plan. A plan may be written by hand, and lack what its kind needs.
    pub fn of(plan: &'p Plan) -> Result<Self, PlanError> {
        Ok(match plan.kind {
            RunKind::Compare => Self::Compare,
            RunKind::Sweep => Self::Sweep,
            RunKind::Explain => Self::Explain(plan.study.as_ref().ok_or(PlanError::NoExplanation)?),
            RunKind::Concurrency => Self::Concurrency(plan.concurrency.as_ref().ok_or(PlanError::NoSteps)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::PLAN;

    #[test]
    fn a_plan_has_what_its_kind_needs() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        assert!(matches!(PlannedKind::of(&plan), Ok(PlannedKind::Compare)));
        plan.kind = RunKind::Explain;
        assert!(matches!(PlannedKind::of(&plan), Err(PlanError::NoExplanation)));
        plan.kind = RunKind::Concurrency;
        assert!(matches!(PlannedKind::of(&plan), Err(PlanError::NoSteps)));
    }
}
