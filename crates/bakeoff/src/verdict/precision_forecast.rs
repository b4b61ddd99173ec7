//! How precise a comparison is by now, how precise it will be, and when. A forecast for the user: [`interim_looks`] decide.

use std::time::Duration;

use archive::model::{Comparison, LookSpending, Plan};
use stats::confidence::Confidence;
use stats::describe::Sample;
use stats::expected_width::IntervalWidth;

use crate::limits::MOST_BLOCKS;
use crate::plan::kind_assignment;
use crate::verdict::input::complete_blocks;
use crate::verdict::input::{FinishedTrials, VerdictInput};
use crate::verdict::interim_looks;

/// Blocks with which an expectation is told: with fewer, it is wrong by half of its value now and then.
const FEWEST_BLOCKS: usize = 5;

/// The precision of the least certain pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrecisionForecast {
    width: IntervalWidth,
    /// Time from one complete block to the next.
    block: Duration,
}

/// A precision that is to be expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedPrecision {
    /// Half the width of the interval, as a share of the ratio.
    pub half_width: f64,
    /// Complete blocks by then.
    pub blocks: u32,
    /// Time until then.
    pub left: Duration,
}

impl PrecisionForecast {
    /// The precision of these comparisons; none if one of them has no interval.
    pub fn of(input: &VerdictInput<'_>, comparisons: &[Comparison]) -> Option<Self> {
        let width = |comparison: &Comparison| {
            let estimate = comparison.estimate.as_ref()?;
            Some(IntervalWidth {
                half_width: interim_looks::half_width(comparison)?.ln_1p(),
                blocks: estimate.blocks as usize,
                confidence: Confidence::new(estimate.confidence).ok()?,
            })
        };
        let widths: Option<Vec<IntervalWidth>> = comparisons.iter().map(width).collect();
        let width = widths?.into_iter().max_by(|a, b| a.half_width.total_cmp(&b.half_width))?;
        let complete = complete_blocks(0, input.variant_points, input.trials);
        let begun = *input.trials.blocks().end();
        let each = time_of_block(input.trials).unwrap_or_default();
        Some(Self { width, block: each.mul_f64(f64::from(begun) / complete.max(1) as f64) })
    }

    /// Half the width of the interval now, as a share of the ratio.
    pub fn half_width(&self) -> f64 {
        self.width.half_width.exp_m1()
    }

    /// The precision at the look that reaches the plan's aim, or else at the end of the run; where most runs end at an early
    /// look, at that one. None where too few blocks tell, no block is left, or the interval is that of kinds of machines.
    pub fn expected(&self, plan: &Plan) -> Option<ExpectedPrecision> {
        let complete = self.width.blocks as u32;
        if self.width.blocks < FEWEST_BLOCKS || complete >= plan.blocks || of_kinds(plan) {
            return None;
        }
        let looks = plan.looks.iter().copied().filter(|look| *look > complete);
        let mut at_looks = looks.filter_map(|look| self.at(look, self.level(plan, Some(look))?));
        let is_reached = |at: &ExpectedPrecision| match interim_looks::aim(plan) {
            Some(aim) => at.half_width <= aim,
            None => plan.spending == LookSpending::Early,
        };
        at_looks.find(is_reached).or_else(|| self.at(plan.blocks, self.level(plan, None)?))
    }

    /// About how long it takes until there are so many complete blocks.
    pub fn time_until(&self, blocks: u32) -> Duration {
        self.block * blocks.saturating_sub(self.width.blocks as u32)
    }

    /// When a half-width is to be expected, at the present level. None where no run has so many blocks, or the interval is that of
    /// kinds of machines.
    pub fn needed(&self, plan: &Plan, half_width: f64) -> Option<ExpectedPrecision> {
        if of_kinds(plan) {
            return None;
        }
        let blocks = self.width.blocks_for(half_width.ln_1p(), self.width.confidence)?;
        let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks <= MOST_BLOCKS)?;
        self.at(blocks, self.width.confidence)
    }

    /// The level of an interval at a look or the end, shared by as many pairs as the present one.
    fn level(&self, plan: &Plan, look: Option<u32>) -> Option<Confidence> {
        let end = interim_looks::confidence_at_end(plan);
        let pairs = end.alpha() / self.width.confidence.alpha();
        let level = look.map_or(Some(end), |look| interim_looks::confidence_at_look(plan, look))?;
        Confidence::of_alpha(level.alpha() / pairs).ok()
    }

    fn at(&self, blocks: u32, confidence: Confidence) -> Option<ExpectedPrecision> {
        let half_width = self.width.expected(blocks as usize, confidence)?.exp_m1();
        Some(ExpectedPrecision { half_width, blocks, left: self.time_until(blocks) })
    }
}

/// Whether the verdict is about kinds of machines: further blocks on the same machines do not make its interval narrower.
fn of_kinds(plan: &Plan) -> bool {
    kind_assignment::sets_of_kinds(plan).is_some()
}

/// The median time from the begin of one block to that of the next. A run that was interrupted has one gap that is no block.
fn time_of_block(trials: &FinishedTrials) -> Option<Duration> {
    let began_ms = |block| {
        let of_block = trials.all().filter(move |trial| trial.block == block);
        of_block.map(|trial| trial.started_unix_ms).min()
    };
    let begins: Vec<u64> = trials.blocks().filter_map(began_ms).collect();
    let gaps: Vec<f64> = begins.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e3).collect();
    Some(Duration::from_secs_f64(Sample::new(&gaps).ok()?.median()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::PLAN;

    const BLOCK: Duration = Duration::from_secs(15);

    fn forecast(blocks: usize, half_width: f64) -> PrecisionForecast {
        let confidence = Confidence::P95;
        let width = IntervalWidth { half_width: half_width.ln_1p(), blocks, confidence };
        PrecisionForecast { width, block: BLOCK }
    }

    fn plan(extra: &str) -> Plan {
        let blocks = format!("blocks = 20\nlooks = [8, 12, 16]\n{extra}");
        PLAN.replacen("blocks = 4", &blocks, 1).parse().expect("a plan")
    }

    #[test]
    fn an_aim_is_expected_at_the_first_look_that_reaches_it() {
        let expected = forecast(6, 0.041).expected(&plan("within = 0.03")).expect("an expectation");
        assert!(expected.half_width <= 0.03, "{expected:?}");
        assert!([12, 16].contains(&expected.blocks), "{expected:?}");
        assert_eq!(expected.left, BLOCK * (expected.blocks - 6));
    }

    #[test]
    fn an_aim_that_is_out_of_reach_and_none_are_expected_at_the_end() {
        for within in ["within = 0.001", ""] {
            let expected = forecast(6, 0.041).expected(&plan(within)).expect("an expectation");
            assert_eq!((expected.blocks, expected.left), (20, BLOCK * 14));
            assert!((0.012..0.025).contains(&expected.half_width), "{expected:?}");
        }
        assert_eq!(forecast(4, 0.041).expected(&plan("")), None, "too few blocks tell");
        assert_eq!(forecast(20, 0.041).expected(&plan("")), None, "no block is left");
    }

    #[test]
    fn a_run_that_may_go_on_is_expected_to_end_at_its_early_look() {
        let early = |within: &str| {
            let plan = Plan { looks: vec![7], spending: LookSpending::Early, ..plan(within) };
            forecast(6, 0.041).expected(&plan).expect("an expectation").blocks
        };
        assert_eq!((early(""), early("within = 0.001")), (7, 20));
    }

    #[test]
    fn an_aim_beyond_the_end_needs_so_much_longer() {
        let needed = forecast(20, 0.04).needed(&plan(""), 0.02).expect("an expectation");
        assert!((65..80).contains(&needed.blocks) && needed.half_width <= 0.02, "{needed:?}");
        assert_eq!(needed.left, BLOCK * (needed.blocks - 20));
        for never in [0.0, 0.001] {
            assert_eq!(forecast(20, 0.04).needed(&plan(""), never), None, "no plan may have so many blocks");
        }
    }
}
