//! The ratio of A to B where some blocks are known by bounds alone: a client that was the limit has measured "at least", and a server
//! that failed has a ratio of 0 or infinity.
//!
//! To leave out such blocks is no choice: they are missing *because* their server was fast, or failed, so the others are no fair
//! sample. Here the low end of the interval comes from the low ends of all blocks, and the high end from their high ends. The
//! rank of a value in the signed-rank statistic never falls when the value rises. So the low end is at most, and the high end at
//! least, that of the values that nobody knows, and the interval has its level whatever they are.
//!
//! The interval of few blocks is Student's t, and so is that of capacities, which are of all blocks together. It is not monotone and has no
//! place for infinity: an end for which a block is infinite is then not known. Where a server failed in some of the blocks of a
//! capacity, the interval has Student's t of the others and the ranks of all.

use crate::comparison::ratio::{FEWEST_BLOCKS, IntervalMethod, RatioError, RatioEstimate};
use crate::comparison::verdict::{RatioVerdict, Side, VerdictRule, classify};
use crate::confidence::Confidence;
use crate::sample::describe::sum_of_squares;
use crate::sample::location::{CentreEstimate, signed_rank_critical, student_t};

/// What is known of the ratio of a block: it is between these two, which are 0 or more and may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockBounds {
    /// It is at least this.
    pub low: f64,
    /// It is at most this.
    pub high: f64,
}

impl BlockBounds {
    /// A ratio that was measured.
    pub fn exact(ratio: f64) -> Self {
        Self { low: ratio, high: ratio }
    }

    fn is_exact(self) -> bool {
        self.low >= self.high && !self.is_failure()
    }

    /// Whether a server failed in it.
    fn is_failure(self) -> bool {
        self.high <= 0.0 || self.low.is_infinite()
    }
}

/// What is known of a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundedRatio {
    /// The low end of its interval; 0 where it is not known.
    pub low: f64,
    /// The high end; infinite where it is not known.
    pub high: f64,
    /// Number of blocks.
    pub blocks: usize,
    /// The level of the interval, and of each of its ends.
    pub confidence: Confidence,
    /// The ratio with its interval, where both ends are known.
    pub estimate: Option<RatioEstimate>,
}

impl BoundedRatio {
    /// The verdict on it; none where an end that is not known leaves it open.
    pub fn verdict(&self, rule: &VerdictRule) -> Option<RatioVerdict> {
        if let Some(estimate) = &self.estimate {
            return Some(classify(estimate, rule));
        }
        let (a_leads, b_leads) = (self.low - 1.0, 1.0 / self.high - 1.0);
        if a_leads > rule.negligible {
            return Some(RatioVerdict::Difference { higher: Side::A, at_least: a_leads });
        }
        (b_leads > rule.negligible).then_some(RatioVerdict::Difference { higher: Side::B, at_least: b_leads })
    }
}

/// The interval of the ratio from what is known of its blocks, by this method; by the number of blocks where it is not said.
///
/// ```
/// use stats::bounded::{BlockBounds, bounded_ratio};
/// use stats::confidence::Confidence;
/// let mut blocks = vec![BlockBounds::exact(2.0); 19];
/// blocks.push(BlockBounds { low: 1.9, high: f64::INFINITY });
/// let found = bounded_ratio(&blocks, Confidence::P95, None)?;
/// assert!((1.9..=2.0).contains(&found.low) && found.high < 2.1);
/// # Ok::<(), stats::ratio::RatioError>(())
/// ```
pub fn bounded_ratio(
    blocks: &[BlockBounds],
    confidence: Confidence,
    method: Option<IntervalMethod>,
) -> Result<BoundedRatio, RatioError> {
    if blocks.len() < FEWEST_BLOCKS {
        return Err(RatioError::TooFewBlocks { blocks: blocks.len(), needed: FEWEST_BLOCKS });
    }
    let served: Vec<BlockBounds> = blocks.iter().copied().filter(|block| !block.is_failure()).collect();
    let (found, method) = match (by_ranks(blocks, confidence), method) {
        (Some(ranks), None | Some(IntervalMethod::SignedRank)) => (ranks, IntervalMethod::SignedRank),
        (Some(ranks), Some(IntervalMethod::StudentT)) if served.len() < blocks.len() => {
            (by_t(&served, confidence).and(&ranks), IntervalMethod::StudentT)
        }
        _ => (by_t(blocks, confidence), IntervalMethod::StudentT),
    };
    let Ends { low, high, centre } = found;
    let exact: Vec<f64> =
        blocks.iter().filter(|block| block.is_exact()).map(|block| block.low.ln()).collect();
    let is_known = low.is_finite() && high.is_finite() && exact.len() > 1;
    let estimate = is_known.then(|| RatioEstimate {
        ratio: centre.exp(),
        low: low.exp(),
        high: high.exp(),
        blocks: blocks.len(),
        confidence,
        method,
        log_sd: (sum_of_squares(&exact) / (exact.len() as f64 - 1.0)).sqrt(),
    });
    Ok(BoundedRatio { low: low.exp(), high: high.exp(), blocks: blocks.len(), confidence, estimate })
}

/// An interval of logarithms with its centre; an end that is not known is infinite.
struct Ends {
    low: f64,
    high: f64,
    centre: f64,
}

impl Ends {
    /// The interval that contains this one and another one, with the centre of this one.
    fn and(self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), ..self }
    }
}

/// The logarithms of the low and of the high ends.
fn logs(blocks: &[BlockBounds]) -> (Vec<f64>, Vec<f64>) {
    blocks.iter().map(|block| (block.low.ln(), block.high.ln())).unzip()
}

/// By Wilcoxon's signed ranks; none for so few blocks.
fn by_ranks(blocks: &[BlockBounds], confidence: Confidence) -> Option<Ends> {
    let rank = signed_rank_critical(blocks.len(), confidence)?;
    let (lows, highs) = logs(blocks);
    let (lows, highs) = (walsh(&lows, f64::NEG_INFINITY), walsh(&highs, f64::INFINITY));
    let centre = f64::midpoint(median(&lows), median(&highs));
    Some(Ends { low: lows[rank - 1], high: highs[highs.len() - rank], centre })
}

/// By Student's t.
fn by_t(blocks: &[BlockBounds], confidence: Confidence) -> Ends {
    let (lows, highs) = logs(blocks);
    let (low, high) = (finite_t(&lows, confidence), finite_t(&highs, confidence));
    Ends {
        low: low.map_or(f64::NEG_INFINITY, |found| found.interval.low),
        high: high.map_or(f64::INFINITY, |found| found.interval.high),
        centre: low.zip(high).map_or(f64::NAN, |(low, high)| f64::midpoint(low.centre, high.centre)),
    }
}

/// The means of all pairs of values, each value with itself included, ascending. That of both infinities is `open`.
fn walsh(values: &[f64], open: f64) -> Vec<f64> {
    let mean = |(a, b)| Some(f64::midpoint(a, b)).filter(|mean| !mean.is_nan()).unwrap_or(open);
    let pairs = values.iter().enumerate().flat_map(|(i, a)| values[i..].iter().map(move |b| (*a, *b)));
    let mut means: Vec<f64> = pairs.map(mean).collect();
    means.sort_by(f64::total_cmp);
    means
}

fn median(ascending: &[f64]) -> f64 {
    let count = ascending.len();
    f64::midpoint(ascending[(count - 1) / 2], ascending[count / 2])
}

/// Student's t of values that are all finite.
fn finite_t(values: &[f64], confidence: Confidence) -> Option<CentreEstimate> {
    student_t(values, confidence).filter(|_| values.iter().all(|value| value.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ratio::estimate;
    use proptest::prelude::*;

    const RULE: VerdictRule =
        VerdictRule { confidence: Confidence::P95, negligible: 0.005, method: None, useful: 0.10 };

    fn blocks(exact: usize, ratio: f64, others: &[BlockBounds]) -> Vec<BlockBounds> {
        let scattered = (0..exact).map(|i| BlockBounds::exact(ratio * (1.0 + 0.002 * (i % 5) as f64)));
        scattered.chain(others.iter().copied()).collect()
    }

    const A_FAILED: BlockBounds = BlockBounds { low: 0.0, high: 0.0 };
    const B_FAILED: BlockBounds = BlockBounds { low: f64::INFINITY, high: f64::INFINITY };

    fn verdict(blocks: &[BlockBounds]) -> Option<RatioVerdict> {
        bounded_ratio(blocks, Confidence::P95, None).expect("blocks").verdict(&RULE)
    }

    #[test]
    fn a_server_that_fails_in_three_of_thirteen_starts_is_not_ahead_however_fast_it_is() {
        assert_eq!(verdict(&blocks(10, 2.0, &[A_FAILED; 3])), None);
        let one = bounded_ratio(&blocks(20, 2.0, &[A_FAILED]), Confidence::P95, None).expect("blocks");
        assert!(one.estimate.is_some_and(|estimate| estimate.low > 1.9), "one of 21 is an outlier");
    }

    #[test]
    fn a_server_whose_rival_fails_is_ahead_by_an_amount_that_has_no_end() {
        let found = bounded_ratio(&blocks(10, 2.0, &[B_FAILED; 3]), Confidence::P95, None).expect("blocks");
        assert!(found.estimate.is_none() && found.high.is_infinite());
        let verdict = found.verdict(&RULE);
        assert!(
            matches!(verdict, Some(RatioVerdict::Difference { higher: Side::A, at_least }) if at_least > 0.99),
            "{verdict:?}"
        );
    }

    #[test]
    fn two_servers_that_both_fail_now_and_then_have_no_verdict() {
        assert_eq!(verdict(&blocks(8, 1.0, &[A_FAILED, A_FAILED, B_FAILED, B_FAILED])), None);
    }

    #[test]
    fn students_t_has_no_place_for_a_failure_and_keeps_the_bound_of_a_client() {
        assert_eq!(verdict(&blocks(4, 2.0, &[A_FAILED])), None);
        assert_eq!(verdict(&blocks(4, 2.0, &[B_FAILED])), None);
        let at_least = BlockBounds { low: 2.0, high: f64::INFINITY };
        assert!(matches!(
            verdict(&blocks(3, 2.0, &[at_least])),
            Some(RatioVerdict::Difference { higher: Side::A, .. })
        ));
    }

    /// Capacities have Student's t, however many blocks there are.
    #[test]
    fn the_mean_of_all_blocks_stays_the_mean_where_a_trial_is_a_bound_and_where_a_server_failed() {
        // One block in ten has seen a pause of A: by ranks, such blocks would be outliers.
        let pausing: Vec<BlockBounds> = (0..20)
            .map(|i| BlockBounds::exact(if i % 10 == 0 { 0.1 } else { 1.1 + 0.01 * f64::from(i % 3) }))
            .collect();
        let of = |more: &[BlockBounds], method| {
            bounded_ratio(&[&pausing, more].concat(), Confidence::P95, method).expect("blocks")
        };
        let at_least = BlockBounds { low: 1.0, high: f64::INFINITY };
        assert!(of(&[at_least], None).low > 0.9, "ranks");
        let bound = of(&[at_least], Some(IntervalMethod::StudentT));
        assert!(bound.low < 0.7 && bound.high.is_infinite(), "{bound:?}");
        let failed = of(&[A_FAILED], Some(IntervalMethod::StudentT));
        let [with, without] = [&failed, &of(&[], Some(IntervalMethod::StudentT))].map(|found| {
            let estimate = found.estimate.clone().expect("both ends are known");
            assert_eq!(estimate.method, IntervalMethod::StudentT);
            (estimate.low, estimate.high)
        });
        assert!(with.0 <= without.0 && with.1 >= without.1, "{with:?} contains {without:?}");
    }

    #[test]
    fn two_blocks_have_no_ratio() {
        let found = bounded_ratio(&[BlockBounds::exact(2.0); 2], Confidence::P95, None);
        assert_eq!(found, Err(RatioError::TooFewBlocks { blocks: 2, needed: 3 }));
    }

    proptest! {
        #[test]
        fn without_a_bound_it_is_the_ratio_of_the_blocks(
            pairs in prop::collection::vec((1.0..1e3_f64, 1.0..1e3_f64), 3..25),
        ) {
            let ratios: Vec<BlockBounds> = pairs.iter().map(|(a, b)| BlockBounds::exact(a / b)).collect();
            let found = bounded_ratio(&ratios, Confidence::P95, None).unwrap().estimate.unwrap();
            let known = estimate(&pairs, Confidence::P95).unwrap();
            for (one, other) in [(found.low, known.low), (found.ratio, known.ratio), (found.high, known.high)] {
                prop_assert!((one / other - 1.0).abs() < 1e-9);
            }
        }

        /// Whatever the ratios of the blocks were of which only a bound is known.
        #[test]
        fn the_interval_of_the_bounds_contains_that_of_the_values(
            values in prop::collection::vec((-1.0..1.0_f64, 0..3_u8), 7..25),
        ) {
            let known: Vec<BlockBounds> = values.iter().map(|(log, kind)| match kind {
                0 => BlockBounds::exact(log.exp()),
                1 => BlockBounds { low: (log - 0.1).exp(), high: f64::INFINITY },
                _ => BlockBounds { low: 0.0, high: (log + 0.1).exp() },
            }).collect();
            let pairs: Vec<(f64, f64)> = values.iter().map(|(log, _)| (log.exp(), 1.0)).collect();
            let (bounds, truth) =
                (bounded_ratio(&known, Confidence::P95, None).unwrap(), estimate(&pairs, Confidence::P95).unwrap());
            prop_assert!(bounds.low <= truth.low * (1.0 + 1e-9) && truth.high <= bounds.high * (1.0 + 1e-9));
        }
    }
}
