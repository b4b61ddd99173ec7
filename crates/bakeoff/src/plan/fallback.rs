//! What may take the place of a measure: in a quick comparison a closed loop, because the search for a capacity would take too long;
//! after the first block CPU time an operation. Whether it does then is left to [`first_block`](crate::run::first_block).

use archive::model::{Measure, Plan, ReplacedMeasure, RunKind, RunLength};
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

#[cfg(test)]
mod tests {
    use super::*;

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
