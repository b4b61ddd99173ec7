//! What a quick comparison measures instead of a capacity, whose search would take too long. The lengths of all else are in
//! [`preset`](crate::plan::preset).

use archive::model::{Measure, ReplacedMeasure, RunLength};

use crate::verdict::measure_names::wording;

/// A closed loop in place of this measure, and why; none where the run has time for it.
///
/// A capacity rests on operations that are late, and these come in clusters: nginx with files of up to 10 MiB has a cluster in some two
/// seconds under load, and a quick comparison loads each server near its capacity for less than five.
pub fn in_place_of(measure: &Measure, length: RunLength) -> Option<(Measure, ReplacedMeasure)> {
    let is_search = matches!(measure, Measure::Capacity { .. });
    if !is_search || length != RunLength::Quick {
        return None;
    }
    let why =
        "a quick comparison sees too few late operations: leave out --quick, or pass --measure capacity"
            .to_owned();
    Some((Measure::MaxThroughput, ReplacedMeasure { metric: wording(measure).what, why }))
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
            crate::verdict::measure_names::replaced(&measure, &replaced),
            "Throughput in a closed loop was measured instead of capacity at p99 < 5 ms, because a quick comparison sees \
             too few late operations: leave out --quick, or pass --measure capacity"
        );
        assert_eq!(in_place_of(&capacity, RunLength::Default), None);
        assert_eq!(in_place_of(&Measure::MaxBytes, RunLength::Quick), None);
    }
}
