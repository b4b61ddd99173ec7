//! What paired gains say: who cannot win any more, what is worth stacking, which claims are kept together. Pure functions; gains are
//! logarithms of ratios, above 0 where the tuning is better.

use std::fmt;

use archive::model::plural;
use stats::confidence::Confidence;
use stats::one_sided::{margin, p_above};
use stats::{holm, ratio};

/// The least gain that is worth a change: 1 %.
pub const LEAST_GAIN: f64 = 0.01;

/// A candidate is dropped when its gain is below [`LEAST_GAIN`] with this probability, on one side.
const CONFIDENCE_TO_DROP: f64 = 0.9;

/// One is worth stacking when its gain is above nothing with this probability. What is stacked is tested again twice.
const CONFIDENCE_TO_STACK: f64 = 0.8;

/// The level of all single claims together.
const CLAIMS: f64 = 0.05;

/// A percentile of response time that has grown by more than this is no price for a gain.
pub const MOST_PERCENTILE_GROWTH: f64 = 1.10;

/// The share of failing operations may grow by this much at most.
pub const MOST_ERROR_GROWTH: f64 = 0.001;

/// The gains of one candidate over the baseline: of the blocks that screened it, and of later blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gains(pub Vec<f64>);

impl Gains {
    /// Their mean; minus infinity without any.
    pub fn mean(&self) -> f64 {
        if self.0.is_empty() { f64::NEG_INFINITY } else { self.0.iter().sum::<f64>() / self.0.len() as f64 }
    }

    fn squares(&self) -> f64 {
        let mean = self.mean();
        self.0.iter().map(|gain| (gain - mean).powi(2)).sum()
    }

    /// The mean and what it rests on: `-1.2 % in 3 blocks`.
    pub fn in_blocks(&self) -> String {
        match self.0.len() {
            0 => self.to_string(),
            blocks => format!("{self} in {}", plural(blocks as u64, "block")),
        }
    }
}

/// The mean as a growth: `-1.2 %`.
impl fmt::Display for Gains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no valid block");
        }
        // Adding 0 to a rounded -0 leaves +0.
        let tenths = (self.mean().exp_m1() * 1_000.0).round() + 0.0;
        write!(f, "{:+.1} %", tenths / 10.0)
    }
}

/// The noise that several candidates share: the standard deviation of a gain in one block, and its degrees of freedom. Two blocks of
/// one candidate say little of the noise; the blocks of all candidates together say enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard deviation.
    pub sd: f64,
    /// Degrees of freedom.
    pub degrees: usize,
}

impl Spread {
    /// The spread within these.
    pub fn of<'g>(all: impl IntoIterator<Item = &'g Gains>) -> Self {
        let (mut squares, mut degrees) = (0.0, 0);
        for gains in all.into_iter().filter(|gains| gains.0.len() > 1) {
            squares += gains.squares();
            degrees += gains.0.len() - 1;
        }
        Self { sd: if degrees == 0 { f64::INFINITY } else { (squares / degrees as f64).sqrt() }, degrees }
    }
}

/// Whether a candidate cannot win any more: its gain is below what is worth a change.
pub fn cannot_win(gains: &Gains, spread: Spread) -> bool {
    let upper = gains.mean() + margin(spread.sd, gains.0.len(), spread.degrees, CONFIDENCE_TO_DROP);
    !gains.0.is_empty() && upper < LEAST_GAIN.ln_1p()
}

/// Whether a candidate is worth stacking.
pub fn is_promising(gains: &Gains, spread: Spread) -> bool {
    let lower = gains.mean() - margin(spread.sd, gains.0.len(), spread.degrees, CONFIDENCE_TO_STACK);
    gains.mean() > LEAST_GAIN.ln_1p() && lower > 0.0
}

/// What a claim has to exceed: 1 %, and by how much two equal servers seemed to differ.
pub fn threshold(noise: f64) -> f64 {
    LEAST_GAIN.max(noise).ln_1p()
}

/// The p-value of each claim that a gain is above the threshold, adjusted by Holm's correction, so that all claims below the level may be kept together.
pub fn claims(all: &[Gains], threshold: f64) -> Vec<f64> {
    let p: Vec<f64> = all.iter().map(|gains| p_above(&gains.0, threshold)).collect();
    holm::adjusted(&p)
}

/// Whether a claim with this adjusted p-value holds.
pub fn holds(adjusted: f64) -> bool {
    adjusted <= CLAIMS
}

/// The ratio of a gain with its interval at 95 %; none with too few blocks.
pub fn estimate(gains: &[f64]) -> Option<ratio::RatioEstimate> {
    let pairs: Vec<(f64, f64)> = gains.iter().map(|gain| (gain.exp(), 1.0)).collect();
    ratio::estimate(&pairs, Confidence::P95).ok()
}

/// Whether there is a gain at all.
pub fn is_any(gains: &[f64]) -> bool {
    !gains.is_empty()
}

/// Whether there are enough gains for an interval.
pub fn is_estimable(gains: &[f64]) -> bool {
    estimate(gains).is_some()
}

/// A ratio with its interval: `0.984 × (0.969–0.993)`.
pub fn in_words(estimate: &ratio::RatioEstimate) -> String {
    format!("{:.3} × ({:.3}–{:.3})", estimate.ratio, estimate.low, estimate.high)
}

/// By how much two equal servers seemed to differ, from gains of one over the other. Where the interval of these gains excludes equality,
/// what made the servers differ may favour a tuning as well: the noise is then the far end of the interval.
pub fn noise(gains: &[f64]) -> f64 {
    let mean = Gains(gains.to_vec()).mean().abs();
    let differing = estimate(gains).filter(excludes_equality);
    let far = differing.map_or(mean, |found| found.low.ln().abs().max(found.high.ln().abs()));
    far.exp_m1()
}

/// Whether the interval of a ratio excludes 1.
pub fn excludes_equality(estimate: &ratio::RatioEstimate) -> bool {
    estimate.low > 1.0 || estimate.high < 1.0
}

/// Whether the interval of a gain lies above the threshold.
pub fn is_above(estimate: &ratio::RatioEstimate, threshold: f64) -> bool {
    estimate.low > threshold.exp()
}

/// The number of blocks with which a gain of 5 % above 1 % is seen in nearly every search, with this noise in one block.
pub fn blocks_for(sd: f64, fewest: u32, most: u32) -> u32 {
    /// Standard errors between the gain and the threshold.
    const ERRORS: f64 = 5.0;
    let needed = (ERRORS * sd / 0.04).powi(2).ceil();
    if needed.is_finite() { (needed as u32).clamp(fewest, most) } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_written_as_growth() {
        let gains = Gains(vec![1.02_f64.ln(), 1.02_f64.ln()]);
        assert_eq!([gains.to_string(), gains.in_blocks()], ["+2.0 %", "+2.0 % in 2 blocks"]);
        assert_eq!(Gains(vec![-0.000_1]).to_string(), "+0.0 %");
        assert_eq!(Gains::default().to_string(), "no valid block");
    }

    #[test]
    fn a_candidate_is_dropped_when_it_cannot_win_and_stacked_when_it_seems_to() {
        let spread = Spread { sd: 0.01, degrees: 10 };
        let of = |gain: f64| Gains(vec![gain - 0.001, gain + 0.001]);
        assert!(
            cannot_win(&of(-0.01), spread)
                && !cannot_win(&of(0.005), spread)
                && !cannot_win(&of(0.03), spread)
        );
        assert!(is_promising(&of(0.05), spread) && !is_promising(&of(0.005), spread));
        assert!(!cannot_win(&Gains::default(), spread) && !is_promising(&Gains::default(), spread));
        let wide = Spread { sd: 0.2, degrees: 10 };
        assert!(!cannot_win(&of(-0.05), wide) && !is_promising(&of(0.05), wide));
    }

    #[test]
    fn the_spread_is_that_of_all_within_themselves() {
        let all = [Gains(vec![0.0, 0.02]), Gains(vec![0.5, 0.52]), Gains(vec![9.0])];
        let spread = Spread::of(&all);
        assert_eq!(spread.degrees, 2);
        assert!((spread.sd - 0.0002_f64.sqrt()).abs() < 1e-12);
        assert!(Spread::of(&[Gains(vec![1.0])]).sd.is_infinite());
    }

    #[test]
    fn claims_are_corrected_for_their_number() {
        let good = Gains(vec![0.05, 0.052, 0.049, 0.051, 0.05, 0.048]);
        let placebo = Gains(vec![0.01, -0.02, 0.015, -0.01, 0.0, 0.005]);
        let p = claims(&[good.clone(), placebo], threshold(0.0));
        assert!(holds(p[0]) && !holds(p[1]), "{p:?}");
        assert!(!holds(claims(&[good], threshold(0.06))[0]), "equal servers differed by more");
    }

    #[test]
    fn equal_servers_that_differ_ask_more_of_every_gain() {
        let alike = [0.004, -0.006, 0.005, -0.004, 0.002, -0.003];
        assert!(noise(&alike) < 0.001, "{}", noise(&alike));
        let differing = [-0.016, -0.020, -0.012, -0.018, -0.014, -0.015];
        let far = estimate(&differing).unwrap();
        assert!(excludes_equality(&far) && !excludes_equality(&estimate(&alike).unwrap()));
        assert!((noise(&differing) - (1.0 / far.low - 1.0)).abs() < 1e-9, "{far:?}");
    }

    #[test]
    fn a_noisy_machine_needs_more_blocks() {
        assert_eq!(blocks_for(0.005, 6, 12), 6);
        assert_eq!(blocks_for(0.02, 6, 12), 7);
        assert_eq!(blocks_for(0.5, 6, 12), 12);
        assert_eq!(blocks_for(f64::INFINITY, 6, 12), 12);
    }
}
