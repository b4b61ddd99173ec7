//! What a quick comparison measures where a search for a capacity would take too long. The lengths of all else are in
//! [`preset`](crate::preset).

use std::time::Duration;

use archive::model::{Measure, ReplacedMeasure, RunLength};
use load::inputs::slo::Slo;
use load::slices::SliceLength;

use crate::wording::wording;

/// Longest slices with which a quick comparison searches a capacity. A block has about twelve for each server: with slices of
/// 0.5 s (an objective of 50 ms) a comparison of two takes 2 to 3 minutes, with those of 2 s (200 ms) 8.
const LONGEST_SLICES: Duration = Duration::from_secs(1);

/// A closed loop in place of this measure, and why; none where the run has time for it.
pub fn in_place_of(measure: &Measure, length: RunLength) -> Option<(Measure, ReplacedMeasure)> {
    let Measure::Capacity { slo } = measure else { return None };
    let slo: Slo = slo.parse().ok()?;
    let slices = SliceLength::for_servers([], Some(&slo), Duration::ZERO).measured;
    if length != RunLength::Quick || slices <= LONGEST_SLICES {
        return None;
    }
    let seconds = slices.as_secs_f64();
    let why = format!(
        "a quick comparison has no time for a search in slices of {seconds} s: pass --measure capacity for it"
    );
    Some((Measure::MaxThroughput, ReplacedMeasure { metric: wording(measure).what, why }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_comparison_searches_no_capacity_in_slices_of_seconds() {
        let capacity = |slo: &str| Measure::Capacity { slo: slo.to_owned() };
        let of_mail = in_place_of(&capacity("p99<200ms"), RunLength::Quick);
        let (measure, replaced) = of_mail.expect("another measure");
        assert_eq!(measure, Measure::MaxThroughput);
        assert_eq!(
            crate::wording::replaced(&measure, &replaced),
            "Throughput in a closed loop was measured instead of capacity at p99 < 200 ms, because a quick comparison has no \
             time for a search in slices of 2 s: pass --measure capacity for it"
        );
        assert_eq!(in_place_of(&capacity("p99<200ms"), RunLength::Default), None);
        assert_eq!(in_place_of(&capacity("p99<50ms"), RunLength::Quick), None);
        assert_eq!(in_place_of(&Measure::MaxBytes, RunLength::Quick), None);
    }
}
