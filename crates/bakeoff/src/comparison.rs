//! Pairs of variants against each other: the ratio from paired blocks, and where there is none, why. The statistics
//! are `stats`', the words are in `words`.

use std::collections::BTreeMap;

use archive::model::{Comparison, GateOutcome, SweepPoint, Trial, TrialStatus, VariantSummary};
use stats::describe::Sample;
use stats::multiple::{all_pairs, compare_pairs};
use stats::power::smallest_difference;
use stats::verdict::{InconclusiveReason, RatioVerdict, VerdictRule};

use crate::cell::at_point;
use crate::record::Record;
use crate::wording::{sentence, wording};

/// The chance with which the smallest difference that is stated would have been found.
const STATED_POWER: f64 = 0.8;

/// Pairs of variants: of a comparison the one with the larger median first, of a sweep as in the plan and each at
/// every point before the next, so that it can be followed along the axes.
pub fn comparisons(record: &Record<'_>, summaries: &[VariantSummary]) -> Vec<Comparison> {
    let mut points: Vec<&SweepPoint> = Vec::new();
    for cell in record.cells {
        if !points.contains(&&cell.point) {
            points.push(&cell.point);
        }
    }
    let mut comparisons: Vec<(usize, Comparison)> = points
        .into_iter()
        .flat_map(|point| comparisons_at(record, summaries, point).into_iter().enumerate())
        .collect();
    comparisons.sort_by_key(|(pair, _)| *pair);
    comparisons.into_iter().map(|(_, comparison)| comparison).collect()
}

fn comparisons_at(record: &Record<'_>, summaries: &[VariantSummary], point: &SweepPoint) -> Vec<Comparison> {
    let plan = record.plan;
    let mut here = at_point(record.cells, point);
    if plan.sweep.is_empty() {
        here.sort_by(|&a, &b| {
            let median = |cell: usize| summaries[cell].median.unwrap_or(f64::NEG_INFINITY);
            median(b).total_cmp(&median(a))
        });
    }
    let value = |cell: usize, block| record.trials.in_block(cell, block).and_then(Trial::valid_value);
    let blocks: Vec<Vec<Option<f64>>> =
        record.trials.blocks().map(|block| here.iter().map(|&cell| value(cell, block)).collect()).collect();
    let rule = VerdictRule::default();
    let pairs = all_pairs(here.len());
    let alpha = rule.confidence.shared_by(pairs.len());
    compare_pairs(&blocks, &pairs, &rule)
        .into_iter()
        .map(|pair| {
            let (a, b) = (here[pair.a], here[pair.b]);
            let names = (summaries[a].name.as_str(), summaries[b].name.as_str());
            let estimate = pair.comparison.estimate;
            let mut said = sentence(&plan.measure, names, estimate.as_ref(), &pair.comparison.verdict);
            if let RatioVerdict::Inconclusive { why: InconclusiveReason::NoRatio(_) } =
                pair.comparison.verdict
                && let Some(lost) = lost(record, a, b)
            {
                said = format!("{said}; {lost}");
            }
            if let Some(bound) = bound(record, summaries, a, b) {
                said = format!("{said}; {bound}");
            }
            let smallest = estimate.as_ref().and_then(|e| {
                smallest_difference(
                    e.blocks,
                    e.log_sd,
                    &VerdictRule { confidence: alpha, ..rule },
                    STATED_POWER,
                )
            });
            Comparison {
                a: names.0.to_owned(),
                b: names.1.to_owned(),
                point: point.clone(),
                estimate,
                verdict: pair.comparison.verdict,
                smallest_difference: smallest,
                sentence: said,
            }
        })
        .collect()
}

/// How many trials of these cells do not count, and what most of them failed.
fn lost(record: &Record<'_>, a: usize, b: usize) -> Option<String> {
    let both: Vec<&Trial> = record.trials.of(a).chain(record.trials.of(b)).collect();
    let out: Vec<&&Trial> = both.iter().filter(|trial| trial.status == TrialStatus::Invalid).collect();
    let mut gates: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for gate in out.iter().flat_map(|trial| &trial.gates).filter(|g| g.outcome == GateOutcome::Failed) {
        gates.entry(&gate.id).or_insert((0, &gate.message)).0 += 1;
    }
    let (count, why) = gates.into_values().max_by_key(|(count, _)| *count)?;
    Some(format!("{} of {} trials do not count, {count} of them because {why}", out.len(), both.len()))
}

/// Where the client was the limit for one side only, a bound may still be said: that side has at least what
/// the client could draw.
fn bound(record: &Record<'_>, summaries: &[VariantSummary], a: usize, b: usize) -> Option<String> {
    let limited = |cell: usize| {
        let by_client =
            |trial: &Trial| trial.gates.iter().any(|g| g.id == "client" && g.outcome == GateOutcome::Failed);
        let trials: Vec<&Trial> = record.trials.of(cell).filter(|t| t.measured.is_some()).collect();
        let all = !trials.is_empty() && trials.iter().all(|t| by_client(t));
        let values: Vec<f64> = trials.iter().filter_map(|t| Some(t.measured.as_ref()?.value)).collect();
        all.then(|| Sample::new(&values).ok().map(|s| s.median())).flatten()
    };
    let higher_is_better = wording(&record.plan.measure).higher_is_better;
    for (limited_side, other) in [(a, b), (b, a)] {
        if let (Some(drawn), Some(median), true) =
            (limited(limited_side), summaries[other].median, higher_is_better)
        {
            return Some(format!(
                "the client was the limit for {}, which has at least {:.2} × {}'s",
                summaries[limited_side].name,
                drawn / median,
                summaries[other].name
            ));
        }
    }
    None
}
