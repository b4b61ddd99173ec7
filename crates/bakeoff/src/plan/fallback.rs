//! What may take the place of a measure: in a quick comparison a closed loop, because the search for a capacity would take too long;
//! after the first block CPU time an operation. Whether it does then is left to [`first_block`](crate::run::first_block).

use archive::model::{Measure, Plan, ReplacedMeasure, RunKind, RunLength, Vary};
use workload::Workload;

use crate::plan::measure_names::wording;

/// A closed loop in place of this measure, and why; none where the run has time for it.
///
/// A capacity rests on operations that are late, and these come in clusters: nginx with files of up to 10 MiB has a cluster in some two
/// seconds under load, and a quick comparison loads each server near its capacity for less than five.
pub fn in_place_of(measure: &Measure, length: RunLength) -> Option<(Measure, ReplacedMeasure)> {
    let is_search = measure.is_capacity();
    if !is_search || length != RunLength::Quick {
        return None;
    }
    let why =
        "a quick comparison sees too few late operations: leave out --quick, or pass --measure capacity"
            .to_owned();
    Some((Measure::MaxThroughput, ReplacedMeasure { metric: wording(measure).what, why }))
}

/// Whether the measure may be replaced by CPU time an operation: not where there is no load of this program, where a second
/// load has operations of its own, or where the question is about time.
pub fn may_fall_back(plan: &Plan, workload: &Workload) -> bool {
    let has_users = workload.load.has_users(plan.on_op.as_deref());
    plan.kind == RunKind::Compare && !workload.load.is_runner() && !has_users && has_alternative(plan)
}

/// Whether CPU time an operation answers a similar question as this measure, of a load that this program makes.
pub fn has_alternative(plan: &Plan) -> bool {
    let is_of_amount = plan.measure.is_capacity() || plan.measure.is_closed_loop();
    is_of_amount && plan.background.is_none()
}

/// The options with which a user has CPU time an operation compared instead of this measure; none where no options lead to it.
/// `makes_own_load` says whether the program under test makes the load.
pub fn options_of_cpu_time(plan: &Plan, makes_own_load: bool) -> Option<&'static str> {
    let has_no_rate = matches!(plan.measure, Measure::OneByOne { .. } | Measure::BreakingPoint);
    if makes_own_load || plan.background.is_some() || plan.measure.is_cpu_time() || has_no_rate {
        None
    } else if plan.kind == RunKind::Sweep && !plan.measure.is_of_users() && !plan.varies(&Vary::Rate) {
        Some("--measure cpu --rate RATE")
    } else {
        Some("--measure cpu")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::PLAN;

    #[test]
    fn options_are_named_that_lead_to_cpu_time_and_no_others() {
        let plan: Plan = PLAN.parse().expect("a plan");
        assert_eq!(options_of_cpu_time(&plan, false), Some("--measure cpu"));
        assert_eq!(options_of_cpu_time(&plan, true), None, "a runner has no rate");
        let beside = "blocks = 4\nbackground = { rate_per_s = 100.0, connections = 2 }";
        let background: Plan = PLAN.replace("blocks = 4", beside).parse().expect("a plan");
        assert_eq!(options_of_cpu_time(&background, false), None);
        let sweep = Plan { kind: RunKind::Sweep, ..plan.clone() };
        assert_eq!(options_of_cpu_time(&sweep, false), Some("--measure cpu --rate RATE"));
        let measured = Plan { measure: Measure::CpuTime { rate_per_s: None }, ..plan };
        assert_eq!(options_of_cpu_time(&measured, false), None);
    }

    #[test]
    fn a_quick_comparison_searches_no_capacity() {
        let capacity = Measure::Capacity { slo: "p99<5ms".to_owned() };
        let (measure, replaced) = in_place_of(&capacity, RunLength::Quick).expect("another measure");
        assert_eq!(measure, Measure::MaxThroughput);
        assert_eq!(
            crate::plan::measure_names::replaced(&measure, &replaced),
            "Throughput in a closed loop was measured instead of capacity at p99 < 5 ms, because a quick comparison sees \
             too few late operations: leave out --quick, or pass --measure capacity"
        );
        assert_eq!(in_place_of(&capacity, RunLength::Default), None);
        assert_eq!(in_place_of(&Measure::MaxBytes, RunLength::Quick), None);
    }
}
