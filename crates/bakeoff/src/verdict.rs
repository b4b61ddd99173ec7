//! From trials to what may be said: summaries by cell, comparisons from paired blocks, curves of a sweep.
//! Valid trials only; the statistics are `stats`', the words are in `words`.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use archive::model::{
    Comparison, CurvePoint, FORMAT, Facts, GateOutcome, Mode, Plan, QuantileCurve, SweepCurve, SweepPoint,
    Trial, TrialStatus, TrialValue, VariantSummary, Vary, Verdict,
};
use stats::confidence::{Confidence, Interval};
use stats::describe::Sample;
use stats::modes::{self, Modes};
use stats::multiple::{all_pairs, compare_pairs};
use stats::power::smallest_difference;
use stats::usl;
use stats::verdict::{Rule, Verdict as Said, Why};

use crate::caveats::caveats;
use crate::cell::{Cell, as_number};
use crate::counted;
use crate::fairness;
use crate::words::{sentence, wording};

/// The chance with which the smallest difference that is stated would have been found.
const STATED_POWER: f64 = 0.8;

/// What a verdict is made of.
pub struct Record<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// What was found before the first trial.
    pub facts: &'a Facts,
    /// The cells of the plan.
    pub cells: &'a [Cell],
    /// The trials, each with its cell, in the order of time.
    pub trials: &'a [(usize, Trial)],
    /// Response times of the valid trials of each cell, merged.
    pub curves: &'a [QuantileCurve],
}

/// Reaches the verdict.
pub fn reach(record: &Record<'_>) -> Verdict {
    let plan = record.plan;
    let wording = wording(&plan.measure);
    let summaries: Vec<VariantSummary> = (0..record.cells.len()).map(|cell| summary(record, cell)).collect();
    let comparisons = comparisons(record, &summaries);
    let curves = curves(record, &summaries);
    let planned = record.cells.len() * plan.blocks as usize;
    Verdict {
        format: FORMAT,
        reached_unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64),
        sentence: headline(record, &summaries, &comparisons, &curves, wording.unit),
        measure: wording.what,
        unit: wording.unit.to_owned(),
        higher_is_better: wording.higher_is_better,
        complete: record.trials.iter().filter(|(_, t)| t.status != TrialStatus::Interrupted).count()
            >= planned,
        comparisons,
        variants: summaries,
        curves,
        fairness: fairness::differences(plan, record.facts),
        caveats: caveats(plan, record.facts),
    }
}

fn trials_of<'a>(record: &'a Record<'_>, cell: usize) -> impl Iterator<Item = &'a Trial> {
    record.trials.iter().filter(move |(of, _)| *of == cell).map(|(_, trial)| trial)
}

fn summary(record: &Record<'_>, cell: usize) -> VariantSummary {
    let trials: Vec<&Trial> = trials_of(record, cell).collect();
    let value = |trial: &&Trial| {
        let value = trial.measured.as_ref()?.value;
        Some(TrialValue { trial: trial.number, value, valid: trial.status == TrialStatus::Valid })
    };
    let valid: Vec<(u32, f64)> = trials.iter().filter_map(|t| Some((t.number, t.valid_value()?))).collect();
    let values: Vec<f64> = valid.iter().map(|(_, value)| *value).collect();
    let found = match modes::detect(&values) {
        Modes::Two { low, high } => [low, high]
            .into_iter()
            .map(|mode| Mode {
                centre: mode.centre,
                trials: mode.members.iter().map(|&m| valid[m].0).collect(),
            })
            .collect(),
        Modes::One | Modes::Unjudged { .. } => Vec::new(),
    };
    VariantSummary {
        name: record.plan.variants[record.cells[cell].variant].name.clone(),
        point: record.cells[cell].point.clone(),
        values: trials.iter().filter_map(value).collect(),
        median: Sample::new(&values).ok().map(|sample| sample.median()),
        interval: median_interval(&values),
        valid: values.len() as u32,
        invalid: (trials.len() - values.len()) as u32,
        modes: found,
        counted_per_s: counted::per_s(&trials),
        response_curve_us: record.curves.get(cell).cloned().unwrap_or_default(),
    }
}

/// Interval of the median at 95 % at least, from order statistics (Conover, Practical Nonparametric
/// Statistics, 3.2): the narrowest symmetric pair of ranks whose binomial tails stay under 2.5 % each. None
/// under six values, where no pair does.
fn median_interval(values: &[f64]) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let tail = Confidence::P95.alpha() / 2.0;
    let mut below = 0.0;
    let mut probability = 0.5_f64.powf(n as f64);
    let mut rank = None;
    for k in 0..n / 2 {
        below += probability;
        if below > tail {
            break;
        }
        rank = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    rank.map(|k| Interval { low: sorted[k], high: sorted[n - 1 - k] })
}

/// Pairs of variants: of a comparison the one with the larger median first, of a sweep as in the plan and each at
/// every point before the next, so that it can be followed along the axes.
fn comparisons(record: &Record<'_>, summaries: &[VariantSummary]) -> Vec<Comparison> {
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
    let mut here: Vec<usize> = (0..record.cells.len()).filter(|&c| record.cells[c].point == *point).collect();
    if plan.sweep.is_empty() {
        here.sort_by(|&a, &b| {
            let median = |cell: usize| summaries[cell].median.unwrap_or(f64::NEG_INFINITY);
            median(b).total_cmp(&median(a))
        });
    }
    let held = record.trials.iter().map(|(_, trial)| trial.block).max().unwrap_or(0);
    let blocks: Vec<Vec<Option<f64>>> = (1..=held)
        .map(|block| {
            here.iter()
                .map(|&cell| trials_of(record, cell).find(|t| t.block == block).and_then(Trial::valid_value))
                .collect()
        })
        .collect();
    let rule = Rule::default();
    let pairs = all_pairs(here.len());
    let alpha = rule.confidence.shared_by(pairs.len());
    compare_pairs(&blocks, &pairs, &rule)
        .into_iter()
        .map(|pair| {
            let (a, b) = (here[pair.a], here[pair.b]);
            let names = (summaries[a].name.as_str(), summaries[b].name.as_str());
            let estimate = pair.comparison.estimate;
            let mut said = sentence(&plan.measure, names, estimate.as_ref(), &pair.comparison.verdict);
            if let Said::Inconclusive { why: Why::NoRatio(_) } = pair.comparison.verdict
                && let Some(lost) = lost(record, a, b)
            {
                said = format!("{said}; {lost}");
            }
            if let Some(bound) = bound(record, summaries, a, b) {
                said = format!("{said}; {bound}");
            }
            let smallest = estimate.as_ref().and_then(|e| {
                smallest_difference(e.blocks, e.log_sd, &Rule { confidence: alpha, ..rule }, STATED_POWER)
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
    let both: Vec<&Trial> = trials_of(record, a).chain(trials_of(record, b)).collect();
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
        let trials: Vec<&Trial> = trials_of(record, cell).filter(|t| t.measured.is_some()).collect();
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

fn curves(record: &Record<'_>, summaries: &[VariantSummary]) -> Vec<SweepCurve> {
    let mut curves = Vec::new();
    for axis in &record.plan.sweep {
        let name = axis.vary.to_string();
        let mut lines: BTreeMap<(usize, String), (SweepPoint, Vec<CurvePoint>)> = BTreeMap::new();
        for (cell, summary) in record.cells.iter().zip(summaries) {
            let Some(at) = cell.point.get(&name).and_then(as_number) else { continue };
            let valid: Vec<f64> = summary.values.iter().filter(|v| v.valid).map(|v| v.value).collect();
            let Some(median) = summary.median else { continue };
            let mut held = cell.point.clone();
            held.remove(&name);
            let line = lines.entry((cell.variant, format!("{held:?}"))).or_insert((held, Vec::new()));
            line.1.push(CurvePoint {
                at,
                median,
                least: valid.iter().copied().fold(f64::INFINITY, f64::min),
                most: valid.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            });
        }
        for ((variant, _), (held, mut points)) in lines {
            points.sort_by(|a, b| a.at.total_cmp(&b.at));
            let law = counts_workers(&axis.vary).then(|| {
                let points: Vec<usl::Point> =
                    points.iter().map(|p| usl::Point { load: p.at, throughput: p.median }).collect();
                usl::fit(&points)
            });
            curves.push(SweepCurve {
                variant: record.plan.variants[variant].name.clone(),
                axis: name.clone(),
                held,
                points,
                usl: law,
            });
        }
    }
    curves
}

/// The scalability law speaks of concurrent workers or users, and of nothing else.
fn counts_workers(axis: &Vary) -> bool {
    match axis {
        Vary::Connections => true,
        Vary::Rate => false,
        Vary::Knob(name) => {
            ["thread", "worker", "process", "jobs", "depth"].iter().any(|word| name.contains(word))
        }
    }
}

/// The answer of the whole run in one sentence.
fn headline(
    record: &Record<'_>,
    summaries: &[VariantSummary],
    comparisons: &[Comparison],
    curves: &[SweepCurve],
    unit: &str,
) -> String {
    if record.plan.sweep.is_empty() && !comparisons.is_empty() {
        let modal =
            summaries.iter().filter(|s| s.modes.len() > 1).map(|s| s.name.as_str()).collect::<Vec<_>>();
        let warning = if modal.is_empty() {
            String::new()
        } else {
            format!("; the trials of {} lie in two groups: look at the dots", modal.join(" and "))
        };
        let ranked = |c: &&Comparison| matches!(c.verdict, Said::Difference { .. });
        let best = comparisons.iter().find(ranked).or(comparisons.first());
        let all: Vec<&str> = if comparisons.len() <= 3 {
            comparisons.iter().map(|c| c.sentence.as_str()).collect()
        } else {
            best.map(|c| c.sentence.as_str()).into_iter().collect()
        };
        return all.join("; ") + &warning;
    }
    let peaks = curves.iter().filter_map(|curve| {
        let best = curve.points.iter().max_by(|a, b| a.median.total_cmp(&b.median))?;
        let held: Vec<String> =
            curve.held.iter().map(|(axis, value)| format!(" with {axis} {value}")).collect();
        Some(format!(
            "{}{}: most at {} {} ({})",
            curve.variant,
            held.concat(),
            curve.axis,
            best.at,
            crate::words::quantity(best.median, unit)
        ))
    });
    let peaks: Vec<String> = peaks.collect();
    if !peaks.is_empty() {
        return peaks.join("; ");
    }
    match summaries {
        [one] => match one.median {
            Some(median) => format!(
                "{}: {}, median of {} trials",
                one.name,
                crate::words::quantity(median, unit),
                one.valid
            ),
            None => format!("inconclusive: {} has no valid trial", one.name),
        },
        _ => "inconclusive: no valid trials to compare".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_needs_six_values() {
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        let six = median_interval(&[6.0, 1.0, 2.0, 3.0, 4.0, 5.0]).expect("an interval");
        assert_eq!((six.low, six.high), (1.0, 6.0));
        // Ten values: ranks 2 and 9 leave 1.07 % on each side (Conover's table A3).
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = median_interval(&ten).expect("an interval");
        assert_eq!((interval.low, interval.high), (2.0, 9.0));
    }
}
