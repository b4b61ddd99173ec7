//! MSER-5: finds the end of the warm-up of a series.
//!
//! The cut is where the marginal standard error of the rest is least, computed on means of five observations.
//! Sources: K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69 (1997); White, Cobb & Spratt, "A comparison of five steady-state truncation heuristics for
//! simulation", WSC 2000. [`crate::series::steady`] checks whether the rest is steady.

use crate::sample::describe::mean;

/// Observations in a batch: the 5 of MSER-5.
pub(crate) const BATCH: usize = 5;

/// The cut of MSER-5.
pub(crate) struct WarmUpCut {
    /// Observations before the best cut of the first half.
    pub discard: usize,
    /// Whether the best cut of the whole series lies past its middle.
    pub past_middle: bool,
}

impl WarmUpCut {
    /// Finds the cut in at least ten batches of finite values.
    pub fn of(series: &[f64]) -> Self {
        let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
        let errors = squared_standard_errors(&batches);
        let best = |cuts: std::ops::RangeInclusive<usize>| {
            cuts.min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0)
        };
        let middle = batches.len() / 2;
        // The last five batches are no candidates: the standard error of so few may be near zero by chance.
        Self { discard: BATCH * best(0..=middle), past_middle: best(0..=batches.len() - 5) > middle }
    }
}

/// For each cut d, Σ (zᵢ − z̄)² / (k − d)² over the batches from d on: one pass from the end, by Welford's
/// recurrence.
fn squared_standard_errors(batches: &[f64]) -> Vec<f64> {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut errors: Vec<f64> = batches
        .iter()
        .rev()
        .map(|batch| {
            count += 1.0;
            let distance = batch - mean;
            mean += distance / count;
            squares += distance * (batch - mean);
            squares / (count * count)
        })
        .collect();
    errors.reverse();
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_cut_is_where_the_warm_up_ends() {
        let series: Vec<f64> =
            (0..100).map(|i| if i < 30 { 10.0 } else { 20.0 + f64::from(i % 2) }).collect();
        let cut = WarmUpCut::of(&series);
        assert_eq!((cut.discard, cut.past_middle), (30, false));
    }

    #[test]
    fn a_straight_line_pulls_the_cut_past_the_middle() {
        let series: Vec<f64> = (0..100).map(f64::from).collect();
        let cut = WarmUpCut::of(&series);
        assert_eq!((cut.discard, cut.past_middle), (50, true));
    }

    #[test]
    fn a_constant_series_has_no_warm_up() {
        assert_eq!(WarmUpCut::of(&[7.0; 60]).discard, 0);
    }

    proptest! {
        #[test]
        fn one_pass_from_the_end_agrees_with_the_definition(
            batches in prop::collection::vec(-1e3..1e3_f64, 10..40),
        ) {
            for (cut, error) in squared_standard_errors(&batches).into_iter().enumerate() {
                let rest = &batches[cut..];
                let defined = crate::sample::describe::sum_of_squares(rest) / (rest.len() as f64).powi(2);
                prop_assert!((error - defined).abs() <= 1e-6 * (1.0 + defined));
            }
        }
    }
}
