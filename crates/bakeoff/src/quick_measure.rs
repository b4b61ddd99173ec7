//! What a quick comparison measures where a search for a capacity would take too long. The lengths of all else are in
//! [`preset`](crate::preset).

use archive::model::{Measure, ReplacedMeasure, RunLength};
use load::inputs::slo::{Slo, limit_text};

use crate::wording::wording;

/// Longest time limit of an objective for which a quick comparison searches a capacity. Servers with longer ones carry out so few
/// operations that a quick comparison sees hardly any late one.
const LONGEST_LIMIT_US: f64 = 10_000.0;

/// A closed loop in place of this measure, and why; none where the run has time for it.
pub fn in_place_of(measure: &Measure, length: RunLength) -> Option<(Measure, ReplacedMeasure)> {
    let Measure::Capacity { slo } = measure else { return None };
    let slo: Slo = slo.parse().ok()?;
    let limit_us = slo.latency_limit_us().filter(|limit| *limit > LONGEST_LIMIT_US)?;
    if length != RunLength::Quick {
        return None;
    }
    let why = format!(
        "a quick comparison sees too few operations over {} for a search: pass --measure capacity for it",
        limit_text(limit_us)
    );
    Some((Measure::MaxThroughput, ReplacedMeasure { metric: wording(measure).what, why }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_comparison_searches_no_capacity_of_slow_servers() {
        let capacity = |slo: &str| Measure::Capacity { slo: slo.to_owned() };
        let of_databases = in_place_of(&capacity("p99<20ms"), RunLength::Quick);
        let (measure, replaced) = of_databases.expect("another measure");
        assert_eq!(measure, Measure::MaxThroughput);
        assert_eq!(
            crate::wording::replaced(&measure, &replaced),
            "Throughput in a closed loop was measured instead of capacity at p99 < 20 ms, because a quick comparison sees \
             too few operations over 20ms for a search: pass --measure capacity for it"
        );
        assert_eq!(in_place_of(&capacity("p99<20ms"), RunLength::Default), None);
        assert_eq!(in_place_of(&capacity("p99<10ms"), RunLength::Quick), None);
        assert_eq!(in_place_of(&Measure::MaxBytes, RunLength::Quick), None);
    }
}
