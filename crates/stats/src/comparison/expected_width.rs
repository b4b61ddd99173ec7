//! How wide the interval of a ratio will be with more blocks, and how many blocks a width needs.
//!
//! The width of a t interval is proportional to the quantile of its degrees of freedom over the root of the number of
//! blocks. That of ranks is 5 % wider for normal noise, whatever the number is. So the present width tells the later one, as
//! well as the present blocks tell the scatter: five of them to a third of its value.

use crate::confidence::Confidence;
use crate::sample::location::t_quantile;

/// No run has more blocks.
const MOST_BLOCKS: usize = 100_000;

/// A width with what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalWidth {
    /// Half the width, of a mean or a logarithm.
    pub half_width: f64,
    /// Number of blocks.
    pub blocks: usize,
    /// Level of the interval.
    pub confidence: Confidence,
}

impl IntervalWidth {
    /// The width of a t interval of blocks with this standard deviation. None for fewer than two blocks.
    pub fn of_scatter(sd: f64, blocks: usize, confidence: Confidence) -> Option<Self> {
        Some(Self { half_width: sd * factor(blocks, confidence)?, blocks, confidence })
    }

    /// Half the width to be expected with this many blocks, at this level. None for fewer than two blocks.
    pub fn expected(&self, blocks: usize, confidence: Confidence) -> Option<f64> {
        Some(self.half_width * factor(blocks, confidence)? / factor(self.blocks, self.confidence)?)
    }

    /// The fewest blocks with which half the width is to be expected within `aim`, at this level. None where no number is.
    pub fn blocks_for(&self, aim: f64, confidence: Confidence) -> Option<usize> {
        let is_enough = |blocks: usize| self.expected(blocks, confidence).is_some_and(|width| width <= aim);
        let (mut too_few, mut enough) = (1, 2);
        while !is_enough(enough) {
            (too_few, enough) = (enough, enough * 2);
            if too_few > MOST_BLOCKS {
                return None;
            }
        }
        while enough - too_few > 1 {
            let middle = usize::midpoint(too_few, enough);
            if is_enough(middle) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Some(enough)
    }
}

/// Half the width of a t interval, in standard deviations of a block.
fn factor(blocks: usize, confidence: Confidence) -> Option<f64> {
    let quantile = t_quantile(blocks.checked_sub(1)?, 1.0 - confidence.alpha() / 2.0)?;
    Some(quantile / (blocks as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ratio::estimate;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    #[test]
    fn the_expected_width_is_that_of_runs_with_more_blocks() {
        let rng = &mut Pcg64::seed_from_u64(3);
        let mut median_of = |blocks: usize| {
            let mut widths: Vec<f64> = (0..400)
                .map(|_| {
                    let draw = |rng: &mut Pcg64| -> f64 {
                        let normal: f64 = StandardNormal.sample(rng);
                        (0.02 * normal).exp()
                    };
                    let pairs: Vec<_> = (0..blocks).map(|_| (draw(rng), 1.0)).collect();
                    let found = estimate(&pairs, Confidence::P95).expect("an estimate");
                    (found.high / found.low).ln() / 2.0
                })
                .collect();
            widths.sort_by(f64::total_cmp);
            widths[200]
        };
        let now = IntervalWidth { half_width: median_of(8), blocks: 8, confidence: Confidence::P95 };
        for blocks in [12, 20, 40] {
            let (expected, found) =
                (now.expected(blocks, Confidence::P95).expect("a width"), median_of(blocks));
            assert!((expected / found - 1.0).abs() < 0.12, "{blocks} blocks: {expected}, found {found}");
        }
    }

    #[test]
    fn the_blocks_of_a_width_are_the_fewest_that_reach_it() {
        let now = IntervalWidth { half_width: 0.04, blocks: 6, confidence: Confidence::P95 };
        let strict = Confidence::new(0.99).expect("a level");
        for (aim, confidence) in [(0.02, Confidence::P95), (0.01, strict), (0.1, strict)] {
            let blocks = now.blocks_for(aim, confidence).expect("a number");
            assert!(now.expected(blocks, confidence).expect("a width") <= aim);
            assert!(now.expected(blocks - 1, confidence).is_none_or(|width| width > aim), "{blocks}");
        }
        assert_eq!(now.blocks_for(0.04, Confidence::P95), Some(6));
        assert_eq!(now.blocks_for(0.0, Confidence::P95), None);
        assert_eq!(now.expected(1, Confidence::P95), None);
    }
}
