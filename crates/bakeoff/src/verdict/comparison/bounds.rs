//! What is known of a pair of which some trials are no measurements: the client was the limit, or the server failed. `stats` has the
//! interval that follows, and `bounded_pair` the verdict.
//!
//! | trial | its value, where more is better | where less is better |
//! |---|---|---|
//! | valid | is known | is known |
//! | the client or the network was the limit, and nothing else was wrong | at least what was reached: the server did what the client asked of it | at most what was reached |
//! | the server failed | 0 | infinite |
//! | anything else | not known: its block says nothing | not known |
//!
//! Where both servers of a block failed, it says nothing of their ratio. A server that failed in each of its starts cannot be measured:
//! that is no ratio.

use archive::model::{Gate, GateOutcome, Trial, TrialStatus};
use stats::bounded::BlockBounds;

use crate::gates;
use crate::plan::kind_assignment;
use crate::plan::measure_names::wording;
use crate::verdict::input::VerdictInput;
use crate::verdict::sustained::TrialValues;

/// What is known of the ratio of a pair.
pub struct PairBounds {
    /// The ratio in each block that says something: of the first variant to the second.
    pub blocks: Vec<BlockBounds>,
    /// For how many trials of each variant the client or the network was the limit.
    pub limited: [usize; 2],
    /// How many of the starts of each variant count as failures of its server.
    pub failed: [usize; 2],
}

/// What was the limit of a trial that has no other fault, where that was not its server: `client` or `network`.
pub fn limit(trial: &Trial) -> Option<&'static str> {
    let has_failed = |gate: &&Gate| gate.outcome == GateOutcome::Failed;
    let failed: Vec<&str> = trial.gates.iter().filter(has_failed).map(|gate| gate.id.as_str()).collect();
    let limits = [gates::CLIENT, gates::NETWORK];
    let limit = limits.into_iter().find(|limit| failed.contains(limit))?;
    (trial.status == TrialStatus::Invalid && failed.iter().all(|id| limits.contains(id))).then_some(limit)
}

/// What the server of a trial carried, at least: the value of a valid trial, and what was reached where client or network were the
/// limit.
pub fn reached(trial: &Trial) -> Option<f64> {
    trial
        .valid_value()
        .or_else(|| trial.measured.as_ref().filter(|_| limit(trial).is_some()).map(|m| m.value))
}

/// What is known of the value of a trial.
#[derive(Clone, Copy)]
enum Known {
    Value(f64),
    /// At least as good as this, where something was reached.
    AsGoodAs(Option<f64>),
    Failed,
}

fn known(trial: &Trial, values: &TrialValues) -> Option<Known> {
    if let Some(value) = values.value(trial) {
        return Some(Known::Value(value));
    }
    if limit(trial).is_some() {
        return Some(Known::AsGoodAs(reached(trial).filter(|value| *value > 0.0)));
    }
    gates::is_broken(trial).then_some(Known::Failed)
}

impl Known {
    /// The least and the greatest value.
    fn bounds(self, higher_is_better: bool) -> (f64, f64) {
        match (self, higher_is_better) {
            (Self::Value(value), _) => (value, value),
            (Self::AsGoodAs(reached), true) => (reached.unwrap_or(0.0), f64::INFINITY),
            (Self::AsGoodAs(reached), false) => (0.0, reached.unwrap_or(f64::INFINITY)),
            (Self::Failed, true) => (0.0, 0.0),
            (Self::Failed, false) => (f64::INFINITY, f64::INFINITY),
        }
    }
}

/// The ratio in a block, from what is known of both values; none where both servers failed.
fn ratio(a: Known, b: Known, higher_is_better: bool) -> Option<BlockBounds> {
    let whole = if higher_is_better { 0.0 } else { f64::INFINITY };
    match (a, b) {
        (Known::Failed, Known::Failed) => None,
        (Known::Failed, _) => Some(BlockBounds::exact(whole)),
        (_, Known::Failed) => Some(BlockBounds::exact(1.0 / whole)),
        _ => {
            let (a, b) = (a.bounds(higher_is_better), b.bounds(higher_is_better));
            // Neither is infinite at both ends, so no end is a quotient of two zeros or two infinities, except where nothing is known.
            let end = |value: f64, open: f64| if value.is_nan() { open } else { value };
            Some(BlockBounds { low: end(a.0 / b.1, 0.0), high: end(a.1 / b.0, f64::INFINITY) })
        }
    }
}

impl PairBounds {
    /// What is known of a pair; none where it has only measurements and trials that say nothing, or a value that has no ratio.
    pub fn of(input: &VerdictInput<'_>, (a, b): (usize, usize), values: &TrialValues) -> Option<Self> {
        let higher_is_better = wording(&input.plan.measure).higher_is_better;
        let is_measurable = |index: usize| {
            let mut all = input.trials.of(index).filter_map(|trial| known(trial, values));
            all.any(|known| !matches!(known, Known::Failed))
        };
        let is_measurable = [a, b].map(is_measurable);
        let known_in = |place: usize, block| {
            let known = known(input.trials.in_block([a, b][place], block)?, values)?;
            Some(known).filter(|known| is_measurable[place] || !matches!(known, Known::Failed))
        };
        let blocks: Vec<Option<(Known, Known)>> =
            input.trials.blocks().map(|block| known_in(0, block).zip(known_in(1, block))).collect();
        let count = |is: fn(&Known) -> bool| {
            let of =
                |side: fn(&(Known, Known)) -> Known| blocks.iter().flatten().map(side).filter(&is).count();
            [of(|pair| pair.0), of(|pair| pair.1)]
        };
        let limited = count(|known| matches!(known, Known::AsGoodAs(_)));
        let failed = count(|known| matches!(known, Known::Failed));
        let has_no_ratio =
            |known: &Known| matches!(known, Known::Value(value) if !(value.is_finite() && *value > 0.0));
        let is_plain = (limited, failed) == ([0; 2], [0; 2]);
        if is_plain || blocks.iter().flatten().any(|(a, b)| has_no_ratio(a) || has_no_ratio(b)) {
            return None;
        }
        let ratios: Vec<Option<BlockBounds>> =
            blocks.into_iter().map(|block| block.and_then(|(a, b)| ratio(a, b, higher_is_better))).collect();
        let blocks = match kind_assignment::sets_of_kinds(input.plan) {
            Some(sets) => (0..sets).filter_map(|set| of_set(&ratios, set, sets)).collect(),
            None => ratios.into_iter().flatten().collect(),
        };
        Some(Self { blocks, limited, failed })
    }
}

/// The ratio of a set of machines: the geometric mean of its blocks. A failure takes all of the set only where each of its blocks
/// is one.
fn of_set(ratios: &[Option<BlockBounds>], set: u32, sets: u32) -> Option<BlockBounds> {
    let own = (1..).zip(ratios).filter(|(block, _)| kind_assignment::set_of(*block, sets) == set);
    let own: Vec<BlockBounds> = own.filter_map(|(_, ratio)| *ratio).collect();
    let has_failure = |ratio: &&BlockBounds| ratio.high == 0.0 || ratio.low.is_infinite();
    let measured: Vec<&BlockBounds> = own.iter().filter(|ratio| !has_failure(ratio)).collect();
    let mean = |end: fn(&BlockBounds) -> f64| {
        let logs: f64 = measured.iter().map(|ratio| end(ratio).ln()).sum();
        (logs / measured.len() as f64).exp()
    };
    match measured.len() {
        0 => own.first().copied(),
        _ => Some(BlockBounds { low: mean(|ratio| ratio.low), high: mean(|ratio| ratio.high) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Known = Known::AsGoodAs(Some(200.0));

    fn ends(a: Known, b: Known, higher_is_better: bool) -> Option<(f64, f64)> {
        ratio(a, b, higher_is_better).map(|ratio| (ratio.low, ratio.high))
    }

    #[test]
    fn a_client_that_was_the_limit_gives_one_end() {
        let infinite = f64::INFINITY;
        assert_eq!(ends(FAST, Known::Value(100.0), true), Some((2.0, infinite)));
        assert_eq!(ends(Known::Value(100.0), FAST, true), Some((0.0, 0.5)));
        assert_eq!(ends(FAST, Known::Value(100.0), false), Some((0.0, 2.0)), "less is better");
        assert_eq!(ends(FAST, FAST, true), Some((0.0, infinite)));
        assert_eq!(ends(Known::AsGoodAs(None), FAST, true), Some((0.0, infinite)));
        assert_eq!(ends(Known::AsGoodAs(None), Known::AsGoodAs(None), false), Some((0.0, infinite)));
    }

    #[test]
    fn a_server_that_failed_is_the_worst() {
        let (infinite, value) = (f64::INFINITY, Known::Value(1.0));
        assert_eq!(ends(Known::Failed, value, true), Some((0.0, 0.0)));
        assert_eq!(ends(value, Known::Failed, true), Some((infinite, infinite)));
        assert_eq!(ends(Known::Failed, FAST, false), Some((infinite, infinite)), "less is better");
        assert_eq!(ends(FAST, Known::Failed, false), Some((0.0, 0.0)));
        assert_eq!(ends(Known::Failed, Known::Failed, true), None);
    }

    #[test]
    fn a_set_of_machines_has_failed_where_each_of_its_blocks_has() {
        let value = |ratio| Some(BlockBounds::exact(ratio));
        let ratios = [value(2.0), value(0.0), value(8.0), value(0.0), value(0.0), None];
        let of = |set| of_set(&ratios, set, 2).map(|ratio| ratio.low);
        assert!(of(0).is_some_and(|ratio| (ratio - 4.0).abs() < 1e-9), "{:?}", of(0));
        assert_eq!(of(1), Some(0.0));
        assert_eq!(of_set(&ratios, 5, 6).map(|ratio| ratio.low), None);
    }
}
