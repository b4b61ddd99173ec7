//! What a quick comparison measures where a search for a capacity would take too long. The lengths of all else are in
//! [`preset`](crate::preset).

use std::time::Duration;

use archive::model::{Measure, ReplacedMeasure, RunLength};
use load::inputs::slo::Slo;
use load::slices::SliceLength;

use crate::wording::wording;

/// Longest slices with which a quick comparison searches a capacity: those of an objective of 10 ms. Slices of 0.1 s (5 ms) take a
/// comparison of two about a minute, those of 0.4 s (20 ms) 2 to 3, those of 0.5 s (50 ms) up to 5, and those of 2 s (200 ms) 8.
const LONGEST_SLICES: Duration = Duration::from_millis(200);

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
    fn a_quick_comparison_searches_no_capacity_in_long_slices() {
        let capacity = |slo: &str| Measure::Capacity { slo: slo.to_owned() };
        let of_databases = in_place_of(&capacity("p99<20ms"), RunLength::Quick);
        let (measure, replaced) = of_databases.expect("another measure");
        assert_eq!(measure, Measure::MaxThroughput);
        assert_eq!(
            crate::wording::replaced(&measure, &replaced),
            "Throughput in a closed loop was measured instead of capacity at p99 < 20 ms, because a quick comparison has no \
             time for a search in slices of 0.4 s: pass --measure capacity for it"
        );
        assert_eq!(in_place_of(&capacity("p99<20ms"), RunLength::Default), None);
        assert_eq!(in_place_of(&capacity("p99<10ms"), RunLength::Quick), None);
        assert_eq!(in_place_of(&Measure::MaxBytes, RunLength::Quick), None);
    }
}
