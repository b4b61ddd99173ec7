//! Looks at the verdict before the last block: a run ends at one that settles its question. [`stats::looks`] keeps the error
//! rate over all of them.
//!
//! A look is taken when a planned number of blocks is complete, whatever was measured. So a run with invalid trials looks as
//! often as one without.

use archive::model::{Comparison, ComparisonVerdict, LookSpending, Plan, RunKind};
use stats::confidence::Confidence;
use stats::looks::{Spending, significance};
use stats::ratio::IntervalMethod;

use crate::limits::MOST_BLOCKS;
use crate::stopping::{complete_blocks, is_complete};
use crate::variant_point::VariantPoint;
use crate::verdict_input::FinishedTrials;

/// The first of several looks, in complete blocks. Its level is too strict for the ranks of so few, so its interval is Student's t.
const FIRST: u32 = 8;
/// From one look to the next.
const EVERY: u32 = 4;

/// What an early first look spends: at half of the blocks 3.15 % of the 5 %. That is the least with which the ranks of seven
/// blocks have an interval that is narrower than their range: it leaves out the lowest and the highest of the 28 pair means,
/// which four of the 128 outcomes of their coins reach by chance (decision 0002).
const EARLY: Spending = Spending::Power(2.0 / 3.0);

/// The looks of a comparison of this many blocks before the last one, and what they spend. A short comparison has none.
pub fn planned(kind: RunKind, blocks: u32) -> (Vec<u32>, LookSpending) {
    let looks = match kind {
        RunKind::Compare => (FIRST..blocks).step_by(EVERY as usize).collect(),
        RunKind::Sweep | RunKind::Explain | RunKind::Concurrency => Vec::new(),
    };
    (looks, LookSpending::Late)
}

/// After how many blocks a comparison of so many variants takes an early look at half of its blocks: at least after `fewest`, and after
/// as many as the ranks of each pair need to reach their level.
pub fn early(fewest: u32, variants: usize) -> u32 {
    let pairs = (variants * variants.saturating_sub(1) / 2).max(1) as f64;
    let levels = significance(&[0.5, 1.0], Confidence::P95.alpha(), EARLY);
    let level = levels.and_then(|levels| Confidence::new(1.0 - levels.first()? / pairs).ok());
    let has_ranks = |blocks: &u32| {
        level.is_none_or(|level| {
            IntervalMethod::for_blocks(*blocks as usize, level) == IntervalMethod::SignedRank
        })
    };
    (fewest..MOST_BLOCKS).find(has_ranks).unwrap_or(fewest)
}

/// The level of the intervals of a verdict over this many complete blocks: that of a look, or of the end of the run.
pub fn confidence(plan: &Plan, look: Option<u32>) -> Confidence {
    let ends = plan.looks.iter().chain([&plan.blocks]);
    let shares: Vec<f64> = ends.map(|blocks| f64::from(*blocks) / f64::from(plan.blocks)).collect();
    let spending = match plan.spending {
        LookSpending::Late => Spending::OBrienFleming,
        LookSpending::Early => EARLY,
    };
    let levels = significance(&shares, Confidence::P95.alpha(), spending);
    let place = look.and_then(|look| plan.looks.iter().position(|blocks| *blocks == look));
    levels
        .and_then(|levels| Confidence::new(1.0 - *levels.get(place.unwrap_or(plan.looks.len()))?).ok())
        .unwrap_or(Confidence::P95)
}

/// The look that is due after this block, in complete blocks, if one is. None is after a block that is not complete: it would
/// be the last look again, with what the valid trials of the block add, and the error rate has no part for that.
pub fn due(plan: &Plan, block: u32, variant_points: &[VariantPoint], trials: &FinishedTrials) -> Option<u32> {
    if !is_complete(block, 0, variant_points, trials) {
        return None;
    }
    let complete = complete_blocks(0, variant_points, trials) as u32;
    plan.looks.iter().copied().find(|look| *look == complete)
}

/// With how many complete blocks a run is expected to end that has so many: those of an early look that is still to come, or else
/// all of them.
pub fn expected_end(plan: &Plan, complete: u32) -> u32 {
    let early = plan.looks.first().filter(|look| plan.spending == LookSpending::Early && complete < **look);
    early.copied().unwrap_or(plan.blocks)
}

/// Whether all comparisons have what the plan asks for: a precision, or else a verdict.
pub fn is_settled(plan: &Plan, comparisons: &[Comparison]) -> bool {
    !comparisons.is_empty()
        && comparisons.iter().all(|comparison| match plan.within {
            Some(within) => half_width(comparison).is_some_and(|width| width <= within),
            None => match comparison.verdict {
                ComparisonVerdict::Inconclusive { .. } => false,
                ComparisonVerdict::NoDifferenceShown { within } => within <= rules_out(plan.spending),
                ComparisonVerdict::Difference { .. } => true,
            },
        })
}

/// The difference that "no difference" must rule out to end a run at a look. With the 10 % that are enough at the end, the first
/// look would end nearly every comparison of servers that differ a little: of default ones whose blocks scatter by 0.7 %, 62 of
/// 100 would find 2 % instead of all, and 2 would find 1 % instead of 81 (decision 0002).
fn rules_out(spending: LookSpending) -> f64 {
    match spending {
        LookSpending::Late => 0.01,
        LookSpending::Early => 0.05,
    }
}

/// Half the width of the interval of a ratio, as a share of the ratio.
pub fn half_width(comparison: &Comparison) -> Option<f64> {
    let estimate = comparison.estimate.as_ref()?;
    Some((estimate.high / estimate.low).sqrt() - 1.0)
}

#[cfg(test)]
mod tests {
    use archive::model::{SweepPoint, Trial, TrialStatus};

    use super::*;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;
    use crate::trial_order::ScheduledTrial;
    use crate::variant_point::variant_points;

    #[test]
    fn a_default_comparison_looks_three_times_before_its_end_and_a_short_one_never() {
        let late = |looks: &[u32]| (looks.to_vec(), LookSpending::Late);
        assert_eq!(planned(RunKind::Compare, 20), late(&[8, 12, 16]));
        assert_eq!(planned(RunKind::Compare, 7), late(&[]));
        assert_eq!(planned(RunKind::Sweep, 20), late(&[]));
    }

    #[test]
    fn more_variants_need_more_blocks_for_an_early_look() {
        assert_eq!([1, 2, 3, 4, 8].map(|variants| early(7, variants)), [7, 7, 8, 9, 11]);
        assert_eq!(early(10, 2), 10);
    }

    #[test]
    fn the_ranks_of_seven_blocks_reach_the_level_of_an_early_look() {
        let replaced = "blocks = 14\nlooks = [7]\nspending = \"early\"";
        let plan: Plan = PLAN.replace("blocks = 4", replaced).parse().expect("a plan");
        let (look, end) = (confidence(&plan, Some(7)), confidence(&plan, None));
        assert_eq!(IntervalMethod::for_blocks(7, look), IntervalMethod::SignedRank);
        // Two of the 128 outcomes of seven coins have a sum of ranks of at most 1.
        assert!((2.0 * 2.0 / 128.0..2.0 * 3.0 / 128.0).contains(&look.alpha()), "{look:?}");
        assert!(end.alpha() < look.alpha() && end.alpha() > 0.025, "{end:?}");
        assert_eq!([0, 6, 7, 13].map(|complete| expected_end(&plan, complete)), [7, 7, 14, 14]);
    }

    /// Whether a comparison that rules out so much has settled a run with this plan.
    fn settles(plan: &str, within: f64) -> bool {
        let plan: Plan = PLAN.replace("blocks = 4", plan).parse().expect("a plan");
        let name = |name: &str| name.to_owned();
        let comparison = Comparison {
            a: name("nginx"),
            b: name("apache"),
            point: SweepPoint::default(),
            estimate: None,
            means: None,
            odd_starts: Vec::new(),
            drift: None,
            verdict: ComparisonVerdict::NoDifferenceShown { within },
            smallest_difference: None,
            sentence: String::new(),
        };
        is_settled(&plan, &[comparison])
    }

    #[test]
    fn no_difference_ends_a_run_at_a_look_only_where_it_rules_out_less_than_the_end_has_to() {
        let quick = "blocks = 14\nlooks = [7]\nspending = \"early\"";
        let default = "blocks = 20\nlooks = [8, 12, 16]";
        assert_eq!([0.04, 0.06, 0.09].map(|within| settles(quick, within)), [true, false, false]);
        assert_eq!([0.008, 0.012, 0.04].map(|within| settles(default, within)), [true, false, false]);
    }

    #[test]
    fn a_look_is_taken_once_after_the_block_that_completes_it() {
        let plan: Plan = PLAN.replace("blocks = 4", "blocks = 12\nlooks = [8]").parse().expect("a plan");
        let points = variant_points(&plan);
        let mut trials = FinishedTrials::default();
        let mut due_after = Vec::new();
        for block in 1..=10 {
            for (variant_point, point) in points.iter().enumerate() {
                let scheduled = ScheduledTrial { number: 0, block, position: 1, variant_point };
                let is_invalid = (block, variant_point) == (9, 1);
                let status = if is_invalid { TrialStatus::Invalid } else { TrialStatus::Valid };
                let trial = Trial { status, ..blank(&plan, &scheduled, point) };
                trials.push(variant_point, trial);
            }
            due_after.extend(due(&plan, block, &points, &trials).map(|look| (block, look)));
        }
        assert_eq!(due_after, [(8, 8)]);
    }
}
