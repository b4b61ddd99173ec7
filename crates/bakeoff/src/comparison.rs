//! Compares pairs of variants: the ratio from paired blocks, or why there is none. `lower_bound` has what is known where
//! the client was the limit, `stats` the statistics, and `wording` the sentences.

use std::collections::BTreeMap;

use archive::model::{
    Comparison, FEWEST_OF_A_KIND, GateOutcome, SweepPoint, Trial, TrialStatus, VariantSummary, plural,
};
use stats::describe::Sample;
use stats::multiple::{all_pairs, compare_pairs};
use stats::power::smallest_difference;
use stats::verdict::{InconclusiveReason, RatioVerdict, Side, VerdictRule};

use crate::drift::{self, drift_clause};
use crate::estimand::{Beside, PairedStarts};
use crate::looks;
use crate::lower_bound::{self, LowerBound};
use crate::machine_draw;
use crate::near_limit::sentence_near_limit;
use crate::variant_point::{VariantPoint, at_point};
use crate::verdict_input::VerdictInput;
use crate::wording::{bound_sentence, sentence, wording};

/// Power at which the smallest detectable difference is stated.
const STATED_POWER: f64 = 0.8;

/// The comparisons of all pairs of variants. In a comparison, the variant with the larger median is the numerator. In a
/// sweep, pairs are in the plan's order, each at all of its points before the next pair.
pub fn comparisons(input: &VerdictInput<'_>, summaries: &[VariantSummary]) -> Vec<Comparison> {
    let mut points: Vec<&SweepPoint> = Vec::new();
    for VariantPoint { point, .. } in input.variant_points {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    let mut comparisons: Vec<(usize, Comparison)> = points
        .into_iter()
        .flat_map(|point| comparisons_at(input, summaries, point).into_iter().enumerate())
        .collect();
    comparisons.sort_by_key(|(pair, _)| *pair);
    comparisons.into_iter().map(|(_, comparison)| comparison).collect()
}

fn comparisons_at(
    input: &VerdictInput<'_>,
    summaries: &[VariantSummary],
    point: &SweepPoint,
) -> Vec<Comparison> {
    let plan = input.plan;
    let mut here = at_point(input.variant_points, point);
    if plan.sweep.is_empty() {
        here.sort_by(|&a, &b| {
            // A variant without a valid trial may still have a bound.
            let median = |index: usize| summaries[index].median.or_else(|| median_reached(input, index));
            let [first, second] = [a, b].map(|index| median(index).unwrap_or(f64::NEG_INFINITY));
            second.total_cmp(&first)
        });
    }
    let blocks = replicates(input, &here, Trial::valid_value);
    let rule = VerdictRule { confidence: looks::confidence(plan, input.look), ..VerdictRule::default() };
    let pairs = all_pairs(here.len());
    let confidence = rule.confidence.shared_by(pairs.len());
    compare_pairs(&blocks, &pairs, &rule)
        .into_iter()
        .map(|pair| {
            let (a, b) = (here[pair.a], here[pair.b]);
            let names = (summaries[a].name.as_str(), summaries[b].name.as_str());
            let mut estimate = pair.comparison.estimate;
            let mut verdict = pair.comparison.verdict;
            let smallest = estimate.as_ref().and_then(|e| {
                smallest_difference(e.blocks, e.log_sd, &VerdictRule { confidence, ..rule }, STATED_POWER)
            });
            let mut beside = Beside::default();
            let mut drift = None;
            let mut sentence = sentence(&plan.measure, names, estimate.as_ref(), &verdict);
            if let Some(estimate) = &estimate {
                let values: Vec<(f64, f64)> =
                    blocks.iter().filter_map(|block| block[pair.a].zip(block[pair.b])).collect();
                beside = Beside::of(names, &values, &paired_starts(input, a, b), confidence);
                drift = drift::drift(&plan.measure, input.trials, (a, b), confidence);
                let near = sentence_near_limit(&plan.measure, names, estimate, &verdict, smallest);
                sentence =
                    beside.sentence(&plan.measure, names, estimate, &verdict, near.unwrap_or(sentence));
            }
            if let RatioVerdict::Inconclusive { why } = &verdict {
                let rule = VerdictRule { confidence, ..rule };
                let has_ratio = matches!(why, InconclusiveReason::TooWide { .. });
                match lower_bound(input, (a, b), &rule) {
                    Some((higher, LowerBound { at_least: Some(at_least), estimate: of_bound })) => {
                        verdict = RatioVerdict::Difference { higher, at_least };
                        sentence = bound_sentence(&plan.measure, in_order(names, higher), &of_bound);
                        // The ratio of the few valid trials is of the blocks in which the server was slow.
                        (estimate, beside, drift) = (None, Beside::default(), None);
                    }
                    bound if !has_ratio => {
                        sentence = sentence_without_ratio(input, (a, b), names, sentence, bound);
                    }
                    _ => {}
                }
            }
            if !matches!(verdict, RatioVerdict::Inconclusive { why: InconclusiveReason::NoRatio(_) })
                && let Some(of) = of_machines(input, a, b)
            {
                sentence = format!("{sentence}; {of}");
            }
            if let Some(clause) = drift_clause(plan, drift.as_ref()) {
                sentence = format!("{sentence}; {clause}");
            }
            Comparison {
                a: names.0.to_owned(),
                b: names.1.to_owned(),
                point: point.clone(),
                smallest_difference: smallest.filter(|_| estimate.is_some()),
                estimate: estimate.map(Into::into),
                means: beside.means,
                odd_starts: beside.odd_starts,
                drift,
                verdict: verdict.into(),
                sentence,
            }
        })
        .collect()
}

/// The starts of a pair in the blocks that are compared; none where machines of a kind are, because their values are of several starts.
fn paired_starts(input: &VerdictInput<'_>, a: usize, b: usize) -> Vec<PairedStarts> {
    if machine_draw::sets_of_kinds(input.plan).is_some() {
        return Vec::new();
    }
    let start = |index: usize, block: u32| {
        let trial = input.trials.in_block(index, block)?;
        Some((trial.number, trial.valid_value()?))
    };
    let pair = |block| Some(PairedStarts { a: start(a, block)?, b: start(b, block)? });
    input.trials.blocks().filter_map(pair).collect()
}

/// The sentence of a pair without a ratio: also why its trials are invalid, and a bound that shows no difference.
fn sentence_without_ratio(
    input: &VerdictInput<'_>,
    (a, b): (usize, usize),
    names: (&str, &str),
    sentence: String,
    bound: Option<(Side, LowerBound)>,
) -> String {
    let why = why_not_valid(input, a, b);
    let bound = bound.map(|(limited, LowerBound { estimate, .. })| {
        let (limited, other) = in_order(names, limited);
        format!("{limited} has at least {:.2} × the value of {other}", estimate.low)
    });
    let parts: Vec<String> = [Some(sentence), why, bound].into_iter().flatten().collect();
    parts.join("; ")
}

/// A pair's names, that of this side first.
fn in_order<'n>((a, b): (&'n str, &'n str), first: Side) -> (&'n str, &'n str) {
    if first == Side::A { (a, b) } else { (b, a) }
}

/// The median of what the servers of a variant carried, at least.
fn median_reached(input: &VerdictInput<'_>, index: usize) -> Option<f64> {
    let values: Vec<f64> = input.trials.of(index).filter_map(lower_bound::reached).collect();
    Sample::new(&values).ok().map(|sample| sample.median())
}

/// What is compared: the values of these variants in each block, or in each set of machines where kinds are compared.
fn replicates(
    input: &VerdictInput<'_>,
    variants: &[usize],
    value: impl Fn(&Trial) -> Option<f64>,
) -> Vec<Vec<Option<f64>>> {
    let in_block = |index: usize, block| input.trials.in_block(index, block).and_then(&value);
    let of_block = |block| variants.iter().map(|&index| in_block(index, block)).collect();
    let blocks: Vec<Vec<Option<f64>>> = input.trials.blocks().map(of_block).collect();
    match machine_draw::sets_of_kinds(input.plan) {
        Some(sets) => of_sets(&blocks, sets),
        None => blocks,
    }
}

/// The values of each set of machines: geometric means over those of its blocks in which all variants have one. A machine
/// differs from others of its kind in all of its blocks alike, so the blocks of a set are no replicates of a kind.
fn of_sets(blocks: &[Vec<Option<f64>>], sets: u32) -> Vec<Vec<Option<f64>>> {
    let variants = blocks.first().map_or(0, Vec::len);
    let of_set = |set: u32| {
        let own = (1..).zip(blocks).filter(|(block, _)| machine_draw::set_of(*block, sets) == set);
        let complete: Vec<Vec<f64>> =
            own.filter_map(|(_, values)| values.iter().copied().collect::<Option<Vec<f64>>>()).collect();
        let mean = |variant: usize| {
            let logs: Vec<f64> = complete.iter().map(|values| values[variant].ln()).collect();
            Sample::new(&logs).ok().map(|sample| sample.mean().exp())
        };
        (0..variants).map(mean).collect()
    };
    (0..sets).map(of_set).collect()
}

/// Of which machines a ratio is, where the variants of a pair run on different ones, or on kinds.
fn of_machines(input: &VerdictInput<'_>, a: usize, b: usize) -> Option<String> {
    let plan = input.plan;
    let variant = |index: usize| &plan.variants[input.variant_points[index].variant];
    let has_kind = variant(a).kind().is_some() || variant(b).kind().is_some();
    match machine_draw::sets(plan).filter(|_| has_kind) {
        Some(sets) if sets >= FEWEST_OF_A_KIND => Some(format!("over {sets} machines of each kind")),
        Some(1) | None => {
            let machine = |index: usize| plan.host_of(variant(index)).and_then(|host| host.ssh.as_ref());
            (machine(a) != machine(b)).then(|| "these two machines, not machines of their types".to_owned())
        }
        Some(sets) => Some(format!(
            "these {sets} machines of each kind, not all of their kinds: that takes {FEWEST_OF_A_KIND}"
        )),
    }
}

/// How many trials of a pair failed, and why the first of them did; or how many are invalid, and the message of the gate that most
/// of them failed, where these are more.
fn why_not_valid(input: &VerdictInput<'_>, a: usize, b: usize) -> Option<String> {
    let both: Vec<&Trial> = input.trials.of(a).chain(input.trials.of(b)).collect();
    let invalid: Vec<&&Trial> = both.iter().filter(|trial| trial.status == TrialStatus::Invalid).collect();
    let failed = || both.iter().filter(|trial| trial.status == TrialStatus::Failed);
    if let Some(first) = failed().next().filter(|_| failed().count() >= invalid.len()) {
        let (some, all) = (failed().count(), plural(both.len() as u64, "trial"));
        return Some(format!("{some} of {all} failed: {}: {}", first.variant, first.reasons.join("; ")));
    }
    let mut gates: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for gate in invalid.iter().flat_map(|trial| &trial.gates).filter(|g| g.outcome == GateOutcome::Failed) {
        gates.entry(&gate.id).or_insert((0, &gate.message)).0 += 1;
    }
    let (count, why) = gates.into_values().max_by_key(|(count, _)| *count)?;
    let are = if invalid.len() == 1 { "is" } else { "are" };
    let (some, all, failed) =
        (invalid.len(), plural(both.len() as u64, "trial"), plural(count as u64, "trial"));
    Some(format!("{some} of {all} {are} invalid; the most frequent reason ({failed}): {why}"))
}

/// The bound of a pair for one of which the client was the limit. None where that is so for both: neither value bounds the ratio
/// then; and where all trials are measurements.
fn lower_bound(
    input: &VerdictInput<'_>,
    (a, b): (usize, usize),
    rule: &VerdictRule,
) -> Option<(Side, LowerBound)> {
    if !wording(&input.plan.measure).higher_is_better {
        return None;
    }
    let is_limited = |index: usize| input.trials.of(index).any(lower_bound::is_limited);
    let (limited, other, side) = match (is_limited(a), is_limited(b)) {
        (true, false) => (a, b, Side::A),
        (false, true) => (b, a, Side::B),
        _ => return None,
    };
    let blocks = replicates(input, &[limited, other], lower_bound::reached);
    let complete: Vec<(f64, f64)> = blocks.iter().filter_map(|block| block[0].zip(block[1])).collect();
    Some((side, LowerBound::of(&complete, rule)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_machines_is_one_value_however_many_blocks_it_has() {
        let block = |a: f64, b: f64| vec![Some(a), Some(b)];
        let blocks = [block(2.0, 1.0), block(4.0, 4.0), block(8.0, 1.0), vec![Some(9.0), None]];
        let of_sets = of_sets(&blocks, 2);
        let rounded: Vec<Vec<Option<i64>>> = of_sets
            .iter()
            .map(|values| {
                values.iter().map(|value| value.map(|value| (value * 1e6).round() as i64)).collect()
            })
            .collect();
        assert_eq!(rounded, [vec![Some(4_000_000), Some(1_000_000)], vec![Some(4_000_000), Some(4_000_000)]]);
    }
}
