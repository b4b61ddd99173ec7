//! Chooses the next operation of a mix.

use rand::Rng;
use rand::distr::{Distribution, weighted::WeightedIndex};

use super::error::OperationError;
use crate::driver::OperationId;

/// Each has histograms of its own in every interval, about 0.32 MiB for one worker: 345 MiB for all of these.
const MOST_OPERATIONS: usize = 1_000;

#[inline]
fn id(place: usize) -> OperationId {
    OperationId::try_from(place).expect("a mix of as many operations as there are ids")
}

/// Draws operation ids in proportion to their weights.
#[derive(Clone, Debug)]
pub(super) struct WeightedChoice {
    /// None where only one operation has a weight.
    weights: Option<WeightedIndex<f64>>,
    only: OperationId,
}

impl WeightedChoice {
    /// Weights by operation id: none is negative, at least one is positive.
    pub fn new(weights: &[f64]) -> Result<Self, OperationError> {
        let refused =
            |what: &str| OperationError(format!("{what}: give each operation a weight of 0 or more"));
        if weights.len() > MOST_OPERATIONS {
            return Err(OperationError(format!(
                "{} operations: a mix has at most {MOST_OPERATIONS}; read the values that differ from a file, such as path = '{{{{ lines(\"paths.txt\") }}}}'",
                weights.len()
            )));
        }
        if weights.is_empty() {
            return Err(OperationError("the mix is empty: give at least one operation".to_owned()));
        }
        let drawn =
            WeightedIndex::new(weights).map_err(|e| refused(&format!("the weights of the mix: {e}")))?;
        let live: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let only = id(live[0]);
        Ok(Self { weights: (live.len() > 1).then_some(drawn), only })
    }

    /// Draws the next operation.
    #[inline]
    pub fn draw(&self, rng: &mut impl Rng) -> OperationId {
        self.weights.as_ref().map_or(self.only, |weights| id(weights.sample(rng)))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn operations_are_drawn_in_proportion_to_their_weights() {
        let choice = WeightedChoice::new(&[9.0, 0.0, 1.0]).expect("weights");
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let mut counts = [0; 3];
        (0..10_000).for_each(|_| counts[choice.draw(&mut rng) as usize] += 1);
        assert!(counts[1] == 0 && (8_800..9_200).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn a_mix_has_no_more_operations_than_memory_for_their_histograms() {
        let weights = |count| vec![1.0; count];
        assert!(WeightedChoice::new(&weights(MOST_OPERATIONS)).is_ok());
        let mut last = weights(MOST_OPERATIONS);
        last[..MOST_OPERATIONS - 1].fill(0.0);
        let choice = WeightedChoice::new(&last).expect("weights");
        assert_eq!(choice.draw(&mut Pcg64Mcg::seed_from_u64(5)), 999);
        let error = WeightedChoice::new(&weights(MOST_OPERATIONS + 1)).expect_err("one too many").to_string();
        assert!(error.starts_with("1001 operations: a mix has at most 1000; read the values"), "{error}");
    }

    #[test]
    fn a_mix_needs_a_positive_weight() {
        for weights in [&[][..], &[0.0], &[-1.0, 2.0], &[f64::NAN]] {
            assert!(WeightedChoice::new(weights).is_err(), "{weights:?}");
        }
    }
}
