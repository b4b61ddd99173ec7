//! When a run may look at its verdict before its last block. What a look may say is left to
//! [`interim_looks`](crate::verdict::interim_looks).

use archive::model::{LookSpending, RunKind};
use stats::confidence::Confidence;
use stats::looks::{Spending, significance};
use stats::ratio::IntervalMethod;

use crate::limits::MOST_BLOCKS;

/// The first of several looks, in complete blocks. Its level is too strict for the ranks of so few, so its interval is Student's t.
const FIRST: u32 = 8;
/// From one look to the next, at least.
const EVERY: u32 = 4;
/// The most steps from one look to the next that a whole run has. A long run has no use for more: each look takes a part of the 5 %.
const MOST_STEPS: u32 = 20;
/// No look is taken before this share of the blocks. What O'Brien and Fleming spend until then is a millionth, so that no server
/// is so much faster that a look could tell; and at a thirteenth of the blocks it is less than any level has.
pub const EARLIEST: f64 = 0.2;
/// What an early first look spends: at half of the blocks 3.15 % of the 5 %. That is the least with which the ranks of seven
/// blocks have an interval that is narrower than their range: it leaves out the lowest and the highest of the 28 pair means,
/// which four of the 128 outcomes of their coins reach by chance (decision 0002).
pub const EARLY: Spending = Spending::Power(2.0 / 3.0);

/// The looks of a comparison of this many blocks before the last one, and what they spend. A short comparison has none.
pub fn planned(kind: RunKind, blocks: u32) -> (Vec<u32>, LookSpending) {
    let looks = match kind {
        RunKind::Compare => {
            let first = FIRST.max(earliest(blocks));
            (first..blocks).step_by(EVERY.max(blocks.div_ceil(MOST_STEPS)) as usize).collect()
        }
        RunKind::Sweep | RunKind::Explain | RunKind::Concurrency => Vec::new(),
    };
    (looks, LookSpending::Late)
}

/// After how many blocks a comparison of so many variants takes an early look at half of its blocks: at least after `fewest`, and after
/// as many as the ranks of each pair need to reach their level.
pub fn early(fewest: u32, variants: usize) -> u32 {
    let pairs = (variants * variants.saturating_sub(1) / 2).max(1) as f64;
    let levels = significance(&[0.5, 1.0], Confidence::P95.alpha(), EARLY);
    let level = levels.and_then(|levels| Confidence::of_alpha(levels.first()? / pairs).ok());
    let has_ranks = |blocks: &u32| {
        level.is_none_or(|level| {
            IntervalMethod::for_blocks(*blocks as usize, level) == IntervalMethod::SignedRank
        })
    };
    (fewest..MOST_BLOCKS).find(has_ranks).unwrap_or(fewest)
}

/// The fewest complete blocks at which a run of this many may look.
#[expect(clippy::cast_possible_truncation, reason = "a part of a `u32`")]
pub fn earliest(blocks: u32) -> u32 {
    (f64::from(blocks) * EARLIEST).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_comparison_looks_three_times_before_its_end_and_a_short_one_never() {
        let late = |looks: &[u32]| (looks.to_vec(), LookSpending::Late);
        assert_eq!(planned(RunKind::Compare, 20), late(&[8, 12, 16]));
        assert_eq!(planned(RunKind::Compare, 7), late(&[]));
        assert_eq!(planned(RunKind::Sweep, 20), late(&[]));
        assert_eq!(planned(RunKind::Compare, 100), late(&(20..100).step_by(5).collect::<Vec<_>>()));
    }

    #[test]
    fn more_variants_need_more_blocks_for_an_early_look() {
        assert_eq!([1, 2, 3, 4, 8].map(|variants| early(7, variants)), [7, 7, 8, 9, 11]);
        assert_eq!(early(10, 2), 10);
    }
}
