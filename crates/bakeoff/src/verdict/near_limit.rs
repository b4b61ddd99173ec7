//! Differences near what the blocks can detect. Of small differences, only those that chance made larger are found, so their ratio
//! is too large on average: with blocks that scatter by 2 %, a true 1 % is found in 6 of 100 quick runs, and stated as 2.2 %. Such a
//! sentence leads with the low end of the interval.

use archive::model::Measure;
use stats::ratio::RatioEstimate;
use stats::verdict::{RatioVerdict, Side};

use crate::verdict::comparison_sentence::{claim, interval, ratio};

/// The sentence of a difference that is smaller than what the blocks detect in most runs; none for others.
pub fn sentence_near_limit(
    measure: &Measure,
    (a, b): (&str, &str),
    estimate: &RatioEstimate,
    verdict: &RatioVerdict,
    smallest_difference: Option<f64>,
) -> Option<String> {
    let RatioVerdict::Difference { higher, at_least } = verdict else { return None };
    let (names, times) = match higher {
        Side::A => ((a, b), estimate.ratio),
        Side::B => ((b, a), 1.0 / estimate.ratio),
    };
    let is_near = smallest_difference.is_none_or(|smallest| times - 1.0 < smallest);
    is_near.then(|| {
        let least = claim(measure, names, &format!("at least {}", ratio(1.0 + at_least)));
        format!("{least} (typically {}; {}; near the limit of detection)", ratio(times), interval(estimate))
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64Mcg;
    use stats::power::smallest_difference;
    use stats::verdict::{VerdictRule, compare};

    use super::*;

    /// The least difference that the sentence leads with, if it does, of a pair with these blocks.
    fn found(blocks: &[(f64, f64)]) -> Option<(String, f64, f64)> {
        let rule = VerdictRule::default();
        let found = compare(blocks, &rule);
        let estimate = found.estimate?;
        // The smallest difference takes its time.
        let RatioVerdict::Difference { at_least, .. } = found.verdict else { return None };
        let smallest = smallest_difference(estimate.blocks, estimate.log_sd, &rule, 0.8);
        let names = ("new", "old");
        let text = sentence_near_limit(&Measure::MaxThroughput, names, &estimate, &found.verdict, smallest)?;
        Some((text, at_least, estimate.ratio))
    }

    #[test]
    fn a_small_difference_leads_with_its_low_end() {
        let blocks: Vec<(f64, f64)> = (0..7).map(|i| (101.8 + f64::from(i) * 0.3, 100.0)).collect();
        assert_eq!(found(&blocks), None, "it is far from the limit");
        let blocks: Vec<(f64, f64)> =
            [100.7, 101.0, 103.0, 104.4, 105.2, 105.6, 101.9].map(|a| (a, 100.0)).to_vec();
        let (text, ..) = found(&blocks).expect("a difference near the limit");
        assert!(text.starts_with("new has at least 1.010 × "), "{text}");
        assert!(text.contains(" × old's throughput in a closed loop (typically 1.03"), "{text}");
        assert!(text.ends_with("7 blocks; near the limit of detection)"), "{text}");
        let turned: Vec<(f64, f64)> = blocks.iter().map(|&(a, b)| (b, a)).collect();
        assert!(found(&turned).expect("a difference").0.starts_with("old has at least 1.01"));
    }

    /// Quick runs of servers that differ by 1 %, whose blocks scatter by 2 %.
    #[test]
    fn what_is_stated_of_a_true_percent_is_no_exaggeration() {
        let rng = &mut Pcg64Mcg::seed_from_u64(6);
        let noise = Normal::new(0.01_f64.ln_1p(), 0.02).expect("a distribution");
        let run = |rng: &mut Pcg64Mcg| (0..7).map(|_| (noise.sample(rng).exp(), 1.0)).collect::<Vec<_>>();
        let stated: Vec<(f64, f64)> = (0..4000)
            .filter_map(|_| found(&run(rng)))
            .filter(|(.., ratio)| *ratio > 1.0)
            .map(|(_, at_least, ratio)| (at_least, ratio - 1.0))
            .collect();
        assert!(stated.len() > 100, "{}", stated.len());
        let mean = |of: fn(&(f64, f64)) -> f64| stated.iter().map(of).sum::<f64>() / stated.len() as f64;
        assert!(mean(|stated| stated.0) <= 0.0115, "{}", mean(|stated| stated.0));
        assert!(mean(|stated| stated.1) > 0.015, "the ratio exaggerates: {}", mean(|stated| stated.1));
    }
}
