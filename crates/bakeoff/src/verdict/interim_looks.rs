//! Looks at the verdict before the last block: a run ends at one that settles its question. [`stats::looks`] keeps the error
//! rate over all of them. Which looks a plan has is left to [`looks`](crate::plan::looks).
//!
//! A look is taken when a planned number of blocks is complete, whatever was measured. So a run with invalid trials looks as
//! often as one without.

use std::collections::BTreeSet;

use archive::model::{Comparison, ComparisonVerdict, LookSpending, Plan, TrialStatus};
use stats::confidence::Confidence;
use stats::looks::{Spending, SpendingLook, significance_of};
use stats::power::smallest_difference;
use stats::verdict::VerdictRule;

use crate::limits::{FEWEST_BLOCKS, MOST_BLOCKS};
use crate::plan::looks::{EARLY, earliest};
use crate::plan::variant_point::{VariantPoint, at_point};
use crate::verdict::comparison_sentence::MOST_WITHIN;
use crate::verdict::input::{FinishedTrials, VerdictInput, complete_blocks, is_complete};

/// Power at which the smallest detectable difference is stated.
pub const STATED_POWER: f64 = 0.8;
/// Standard deviation of the logarithms of the ratios of blocks on a machine with other programs.
const USUAL_SCATTER: f64 = 0.1;

/// A look that may spend less is not taken. Nothing can be shown with it, and smaller numbers have no level: 1 less them is 1.
const LEAST_SPENT: f64 = 1e-9;

/// What the looks of a prolonged run spend, which has twice the blocks: at the first of them, a quarter of the blocks, as much as [`EARLY`]
/// at half of them. So a run is prolonged after that look, and nothing of it changes.
const PROLONGED: Spending = Spending::Power(1.0 / 3.0);

/// The plan of a run that goes on for longer than its early look and as many blocks again, with a look after each as many blocks as the
/// first has. None where it is prolonged already, or an interruption has spent a part of the 5 % by the old plan.
pub fn prolonged(plan: &Plan) -> Option<Plan> {
    let (LookSpending::Early, [first]) = (plan.spending, plan.looks.as_slice()) else { return None };
    let blocks = (2 * plan.blocks).min(MOST_BLOCKS);
    let is_whole = plan.blocks == 2 * first && blocks == 2 * plan.blocks && plan.interrupted_looks.is_empty();
    is_whole.then(|| Plan {
        blocks,
        looks: (1..4).map(|times| times * first).collect(),
        spending: LookSpending::Prolonged,
        ..plan.clone()
    })
}

/// The level of the intervals at the end of a run.
pub fn confidence_at_end(plan: &Plan) -> Confidence {
    match spending_looks(plan).as_slice() {
        [_end] => Confidence::P95,
        // Looks without a level are not taken: all of the 5 % is left for the end.
        _ => confidence(plan, plan.blocks).unwrap_or(Confidence::P95),
    }
}

/// The level of the intervals of a verdict at this look, in complete blocks; none where it must not be taken, because what it may
/// spend is too little for any level.
pub fn confidence_at_look(plan: &Plan, look: u32) -> Option<Confidence> {
    if look < plan.blocks { confidence(plan, look) } else { None }
}

fn confidence(plan: &Plan, at: u32) -> Option<Confidence> {
    let (_, level) = levels(plan)?.into_iter().find(|(blocks, _)| *blocks == at)?;
    level
}

/// The level of each look and of the end, where it has one. None where the looks do not rise.
fn levels(plan: &Plan) -> Option<Vec<(u32, Option<Confidence>)>> {
    let looks = spending_looks(plan);
    let spending: Vec<SpendingLook> = looks.iter().map(|(_, spending)| *spending).collect();
    let significance = significance_of(&spending)?;
    let level = |alpha: f64| Confidence::of_alpha(alpha).ok().filter(|_| alpha >= LEAST_SPENT);
    Some(looks.into_iter().zip(significance).map(|((look, _), alpha)| (look, level(alpha))).collect())
}

/// The looks of a plan, those at which it was interrupted, and its end, with what each may spend. A look that was not planned spends
/// as little as O'Brien and Fleming do, so that hardly anything is missing later.
fn spending_looks(plan: &Plan) -> Vec<(u32, SpendingLook)> {
    let alpha = Confidence::P95.alpha();
    let planned = match plan.spending {
        LookSpending::Late => Spending::OBrienFleming,
        LookSpending::Early => EARLY,
        LookSpending::Prolonged => PROLONGED,
    };
    let of_interruption = |look: &&u32| **look < plan.blocks && !plan.looks.contains(*look);
    let interrupted = plan.interrupted_looks.iter().filter(of_interruption);
    let mut looks: Vec<(u32, Spending)> = plan.looks.iter().map(|look| (*look, planned)).collect();
    looks.extend(interrupted.map(|look| (*look, Spending::OBrienFleming)));
    looks.sort_by_key(|(look, _)| *look);
    looks.dedup_by_key(|(look, _)| *look);
    looks.push((plan.blocks, planned));
    let mut spent: f64 = 0.0;
    let spending = looks.into_iter().map(|(look, spending)| {
        let share = f64::from(look) / f64::from(plan.blocks);
        spent = spent.max(spending.spent(share, alpha));
        (look, SpendingLook { share, spent })
    });
    spending.collect()
}

/// The level of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// That of a look, of an interruption, or of the end.
    Of(Confidence),
    /// The run was interrupted too early for one.
    TooEarly {
        /// Complete blocks.
        blocks: u32,
        /// How many it takes.
        needed: u32,
    },
}

impl Level {
    /// The level of its intervals. Where it is too early for a verdict, nobody sees them.
    pub fn confidence(self) -> Confidence {
        match self {
            Self::Of(confidence) => confidence,
            Self::TooEarly { .. } => Confidence::P95,
        }
    }
}

/// The level of a verdict on these variants, which are compared at one point.
pub fn level(input: &VerdictInput<'_>, here: &[usize]) -> Level {
    let plan = input.plan;
    let of_end = Level::Of(confidence_at_end(plan));
    let look = match (input.look, input.interrupted) {
        (Some(look), _) => look,
        (None, false) => return of_end,
        (None, true) => blocks_of_interrupted(here, input.trials),
    };
    if look >= plan.blocks {
        return of_end;
    }
    let level = match input.look {
        Some(look) => confidence_at_look(plan, look),
        None => confidence_at_interruption(plan, look),
    };
    match level {
        Some(confidence) => Level::Of(confidence),
        // So few blocks can tell nothing, or the looks before have spent all that a look may spend by now.
        None => Level::TooEarly { blocks: look, needed: next_level_after(plan, look) },
    }
}

/// The first look of a plan, or else its end, after so many complete blocks.
fn next_level_after(plan: &Plan, blocks: u32) -> u32 {
    let looks = plan.looks.iter().copied().filter(|look| *look > blocks);
    looks.min().unwrap_or(plan.blocks)
}

/// The complete blocks of an interrupted run at a point, without the variants that were never valid there: they have no ratio, and
/// take none from the others.
fn blocks_of_interrupted(here: &[usize], trials: &FinishedTrials) -> u32 {
    let valid = |index: usize, block| {
        trials.in_block(index, block).is_some_and(|trial| trial.status == TrialStatus::Valid)
    };
    let measured: Vec<usize> =
        here.iter().copied().filter(|index| trials.blocks().any(|block| valid(*index, block))).collect();
    let is_complete =
        |block: &u32| !measured.is_empty() && measured.iter().all(|index| valid(*index, *block));
    trials.blocks().filter(is_complete).count() as u32
}

/// The looks that the verdict of an interrupted run is, beside those that the plan has already: at each point, after its complete
/// blocks.
pub fn of_interrupted(plan: &Plan, points: &[VariantPoint], trials: &FinishedTrials) -> Vec<u32> {
    let blocks = |point: &VariantPoint| blocks_of_interrupted(&at_point(points, &point.point), trials);
    let is_look = |look: &u32| {
        !plan.interrupted_looks.contains(look) && confidence_at_interruption(plan, *look).is_some()
    };
    let looks: BTreeSet<u32> = points.iter().map(blocks).filter(is_look).collect();
    looks.into_iter().collect()
}

/// The level of the verdict of a run that was interrupted after so many complete blocks; none where it tells nothing. What O'Brien and
/// Fleming leave for three blocks of 14 is 2 in 100,000: with that, Student's t of blocks that scatter by a tenth reaches from 10⁻⁵ to 10⁵.
fn confidence_at_interruption(plan: &Plan, look: u32) -> Option<Confidence> {
    if look < needed_for_interrupted(plan) {
        return None;
    }
    let mut plan = plan.clone();
    if !plan.interrupted_looks.contains(&look) {
        plan.interrupted_looks.push(look);
    }
    let confidence = confidence_at_look(&plan, look)?;
    let rule = VerdictRule { confidence, ..VerdictRule::default() };
    let smallest = smallest_difference(look as usize, USUAL_SCATTER, &rule, STATED_POWER)?;
    (smallest <= MOST_WITHIN).then_some(confidence)
}

/// After how many complete blocks an interrupted run may have a verdict, if its level tells anything.
fn needed_for_interrupted(plan: &Plan) -> u32 {
    earliest(plan.blocks).max(FEWEST_BLOCKS)
}

/// The look that is due after this block, in complete blocks, if one is. An incomplete block has no look: a
/// second look at the same number of complete blocks would spend error rate that is not planned.
pub fn due(plan: &Plan, block: u32, variant_points: &[VariantPoint], trials: &FinishedTrials) -> Option<u32> {
    if !is_complete(block, 0, variant_points, trials) {
        return None;
    }
    let complete = complete_blocks(0, variant_points, trials) as u32;
    plan.looks.iter().copied().find(|look| *look == complete && confidence_at_look(plan, *look).is_some())
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
        LookSpending::Early | LookSpending::Prolonged => 0.05,
    }
}

/// The half-width with which a run ends: that of its plan; of a prolonged one what settles any question.
pub fn aim(plan: &Plan) -> Option<f64> {
    match plan.spending {
        LookSpending::Prolonged => Some(plan.within.unwrap_or(rules_out(plan.spending))),
        LookSpending::Late | LookSpending::Early => plan.within,
    }
}

/// Half the width of the interval of a ratio, as a share of the ratio.
pub fn half_width(comparison: &Comparison) -> Option<f64> {
    let estimate = comparison.estimate.as_ref()?;
    Some((estimate.high / estimate.low).sqrt() - 1.0)
}

#[cfg(test)]
mod tests {
    use archive::model::{RunKind, SweepPoint, Trial};
    use stats::ratio::IntervalMethod;

    use super::*;
    use crate::plan::looks::{EARLIEST, planned};
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    #[test]
    fn the_ranks_of_seven_blocks_reach_the_level_of_an_early_look() {
        let replaced = "blocks = 14\nlooks = [7]\nspending = \"early\"";
        let plan: Plan = PLAN.replace("blocks = 4", replaced).parse().expect("a plan");
        let (look, end) = (confidence_at_look(&plan, 7).expect("a level"), confidence_at_end(&plan));
        assert_eq!(IntervalMethod::for_blocks(7, look), IntervalMethod::SignedRank);
        // Two of the 128 outcomes of seven coins have a sum of ranks of at most 1.
        assert!((2.0 * 2.0 / 128.0..2.0 * 3.0 / 128.0).contains(&look.alpha()), "{look:?}");
        assert!(end.alpha() < look.alpha() && end.alpha() > 0.025, "{end:?}");
        assert_eq!([0, 6, 7, 13].map(|complete| expected_end(&plan, complete)), [7, 7, 14, 14]);
    }

    /// The plan of a comparison of this many blocks with these looks.
    fn plan_with(blocks: u32, looks: Vec<u32>, spending: LookSpending) -> Plan {
        Plan { blocks, looks, spending, ..PLAN.parse().expect("a plan") }
    }

    /// Fails where a look has a laxer level than what may be spent by then, or where all of them with the end have more than 5 %.
    /// A level of the end alone is more than what the end adds, so the sum over the looks and the end bounds the error.
    fn check_levels(plan: &Plan) {
        let alpha = Confidence::P95.alpha();
        let mut before = 0.0;
        let levels = levels(plan).expect("rising looks");
        for ((look, SpendingLook { share, spent }), (_, level)) in
            spending_looks(plan).into_iter().zip(levels)
        {
            assert!(spent >= before && spent <= alpha && (share < 1.0 || spent > alpha - 1e-9));
            before = spent;
            let level = level.map_or(0.0, Confidence::alpha);
            assert!(level <= spent * (1.0 + 1e-5), "{look} of {} blocks: {level} of {spent}", plan.blocks);
        }
    }

    #[test]
    fn no_look_of_any_plan_is_laxer_than_what_it_may_spend() {
        std::thread::scope(|threads| {
            for part in 0..2 {
                threads.spawn(move || {
                    for blocks in (3 + part..=MOST_BLOCKS).step_by(2) {
                        let (looks, spending) = planned(RunKind::Compare, blocks);
                        let is_early = |look: &u32| f64::from(*look) < EARLIEST * f64::from(blocks);
                        assert!(!looks.iter().any(is_early) && looks.len() <= 16, "{blocks}: {looks:?}");
                        check_levels(&plan_with(blocks, looks, spending));
                        let early = plan_with(2 * blocks, vec![blocks], LookSpending::Early);
                        check_levels(&early);
                        prolonged(&early).iter().for_each(check_levels);
                    }
                });
            }
        });
    }

    #[test]
    fn a_plan_of_an_earlier_version_takes_no_look_without_a_level() {
        let looks = (8..436).step_by(4).collect();
        let plan = plan_with(436, looks, LookSpending::Late);
        let taken = |look| confidence_at_look(&plan, look).is_some();
        assert!(![8, 12, 16, 20, 24, 28, 32].into_iter().any(taken) && taken(88));
        assert!(confidence_at_look(&plan, 88).is_some_and(|level| level.alpha() < 1e-5));
        assert!(confidence_at_look(&plan, 10).is_none() && confidence_at_look(&plan, 436).is_none());
    }

    #[test]
    fn an_interruption_spends_what_it_shows_and_leaves_nearly_all_to_the_looks_of_the_plan() {
        let quick = plan_with(14, vec![7], LookSpending::Early);
        let interrupted = Plan { interrupted_looks: vec![5], ..quick.clone() };
        let alpha = |plan: &Plan, look| confidence_at_look(plan, look).map(Confidence::alpha);
        let at_interruption = alpha(&interrupted, 5).expect("a level");
        assert!((1e-4..1e-3).contains(&at_interruption), "{at_interruption}");
        let (with, without) = (alpha(&interrupted, 7).expect("a level"), alpha(&quick, 7).expect("a level"));
        assert!(with < without && with > 0.98 * without, "{with} and {without}");
        let ranks = |level| IntervalMethod::for_blocks(7, level);
        let level = confidence_at_look(&interrupted, 7).expect("a level");
        assert_eq!(ranks(level), IntervalMethod::SignedRank, "the first look still settles");
        let late = plan_with(20, vec![8, 12, 16], LookSpending::Late);
        let often = Plan { interrupted_looks: (4..20).collect(), ..late.clone() };
        check_levels(&often);
        let [often, never] = [often, late].map(|plan| confidence_at_end(&plan).alpha());
        assert!(often < never && often > 0.033, "{often} and {never}");
        assert_eq!(
            [3, 7, 14, 20, 100].map(|blocks| needed_for_interrupted(&plan_with(
                blocks,
                vec![],
                LookSpending::Late
            ))),
            [3, 3, 3, 4, 20]
        );
    }

    #[test]
    fn an_interruption_after_so_few_blocks_that_no_interval_is_narrow_is_no_look() {
        let quick = plan_with(14, vec![7], LookSpending::Early);
        let levels = [3, 4, 5, 6, 7].map(|look| confidence_at_interruption(&quick, look));
        assert_eq!(levels.map(|level| level.is_some()), [false, true, true, true, true]);
        assert_eq!(next_level_after(&quick, 3), 7);
        let long = plan_with(100, planned(RunKind::Compare, 100).0, LookSpending::Late);
        assert!(confidence_at_interruption(&long, 20).is_some_and(|level| level.alpha() < 1e-4));
    }

    #[test]
    fn the_first_look_of_a_prolonged_run_is_the_one_that_it_has_taken() {
        let quick = plan_with(14, vec![7], LookSpending::Early);
        let longer = prolonged(&quick).expect("a longer plan");
        assert_eq!((longer.blocks, longer.looks.as_slice()), (28, &[7, 14, 21][..]));
        let alpha = |plan: &Plan| confidence_at_look(plan, 7).expect("a level").alpha();
        assert!((alpha(&longer) - alpha(&quick)).abs() < 1e-9);
        let end = confidence_at_end(&longer).alpha();
        assert!((0.005..0.02).contains(&end), "the end has a level, too: {end}");
        assert_eq!((aim(&quick), aim(&longer)), (None, Some(0.05)));
        assert_eq!(prolonged(&longer), None, "once");
        let interrupted = Plan { interrupted_looks: vec![5], ..quick };
        assert_eq!(prolonged(&interrupted), None);
        assert_eq!(prolonged(&plan_with(20, vec![8, 12, 16], LookSpending::Late)), None);
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
