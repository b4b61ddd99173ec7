//! Multiple comparisons: more than two variants without more false verdicts.
//!
//! Three variants have three pairs. At 5 % each, up to 14 % of runs have a false verdict for one of them. So each pair's
//! interval has a higher level (Bonferroni, [`Confidence::shared_by`]), and *all* verdicts of a run together have the level
//! of the rule.
//!
//! Holm's step-down method finds slightly more differences, but by p-values: its verdicts can contradict the intervals
//! printed beside them. One rule for both is worth the small loss of power.
//!
//! [`Confidence::shared_by`]: crate::confidence::Confidence::shared_by

use crate::comparison::verdict::{RatioComparison, VerdictRule, compare};

/// The comparison of one pair of variants.
#[derive(Debug, Clone, PartialEq)]
pub struct PairComparison {
    /// Index of the variant that is the numerator.
    pub a: usize,
    /// Index of the variant that is the denominator.
    pub b: usize,
    /// Their ratio and verdict, at the corrected level.
    pub comparison: RatioComparison,
}

/// All pairs of `variants` variants: `(0, 1), (0, 2), (1, 2)` for three.
pub fn all_pairs(variants: usize) -> Vec<(usize, usize)> {
    (0..variants).flat_map(|a| (a + 1..variants).map(move |b| (a, b))).collect()
}

/// Each other variant with one baseline: fewer pairs than [`all_pairs`], and so narrower intervals.
pub fn against(baseline: usize, variants: usize) -> Vec<(usize, usize)> {
    (0..variants).filter(|a| *a != baseline).map(|a| (a, baseline)).collect()
}

/// Compares pairs so that all verdicts together have the rule's level.
///
/// `blocks[i][v]` is the value of variant `v` in block `i`, or `None` where its trial is invalid. A pair uses the blocks in
/// which both of its trials are valid.
///
/// ```
/// use stats::{multiple::{all_pairs, compare_pairs}, verdict::{VerdictRule, RatioVerdict}};
/// let blocks: Vec<_> = (0..8).map(|i| vec![Some(100.0 + f64::from(i % 3)), Some(200.0), None]).collect();
/// let found = compare_pairs(&blocks, &all_pairs(3), &VerdictRule::default());
/// assert!(matches!(found[0].comparison.verdict, RatioVerdict::Difference { .. }));
/// assert!(matches!(found[1].comparison.verdict, RatioVerdict::Inconclusive { .. }));
/// ```
pub fn compare_pairs(
    blocks: &[Vec<Option<f64>>],
    pairs: &[(usize, usize)],
    rule: &VerdictRule,
) -> Vec<PairComparison> {
    let each = VerdictRule { confidence: rule.confidence.shared_by(pairs.len()), ..*rule };
    let value = |block: &Vec<Option<f64>>, variant: usize| block.get(variant).copied().flatten();
    pairs
        .iter()
        .map(|&(a, b)| {
            let complete: Vec<(f64, f64)> =
                blocks.iter().filter_map(|block| value(block, a).zip(value(block, b))).collect();
            PairComparison { a, b, comparison: compare(&complete, &each) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::verdict::RatioVerdict;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    #[test]
    fn each_pair_occurs_once() {
        assert_eq!(all_pairs(3), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(against(1, 3), [(0, 1), (2, 1)]);
        assert!(all_pairs(1).is_empty());
    }

    #[test]
    fn an_invalid_trial_removes_its_block_from_its_pairs_only() {
        let mut blocks = vec![vec![Some(1.0), Some(1.0), Some(1.0)]; 7];
        blocks[0][2] = None;
        let used: Vec<usize> = compare_pairs(&blocks, &all_pairs(3), &VerdictRule::default())
            .into_iter()
            .map(|pair| pair.comparison.estimate.unwrap().blocks)
            .collect();
        assert_eq!(used, [7, 6, 6]);
    }

    #[test]
    fn three_identical_variants_have_a_false_verdict_in_at_most_one_run_of_twenty() {
        // Without the correction, 11 % of these runs have one, so the test can fail.
        let rng = &mut Pcg64::seed_from_u64(3);
        let trial = Normal::new(0.0, 0.05).unwrap();
        let strict = VerdictRule { negligible: 0.0, ..VerdictRule::default() };
        let runs = 1000;
        let (mut corrected, mut uncorrected) = (0, 0);
        for _ in 0..runs {
            let blocks: Vec<Vec<Option<f64>>> =
                (0..10).map(|_| (0..3).map(|_| Some(f64::exp(trial.sample(rng)))).collect()).collect();
            let found = |pairs: &[(usize, usize)]| {
                compare_pairs(&blocks, pairs, &strict)
                    .iter()
                    .any(|pair| matches!(pair.comparison.verdict, RatioVerdict::Difference { .. }))
            };
            corrected += i32::from(found(&all_pairs(3)));
            uncorrected += i32::from(all_pairs(3).iter().any(|&pair| found(&[pair])));
        }
        assert!(corrected <= runs / 20, "{corrected} of {runs} runs with a false verdict");
        assert!(uncorrected > runs / 12, "{uncorrected} of {runs} runs without the correction");
    }
}
