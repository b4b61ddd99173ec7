//! The verdict on a pair of which some trials are no measurements. `bounds` says what is known of each block, and `stats` which interval
//! follows.
//!
//! The verdict holds for all that is possible of these trials. A client that was the limit hides the best trials of a server, so
//! the others may not make it the slower one, and a server that failed is not ahead for its other starts.

use archive::model::{ComparisonVerdict, InconclusiveReason, Measure, plural};
use stats::bounded::{BoundedRatio, bounded_ratio};
use stats::ratio::{IntervalMethod, RatioEstimate};
use stats::verdict::{RatioVerdict, Side, VerdictRule};

use super::bounds::{PairBounds, limit};
use super::server_failures::failed_starts;
use crate::gates;
use crate::verdict::comparison_sentence::{bound_sentence, sentence};
use crate::verdict::input::VerdictInput;
use crate::verdict::sustained::TrialValues;

/// What follows for a pair.
pub struct BoundedPair {
    /// The ratio, where both ends of its interval are known.
    pub estimate: Option<RatioEstimate>,
    /// The verdict on it.
    pub verdict: ComparisonVerdict,
    /// The verdict in a sentence.
    pub sentence: String,
    /// What is known of the ratio, where that is no verdict.
    pub bound: Option<String>,
}

/// A pair: the indices of its variants, and their names.
#[derive(Clone, Copy)]
pub struct Pair<'n> {
    /// Of the numerator and the denominator.
    pub indices: (usize, usize),
    /// Of both.
    pub names: (&'n str, &'n str),
}

impl BoundedPair {
    /// The verdict by a rule whose level is that of this pair. None where all that counts of the pair are measurements, or where
    /// there are too few blocks.
    pub fn of(
        input: &VerdictInput<'_>,
        pair: Pair<'_>,
        rule: &VerdictRule,
        values: &TrialValues,
    ) -> Option<Self> {
        let bounds = PairBounds::of(input, pair.indices, values)?;
        let found = bounded_ratio(&bounds.blocks, rule.confidence, rule.method).ok()?;
        let (measure, names) = (&input.plan.measure, pair.names);
        let Some(verdict) = found.verdict(rule) else { return Some(open(input, pair, &bounds, &found)) };
        let sentence = match (&verdict, &found.estimate) {
            (RatioVerdict::Difference { higher, .. }, None) => {
                let (first, second) = in_order(names, *higher);
                let times = if *higher == Side::A { found.low } else { 1.0 / found.high };
                let why = why_open(input, pair, &bounds);
                let (level, blocks) = (found.confidence, found.blocks);
                bound_sentence(
                    measure,
                    (first, second),
                    times,
                    &format!("{level} confidence, {}", plural(blocks as u64, "block")),
                    &why,
                )
            }
            (verdict, estimate) => sentence(measure, names, estimate.as_ref(), verdict),
        };
        Some(Self { estimate: found.estimate, verdict: verdict.into(), sentence, bound: None })
    }
}

/// A pair's names, that of this side first.
fn in_order<'n>((a, b): (&'n str, &'n str), first: Side) -> (&'n str, &'n str) {
    if first == Side::A { (a, b) } else { (b, a) }
}

/// The pair where an end that is not known leaves the verdict open.
fn open(input: &VerdictInput<'_>, pair: Pair<'_>, bounds: &PairBounds, found: &BoundedRatio) -> BoundedPair {
    let (a, b) = pair.names;
    let names_of = |counts: [usize; 2]| {
        let named = [(a, counts[0]), (b, counts[1])].into_iter().filter(|(_, count)| *count > 0);
        named.map(|(name, _)| name.to_owned()).collect()
    };
    let has_failures = bounds.failed != [0; 2];
    let reason = if has_failures {
        InconclusiveReason::ServerFailed { variants: names_of(bounds.failed) }
    } else {
        InconclusiveReason::ClientLimited { variants: names_of(bounds.limited) }
    };
    let has_ranks = IntervalMethod::for_blocks(found.blocks, found.confidence) == IntervalMethod::SignedRank;
    let remedy = match (&input.plan.measure, has_failures) {
        (_, true) if has_ranks => "find out why it fails",
        (_, true) => {
            "so few blocks have no interval with a start that failed: run more, or find out why it fails"
        }
        (Measure::BreakingPoint, false) => "what is missing are its best trials: raise --to",
        _ => {
            "what is missing are its best trials: give the client more CPUs or the network more room, or compare CPU time an operation"
        }
    };
    let bound = [(a, b, found.low), (b, a, 1.0 / found.high)]
        .into_iter()
        .filter(|(_, _, times)| *times > 0.0)
        .map(|(first, second, times)| format!("{first} has at least {times:.2} × the value of {second}"));
    let bound: Vec<String> = bound.collect();
    let bound = (!bound.is_empty()).then(|| bound.join(" and "));
    let why = why_open(input, pair, bounds);
    let known = bound.as_ref().map_or_else(String::new, |bound| format!("; {bound}"));
    BoundedPair {
        estimate: None,
        verdict: ComparisonVerdict::Inconclusive { reason },
        sentence: format!("inconclusive: {a} against {b}: {why}; {remedy}{known}"),
        bound,
    }
}

/// Why an end of the interval is not known.
fn why_open(input: &VerdictInput<'_>, pair: Pair<'_>, bounds: &PairBounds) -> String {
    let sides = [(pair.indices.0, pair.names.0, 0), (pair.indices.1, pair.names.1, 1)];
    let failed = sides.iter().filter(|(_, _, side)| bounds.failed[*side] > 0);
    let limited = sides.iter().filter(|(_, _, side)| bounds.limited[*side] > 0);
    let why = limited.map(|(index, name, _)| {
        if input.plan.measure == Measure::BreakingPoint {
            return format!("{name} did not break");
        }
        let limit = input.trials.of(*index).find_map(limit).unwrap_or(gates::CLIENT);
        format!("the {limit} was the limit for {name}")
    });
    let parts: Vec<String> =
        failed.filter_map(|(index, ..)| failed_starts(input, *index)).chain(why).collect();
    parts.join(" and ")
}
