//! What a comparison is about, beside the typical ratio: the ratio of means, and the starts that a typical ratio leaves out. Its
//! sentence says "alike in most starts" where "no difference" would hide them.

use archive::model::{Comparison, ComparisonVerdict, Measure, OddStarts, RatioOfMeans};
use stats::confidence::Confidence;
use stats::means::ratio_of_means;
use stats::odd_starts::odd_starts;
use stats::ratio::RatioEstimate;
use stats::verdict::RatioVerdict;

use crate::plan::measure_names::wording;
use crate::verdict::comparison_sentence::{interval, ratio, tells_nothing};

/// The ratio of means is named where it is this far from 1, even if the interval of the typical ratio contains it.
const MEANS_APART: f64 = 0.05;
/// Factors that are called half and twice.
const HALF: f64 = 0.5;
const ABOUT: f64 = 0.1;

/// The values of a pair in one block, with the numbers of their trials.
#[derive(Clone, Copy, Debug)]
pub struct PairedStarts {
    /// Of the numerator.
    pub a: (u32, f64),
    /// Of the denominator.
    pub b: (u32, f64),
}

/// What a comparison says beside its typical ratio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// The ratio of the means.
    pub means: Option<RatioOfMeans>,
    /// Starts that are far from the others of their side.
    pub odd_starts: Vec<OddStarts>,
}

impl Beside {
    /// From the values of a pair. `starts` is empty where a value is not of one start.
    pub fn of(
        (a, b): (&str, &str),
        values: &[(f64, f64)],
        starts: &[PairedStarts],
        confidence: Confidence,
    ) -> Self {
        let of_starts: Vec<(f64, f64)> = starts.iter().map(|pair| (pair.a.1, pair.b.1)).collect();
        let [of_a, of_b] = odd_starts(&of_starts);
        let named =
            |name: &str, odd: stats::odd_starts::OddStarts, number: fn(&PairedStarts) -> u32| OddStarts {
                variant: name.to_owned(),
                trials: odd.blocks.iter().map(|&block| number(&starts[block])).collect(),
                of: starts.len() as u32,
                factor: odd.factor,
            };
        let of_a = of_a.into_iter().map(|odd| named(a, odd, |pair| pair.a.0));
        let of_b = of_b.into_iter().map(|odd| named(b, odd, |pair| pair.b.0));
        Self {
            means: ratio_of_means(values, confidence)
                .filter(|means| !tells_nothing(means.interval.low, means.interval.high))
                .map(Into::into),
            odd_starts: of_a.chain(of_b).collect(),
        }
    }

    /// The sentence of a comparison with what is beside its ratio. `sentence` is the one without.
    pub fn sentence(
        &self,
        measure: &Measure,
        (a, b): (&str, &str),
        estimate: &RatioEstimate,
        verdict: &RatioVerdict,
        sentence: String,
    ) -> String {
        let typical = (estimate.ratio, estimate.low, estimate.high);
        let clauses = clauses_of(measure, (a, b), typical, self.means, &self.odd_starts);
        if clauses.is_empty() {
            return sentence;
        }
        let typical = match verdict {
            RatioVerdict::NoDifferenceShown { within } => format!(
                "alike in most starts: {a} and {b} within ±{:.1} % ({})",
                within * 100.0,
                interval(estimate)
            ),
            RatioVerdict::Difference { .. } | RatioVerdict::Inconclusive { .. } => sentence,
        };
        format!("{typical}; {}", clauses.join("; "))
    }
}

/// What is beside a typical ratio with its interval.
fn clauses_of(
    measure: &Measure,
    (a, b): (&str, &str),
    (typical, low, high): (f64, f64, f64),
    means: Option<RatioOfMeans>,
    odd_starts: &[OddStarts],
) -> Vec<String> {
    let mut clauses: Vec<String> = odd_starts.iter().map(|odd| odd_clause(measure, odd)).collect();
    let is_far = |log: f64| log.abs() > MEANS_APART.ln_1p();
    let is_apart = |means: &RatioOfMeans| {
        let is_outside = means.ratio < low || high < means.ratio;
        // Of a ratio of about 1, the distance from 1 is what counts.
        let hides_a_difference = low <= 1.0 && 1.0 <= high && is_far(means.ratio.ln());
        is_outside || hides_a_difference || is_far(means.ratio.ln() - typical.ln())
    };
    if let Some(means) = means.filter(is_apart) {
        let (ratio, low, high) = (ratio(means.ratio), ratio(means.low), ratio(means.high));
        clauses.push(format!("the ratio of the means of {a} and {b} is {ratio} ({low}–{high})"));
    }
    clauses
}

/// `2 of 7 starts of nginx at half the speed`.
pub fn odd_clause(measure: &Measure, odd: &OddStarts) -> String {
    let OddStarts { variant, trials, of, factor } = odd;
    let is_speed = wording(measure).higher_is_better;
    let is_about = |level: f64| (factor / level - 1.0).abs() <= ABOUT;
    let level = match is_speed {
        true if is_about(HALF) => "half the speed".to_owned(),
        true if is_about(1.0 / HALF) => "twice the speed".to_owned(),
        _ => format!("{factor:.2} × the median of its starts"),
    };
    format!("{} of {of} starts of {variant} at {level}", trials.len())
}

/// What the sentences of comparisons say beside "no difference", each once, for a headline that only counts them.
pub fn beside_no_difference(measure: &Measure, comparisons: &[Comparison]) -> String {
    let alike =
        comparisons.iter().filter(|c| matches!(c.verdict, ComparisonVerdict::NoDifferenceShown { .. }));
    let mut clauses: Vec<String> = Vec::new();
    for comparison in alike {
        let names = (comparison.a.as_str(), comparison.b.as_str());
        let Some(estimate) = &comparison.estimate else { continue };
        let typical = (estimate.ratio, estimate.low, estimate.high);
        for clause in clauses_of(measure, names, typical, comparison.means, &comparison.odd_starts) {
            if !clauses.contains(&clause) {
                clauses.push(clause);
            }
        }
    }
    clauses.iter().fold(String::new(), |text, clause| text + "; " + clause)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64Mcg;
    use stats::verdict::{VerdictRule, compare};

    use super::*;

    fn sentence_of(blocks: &[(f64, f64)]) -> (RatioVerdict, String) {
        let found = compare(blocks, &VerdictRule::default());
        let starts: Vec<PairedStarts> =
            (1..).zip(blocks).map(|(n, &(a, b))| PairedStarts { a: (2 * n - 1, a), b: (2 * n, b) }).collect();
        let names = ("nginx", "apache");
        let beside = Beside::of(names, blocks, &starts, Confidence::P95);
        let estimate = found.estimate.expect("an estimate");
        let measure = Measure::MaxThroughput;
        let plain =
            crate::verdict::comparison_sentence::sentence(&measure, names, Some(&estimate), &found.verdict);
        let sentence = beside.sentence(&measure, names, &estimate, &found.verdict, plain);
        (found.verdict, sentence)
    }

    #[test]
    fn an_interval_of_means_that_says_nothing_is_left_out() {
        let blocks = [(176.0, 100.0), (101.0, 99.0), (180.0, 100.0)];
        let nearly_sure = Confidence::new(0.999_997_4).expect("a level");
        assert_eq!(Beside::of(("h2o", "nginx"), &blocks, &[], nearly_sure).means, None);
        assert!(Beside::of(("h2o", "nginx"), &blocks, &[], Confidence::P95).means.is_some());
    }

    fn alike(index: usize) -> (f64, f64) {
        (100.0 + (index % 3) as f64 * 0.3, 100.0 + ((index + 1) % 3) as f64 * 0.3)
    }

    #[test]
    fn starts_at_half_the_speed_are_counted_where_the_typical_ratio_is_one() {
        let mut blocks: Vec<(f64, f64)> = (0..14).map(alike).collect();
        assert!(sentence_of(&blocks).1.starts_with("no difference shown between nginx and apache"));
        blocks[3].0 = 51.0;
        let (_, sentence) = sentence_of(&blocks);
        assert!(sentence.starts_with("alike in most starts: nginx and apache within ±"), "{sentence}");
        assert!(
            sentence.contains("; 1 of 14 starts of nginx at half the speed; the ratio of the means of nginx and apache is 0.96"),
            "{sentence}"
        );
    }

    #[test]
    fn a_difference_keeps_its_claim_and_gets_the_clause() {
        let mut blocks: Vec<(f64, f64)> = (0..9).map(|i| (alike(i).0 * 1.5, alike(i).1)).collect();
        blocks[2].1 = 63.0;
        let (_, sentence) = sentence_of(&blocks);
        assert!(sentence.starts_with("nginx has 1.50 × apache's throughput"), "{sentence}");
        assert!(
            sentence.contains("; 1 of 9 starts of apache at 0.63 × the median of its starts"),
            "{sentence}"
        );
    }

    /// The table of asymmetric starts, with blocks that scatter by 2 and by 4 %.
    #[test]
    fn no_difference_never_stands_alone_where_the_means_differ_by_five_percent() {
        let rng = &mut Pcg64Mcg::seed_from_u64(1);
        let mut seen = 0;
        for scatter in [0.02, 0.04] {
            let noise = Normal::new(0.0, scatter / std::f64::consts::SQRT_2).expect("a distribution");
            for (slow, blocks) in [0.05, 0.1, 0.2].into_iter().flat_map(|slow| [7, 14, 20].map(|n| (slow, n)))
            {
                for _ in 0..200 {
                    let mut side = |slow: f64| {
                        let level = if rng.random_bool(slow) { 50.0 } else { 100.0 };
                        level * f64::exp(noise.sample(rng))
                    };
                    let run: Vec<(f64, f64)> = (0..blocks).map(|_| (side(slow), side(0.0))).collect();
                    let means = ratio_of_means(&run, Confidence::P95).expect("means").ratio;
                    let (verdict, sentence) = sentence_of(&run);
                    if means.ln().abs() > 1.05_f64.ln()
                        && matches!(verdict, RatioVerdict::NoDifferenceShown { .. })
                    {
                        seen += 1;
                        assert!(!sentence.contains("no difference"), "{means}: {sentence}");
                        assert!(sentence.starts_with("alike in most starts: "), "{sentence}");
                    }
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
