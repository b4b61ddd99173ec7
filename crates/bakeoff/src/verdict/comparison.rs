//! Compares pairs of variants: the ratio from paired blocks, or why there is none. [`bounded_pair`] has the verdict where trials
//! are missing because of what their servers did, `stats` the statistics, and `measure_names` the sentences.

mod bounded_pair;
mod bounds;
#[cfg(test)]
mod capacities;
pub mod server_failures;
#[cfg(test)]
mod simulation;

use std::collections::BTreeMap;

use archive::model::{
    Comparison, ComparisonVerdict, FEWEST_OF_A_KIND, GateOutcome, InconclusiveReason, SweepPoint, Trial,
    TrialStatus, VariantSummary, plural,
};
use stats::describe::Sample;
use stats::multiple::{all_pairs, compare_pairs};
use stats::power::smallest_difference;
use stats::ratio::{IntervalMethod, RatioEstimate};
use stats::verdict::{RatioComparison, VerdictRule};

use self::bounded_pair::{BoundedPair, Pair};
use crate::plan::fallback::options_of_cpu_time;
use crate::plan::kind_assignment;
use crate::plan::variant_point::{VariantPoint, at_point};
use crate::verdict::caveats::has_client;
use crate::verdict::company;
use crate::verdict::company::between_sides::{self, TakenShares};
use crate::verdict::comparison_sentence::{
    MOST_APART, no_verdict_yet, sentence, tells_nothing, unequal_disturbance,
};
use crate::verdict::drift::{self, drift_clause};
use crate::verdict::estimand::{Beside, PairedStarts};
use crate::verdict::input::VerdictInput;
use crate::verdict::interim_looks::{self, STATED_POWER};
use crate::verdict::near_limit::sentence_near_limit;
use crate::verdict::sustained::TrialValues;

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
    let is_of_capacities = plan.measure.is_capacity();
    let values = TrialValues::of(input, &here);
    let blocks = replicates(input, &here, |trial| values.value(trial));
    // A rank of blocks would leave out what few of them have seen.
    let method = is_of_capacities.then_some(IntervalMethod::StudentT);
    let level = interim_looks::level(input, &here);
    let rule = VerdictRule { confidence: level.confidence(), method, ..VerdictRule::default() };
    let pairs = all_pairs(here.len());
    let confidence = rule.confidence.shared_by(pairs.len());
    compare_pairs(&blocks, &pairs, &rule)
        .into_iter()
        .map(|pair| {
            let indices = (here[pair.a], here[pair.b]);
            let names = (summaries[indices.0].name.as_str(), summaries[indices.1].name.as_str());
            let rule = VerdictRule { confidence, ..rule };
            let of = Pair { indices, names };
            let too_early = match level {
                interim_looks::Level::TooEarly { blocks, needed } => Some((blocks, needed)),
                interim_looks::Level::Of(_) => None,
            };
            let bounded = if too_early.is_none() { BoundedPair::of(input, of, &rule, &values) } else { None };
            let smallest_of = |estimate: &RatioEstimate| {
                smallest_difference(estimate.blocks, estimate.log_sd, &rule, STATED_POWER)
            };
            let RatioComparison { estimate: measured, verdict: of_valid } = &pair.comparison;
            let mut of_valid_sentence = sentence(&plan.measure, names, measured.as_ref(), of_valid);
            let (mut beside, mut drift) = (Beside::default(), None);
            if let Some(estimate) = measured
                && bounded.is_none()
                && too_early.is_none()
            {
                let near =
                    sentence_near_limit(&plan.measure, names, estimate, of_valid, smallest_of(estimate));
                of_valid_sentence = near.unwrap_or(of_valid_sentence);
                // A capacity is of all blocks together: it has no value of a single start.
                if !is_of_capacities {
                    let values: Vec<(f64, f64)> =
                        blocks.iter().filter_map(|block| block[pair.a].zip(block[pair.b])).collect();
                    beside = Beside::of(names, &values, &paired_starts(input, indices), confidence);
                    drift = drift::drift(&plan.measure, input.trials, indices, confidence);
                    of_valid_sentence =
                        beside.sentence(&plan.measure, names, estimate, of_valid, of_valid_sentence);
                }
            }
            let (estimate, mut verdict, mut sentence) =
                if let Some(((blocks, needed), so_far)) = too_early.zip(measured.as_ref()) {
                    let reason = InconclusiveReason::NoVerdictYet { blocks, needed };
                    let sentence = no_verdict_yet(names, blocks, needed, so_far.ratio);
                    (None, ComparisonVerdict::Inconclusive { reason }, sentence)
                } else {
                    of_pair(input, of, pair.comparison, of_valid_sentence, bounded)
                };
            let unequal = between_sides::unequal(&plan.measure, input.trials, indices);
            if let Some(TakenShares { a: a_share, b: b_share }) = unequal
                && !verdict.is_inconclusive()
            {
                let of_pair: Vec<&Trial> =
                    input.trials.of(indices.0).chain(input.trials.of(indices.1)).collect();
                let options = options_of_cpu_time(plan, !has_client(input.facts));
                sentence = unequal_disturbance(names, (a_share, b_share), company::who(&of_pair), options);
                let reason = InconclusiveReason::UnequalDisturbance { a_share, b_share };
                verdict = ComparisonVerdict::Inconclusive { reason };
            }
            let estimate = estimate.filter(|found| !tells_nothing(found.low, found.high));
            let smallest = estimate.as_ref().and_then(smallest_of).filter(|share| *share < MOST_APART);
            if !has_no_ratio(&verdict)
                && let Some(of) = of_machines(input, indices.0, indices.1)
            {
                sentence = format!("{sentence}; {of}");
            }
            let carried_all = if has_no_ratio(&verdict) {
                None
            } else {
                values.carried_all([(indices.0, names.0), (indices.1, names.1)])
            };
            for clause in [drift_clause(plan, drift.as_ref()), carried_all].into_iter().flatten() {
                sentence = format!("{sentence}; {clause}");
            }
            Comparison {
                a: names.0.to_owned(),
                b: names.1.to_owned(),
                point: point.clone(),
                smallest_difference: smallest,
                estimate: estimate.map(Into::into),
                means: beside.means,
                odd_starts: beside.odd_starts,
                drift,
                verdict,
                sentence: server_failures::with_starts(input, &[indices.0, indices.1], sentence),
            }
        })
        .collect()
}

/// The starts of a pair in the blocks that are compared; none where machines of a kind are, because their values are of several starts.
fn paired_starts(input: &VerdictInput<'_>, (a, b): (usize, usize)) -> Vec<PairedStarts> {
    if kind_assignment::sets_of_kinds(input.plan).is_some() {
        return Vec::new();
    }
    let start = |index: usize, block: u32| {
        let trial = input.trials.in_block(index, block)?;
        Some((trial.number, trial.valid_value()?))
    };
    let pair = |block| Some(PairedStarts { a: start(a, block)?, b: start(b, block)? });
    input.trials.blocks().filter_map(pair).collect()
}

/// What follows for a pair: the ratio, the verdict on it, and a sentence. `measured` is what follows from its valid trials alone, with
/// its sentence, and `bounded` from those of which only a bound is known as well.
fn of_pair(
    input: &VerdictInput<'_>,
    pair: Pair<'_>,
    measured: RatioComparison,
    of_valid: String,
    bounded: Option<BoundedPair>,
) -> (Option<RatioEstimate>, ComparisonVerdict, String) {
    let verdict = ComparisonVerdict::from(measured.verdict);
    match bounded {
        Some(bounded) if !has_no_ratio(&verdict) || !bounded.verdict.is_inconclusive() => {
            (bounded.estimate, bounded.verdict, bounded.sentence)
        }
        bounded if has_no_ratio(&verdict) => {
            let bound = bounded.and_then(|bounded| bounded.bound);
            let why = why_not_valid(input, pair.indices.0, pair.indices.1);
            let parts: Vec<String> = [Some(of_valid), why, bound].into_iter().flatten().collect();
            (measured.estimate, verdict, parts.join("; "))
        }
        _ => (measured.estimate, verdict, of_valid),
    }
}

/// Whether the valid trials of a pair have no ratio: too few of them, or a value without one.
fn has_no_ratio(verdict: &ComparisonVerdict) -> bool {
    use InconclusiveReason::{NotPositive, TooFewBlocks};
    matches!(verdict, ComparisonVerdict::Inconclusive { reason: TooFewBlocks { .. } | NotPositive { .. } })
}

/// The median of what the servers of a variant carried, at least.
fn median_reached(input: &VerdictInput<'_>, index: usize) -> Option<f64> {
    let values: Vec<f64> = input.trials.of(index).filter_map(bounds::reached).collect();
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
    match kind_assignment::sets_of_kinds(input.plan) {
        Some(sets) => of_sets(&blocks, sets),
        None => blocks,
    }
}

/// The values of each set of machines: geometric means over those of its blocks in which all variants have one. A machine
/// differs from others of its kind in all of its blocks alike, so the blocks of a set are no replicates of a kind.
fn of_sets(blocks: &[Vec<Option<f64>>], sets: u32) -> Vec<Vec<Option<f64>>> {
    let variants = blocks.first().map_or(0, Vec::len);
    let of_set = |set: u32| {
        let own = (1..).zip(blocks).filter(|(block, _)| kind_assignment::set_of(*block, sets) == set);
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
    match kind_assignment::sets(plan).filter(|_| has_kind) {
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
    if failed().count() >= invalid.len()
        && let Some(first) = failed().next()
    {
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
