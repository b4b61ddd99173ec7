//! Starts of a server that are far from the others of it: what a typical ratio does not show.
//!
//! A ratio in the middle of the blocks is the same whether one start of seven has half the speed or none. So such starts are
//! named beside the verdict.

use crate::sample::describe::Sample;

/// A start is odd at this many median absolute deviations (MAD) from its side's median. The MAD is scaled so that it is the
/// standard deviation of normal values.
const DEVIATIONS: f64 = 3.0;
/// 1 / Φ⁻¹(0.75).
const MAD_TO_SD: f64 = 1.4826;
/// A smaller distance from the median is never odd: the MAD of few values may be close to zero by chance.
const LEAST_DISTANCE: f64 = 0.05;
/// Odd starts that are closer to each other are named together.
const ONE_LEVEL: f64 = 0.25;
/// With fewer starts, nothing says which of them is the odd one.
const FEWEST_STARTS: usize = 5;

/// Odd starts of one side at about the same level.
#[derive(Debug, Clone, PartialEq)]
pub struct OddStarts {
    /// The blocks, from 0.
    pub blocks: Vec<usize>,
    /// Their median as a share of the median of all: 0.5 for half of it.
    pub factor: f64,
}

/// The odd starts of both sides of blocks `(a, b)`, from the lowest level up.
///
/// A start is odd only where its block's ratio is, too. A block in which both sides were slow was slow for another reason.
///
/// ```
/// let mut blocks = [(100.0, 100.0), (101.0, 100.0), (99.0, 101.0), (100.0, 99.0), (101.0, 101.0), (100.0, 100.0)];
/// blocks[2].0 = 50.0;
/// let [a, b] = stats::odd_starts::odd_starts(&blocks);
/// assert_eq!((a[0].blocks.as_slice(), b.len()), (&[2][..], 0));
/// ```
pub fn odd_starts(blocks: &[(f64, f64)]) -> [Vec<OddStarts>; 2] {
    let is_usable = |value: f64| value.is_finite() && value > 0.0;
    if blocks.len() < FEWEST_STARTS || !blocks.iter().all(|&(a, b)| is_usable(a) && is_usable(b)) {
        return [Vec::new(), Vec::new()];
    }
    let logs =
        |of: fn(&(f64, f64)) -> f64| -> Vec<f64> { blocks.iter().map(|block| of(block).ln()).collect() };
    let sides = [logs(|block| block.0), logs(|block| block.1)];
    let ratios: Vec<f64> = sides[0].iter().zip(&sides[1]).map(|(a, b)| a - b).collect();
    let in_ratios = distances(&ratios);
    // A side that is above its median moves the ratio up as A, and down as B.
    [(&sides[0], 1.0), (&sides[1], -1.0)].map(|(side, sign)| {
        let in_side = distances(side);
        let is_odd = |block: &usize, direction: f64| {
            in_side[*block].is_far(direction) && in_ratios[*block].is_far(direction * sign)
        };
        let mut odd: Vec<usize> =
            (0..side.len()).filter(|block| is_odd(block, -1.0) || is_odd(block, 1.0)).collect();
        odd.sort_by(|a, b| side[*a].total_cmp(&side[*b]));
        // Half the speed and 6 % less are two things.
        let is_one_level = |a: &usize, b: &usize| side[*b] - side[*a] < ONE_LEVEL.ln_1p();
        odd.chunk_by(is_one_level).filter_map(|level| level_of(level, &in_side)).collect()
    })
}

/// Odd starts at about the same level.
fn level_of(blocks: &[usize], in_side: &[Distance]) -> Option<OddStarts> {
    let from_median: Vec<f64> = blocks.iter().map(|&block| in_side[block].from_median).collect();
    let factor = Sample::new(&from_median).ok()?.median().exp();
    let mut blocks = blocks.to_vec();
    blocks.sort_unstable();
    Some(OddStarts { blocks, factor })
}

/// How far a value is from the median of all, and how far it may be.
struct Distance {
    from_median: f64,
    most: f64,
}

impl Distance {
    /// Whether it is too far in this direction.
    fn is_far(&self, direction: f64) -> bool {
        direction * self.from_median > self.most
    }
}

fn distances(logs: &[f64]) -> Vec<Distance> {
    let Ok(sample) = Sample::new(logs) else { return Vec::new() };
    let most = (DEVIATIONS * MAD_TO_SD * sample.median_absolute_deviation()).max(LEAST_DISTANCE);
    logs.iter().map(|log| Distance { from_median: log - sample.median(), most }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::means::ratio_of_means;
    use crate::comparison::verdict::{RatioVerdict, VerdictRule, compare};
    use crate::confidence::Confidence;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    /// Blocks of a comparison in which A has half the speed in a share of its starts; blocks scatter by 2 %.
    fn run(rng: &mut Pcg64, blocks: usize, slow: f64, scatter: f64) -> Vec<(f64, f64)> {
        let noise = Normal::new(0.0, scatter / std::f64::consts::SQRT_2).unwrap();
        let mut side = |slow: f64| {
            let level = if rng.random_bool(slow) { 0.5 } else { 1.0 };
            100.0 * level * noise.sample(rng).exp()
        };
        (0..blocks).map(|_| (side(slow), side(0.0))).collect()
    }

    /// The table of asymmetric starts: A has half the speed in 5, 10 and 20 % of its starts, B never.
    #[test]
    fn no_difference_never_stands_alone_where_a_start_had_half_the_speed() {
        let rng = &mut Pcg64::seed_from_u64(3);
        let mut named = 0;
        for slow in [0.05, 0.1, 0.2] {
            for blocks in [7, 14, 20] {
                let mut alike = 0;
                for _ in 0..400 {
                    let run = run(rng, blocks, slow, 0.02);
                    let found = compare(&run, &VerdictRule::default());
                    if !matches!(found.verdict, RatioVerdict::NoDifferenceShown { .. }) {
                        continue;
                    }
                    alike += 1;
                    let means = ratio_of_means(&run, Confidence::P95).unwrap().ratio;
                    let slow_starts = run.iter().filter(|(a, _)| *a < 70.0).count();
                    let [of_a, _] = odd_starts(&run);
                    let found =
                        of_a.iter().filter(|odd| odd.factor < 0.6).map(|odd| odd.blocks.len()).sum::<usize>();
                    assert_eq!(found, slow_starts, "{run:?}");
                    named += usize::from(slow_starts > 0);
                    assert!(slow_starts > 0 || (means - 1.0).abs() < 0.05, "{means}: {run:?}");
                }
                assert!(alike > 5, "{slow}, {blocks} blocks: {alike}");
            }
        }
        // Of seven blocks, one at half the speed makes the interval wide: inconclusive.
        assert!(named > 300, "{named}");
    }

    #[test]
    fn equal_starts_are_seldom_odd() {
        let rng = &mut Pcg64::seed_from_u64(4);
        for (scatter, most) in [(0.02, 0.03), (0.04, 0.15)] {
            let has_odd = |blocks: &[(f64, f64)]| odd_starts(blocks).iter().any(|side| !side.is_empty());
            for blocks in [7, 14, 20] {
                let odd = (0..500).filter(|_| has_odd(&run(rng, blocks, 0.0, scatter))).count();
                assert!((odd as f64) <= most * 500.0, "{blocks} blocks of {scatter}: {odd} of 500");
            }
        }
    }

    #[test]
    fn a_block_in_which_both_were_slow_has_no_odd_start() {
        let mut blocks =
            [(100.0, 50.0), (101.0, 50.0), (99.0, 50.5), (100.0, 49.5), (101.0, 50.5), (100.0, 50.0)];
        blocks[4] = (50.0, 25.0);
        assert_eq!(odd_starts(&blocks), [Vec::new(), Vec::new()]);
        blocks[4] = (100.0, 110.0);
        let [a, b] = odd_starts(&blocks);
        assert!(a.is_empty() && b[0].blocks == [4] && (b[0].factor - 2.2).abs() < 0.01, "{b:?}");
    }

    #[test]
    fn few_starts_and_useless_values_have_no_odd_one() {
        assert_eq!(odd_starts(&[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (0.5, 1.0)]), [Vec::new(), Vec::new()]);
        assert_eq!(odd_starts(&[(0.0, 1.0); 6]), [Vec::new(), Vec::new()]);
    }
}
