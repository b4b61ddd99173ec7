//! Whether a ratio still moves within blocks: servers that warm up longer than they were loaded.
//!
//! In a block both servers are loaded in rounds. The logarithm of their ratio in each round, over the number of the round, has a
//! slope (least squares). The slopes of the blocks are independent, each of one start of both servers, so Student's t of them is
//! an interval of the mean slope. What the machine does to both cancels in the ratio; what a start does by chance is in the
//! scatter between blocks.
//!
//! What can be found: where the ratios of rounds scatter by 8 %, and a block has 40 of them, the mean slope of 7 blocks has a standard
//! error of 1.7 % a block, and that of 14 blocks 1.2 %. So a change of 5 % a block is found in about 3 of 4 runs of 7 blocks (no
//! unbiased test with 5 % of false alarms finds it in more than 85 of 100), and in 97 of 100 of 14.

use crate::comparison::ratio::FEWEST_BLOCKS;
use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::location::student_t;

/// Fewest rounds of a block that say something about a slope.
const FEWEST_ROUNDS: usize = 8;

/// The change of a ratio within a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioDrift {
    /// Change of the logarithm of the ratio from the first round of a block to its last: 0.02 for a ratio that grows by 2 %.
    pub per_block: f64,
    /// Its interval.
    pub interval: ConfidenceInterval,
    /// Blocks that have a slope.
    pub blocks: usize,
}

impl RatioDrift {
    /// Whether the ratio moves for certain, by at least this much a block.
    pub fn is_shown(&self, least: f64) -> bool {
        !self.interval.contains(0.0) && self.per_block.abs() >= least
    }
}

/// The drift over blocks of log ratios, round by round; `None` where fewer than three blocks have enough rounds.
pub fn drift(blocks: &[Vec<f64>], confidence: Confidence) -> Option<RatioDrift> {
    let changes: Vec<f64> = blocks.iter().filter_map(|rounds| change(rounds)).collect();
    if changes.len() < FEWEST_BLOCKS {
        return None;
    }
    let found = student_t(&changes, confidence)?;
    Some(RatioDrift { per_block: found.centre, interval: found.interval, blocks: changes.len() })
}

/// Least squares: the change from the first round to the last.
fn change(rounds: &[f64]) -> Option<f64> {
    if rounds.len() < FEWEST_ROUNDS || !rounds.iter().all(|ratio| ratio.is_finite()) {
        return None;
    }
    let n = rounds.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let from_middle = |round: usize| round as f64 - middle;
    let with_ratio: f64 = rounds.iter().enumerate().map(|(round, ratio)| from_middle(round) * ratio).sum();
    let squares: f64 = (0..rounds.len()).map(|round| from_middle(round).powi(2)).sum();
    Some(with_ratio / squares * (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    /// The share of 1,000 runs that show a drift of at least 1 % a block. Pairs of rounds scatter by 8 %, blocks have 40 rounds, and
    /// their ratio changes by this much on the way.
    fn shown(blocks: usize, change: f64) -> f64 {
        let rng = &mut Pcg64::seed_from_u64(9);
        let noise = Normal::new(0.0, 0.08).unwrap();
        let mut run = || -> Vec<Vec<f64>> {
            let mut round = |round: i32| change * f64::from(round) / 39.0 + noise.sample(rng);
            (0..blocks).map(|_| (0..40).map(&mut round).collect()).collect()
        };
        let is_shown = |_: &i32| drift(&run(), Confidence::P95).unwrap().is_shown(0.01);
        (0..1000).filter(is_shown).count() as f64 / 1000.0
    }

    #[test]
    fn equal_servers_show_a_drift_in_at_most_one_run_of_twenty() {
        for blocks in [7, 14, 20] {
            let share = shown(blocks, 0.0);
            assert!(share <= 0.062, "{blocks} blocks: {share}");
        }
    }

    #[test]
    fn a_drift_of_five_percent_a_block_is_found_in_nearly_every_whole_run() {
        assert!(shown(14, 0.05) >= 0.95 && shown(20, -0.05) >= 0.95);
        // A run that ends at its first look has 3.0 standard errors of it.
        let early = shown(7, 0.05);
        assert!((0.65..0.85).contains(&early), "{early}");
        assert!(shown(7, 0.08) >= 0.95);
    }

    #[test]
    fn a_straight_line_has_its_slope_and_short_blocks_have_none() {
        let line: Vec<f64> = (0..10).map(|round| 0.01 * f64::from(round)).collect();
        let found = drift(&[line.clone(), line.clone(), line], Confidence::P95).unwrap();
        assert!((found.per_block - 0.09).abs() < 1e-12 && found.is_shown(0.01), "{found:?}");
        assert_eq!(drift(&vec![vec![0.0; 7]; 9], Confidence::P95), None);
        assert_eq!(drift(&vec![vec![f64::NAN; 40]; 9], Confidence::P95), None);
    }
}
