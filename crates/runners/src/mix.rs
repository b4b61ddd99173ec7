//! The operation mix: draws the next operation by the weights of a start command.

use rand::distr::{Distribution, weighted::WeightedIndex};
use rand_pcg::Pcg64Mcg;

use crate::BuiltinRunnerError;

/// The weights of the operations.
pub struct OperationMix {
    /// One weight for each operation of the runner; 0 for operations that are not in the mix.
    weights: WeightedIndex<f64>,
    operations: usize,
    /// The operation, if the mix has only one.
    only: Option<usize>,
}

impl OperationMix {
    /// Makes a mix from pairs of name and weight. `names` are the operations of the runner.
    pub fn new(mix: &[(String, f64)], names: &[String]) -> Result<Self, BuiltinRunnerError> {
        let mut weights = vec![0.0; names.len()];
        for (name, weight) in mix {
            let Some(at) = names.iter().position(|known| known == name) else {
                return Err(BuiltinRunnerError::UnknownOperation {
                    name: name.clone(),
                    known: names.join(", "),
                });
            };
            weights[at] += weight;
        }
        let used: Vec<usize> = (0..weights.len()).filter(|&at| weights[at] > 0.0).collect();
        Ok(Self {
            weights: WeightedIndex::new(&weights)?,
            operations: names.len(),
            only: (used.len() == 1).then(|| used[0]),
        })
    }

    /// The number of operations of the runner, in the mix or not.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Draws the next operation.
    pub fn draw(&self, rng: &mut Pcg64Mcg) -> usize {
        self.only.unwrap_or_else(|| self.weights.sample(rng))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn operations_are_drawn_by_their_weights() -> Result<(), BuiltinRunnerError> {
        let names = ["read".to_owned(), "update".to_owned()];
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mix = OperationMix::new(&[("read".to_owned(), 9.0), ("update".to_owned(), 1.0)], &names)?;
        let updates: usize = (0..10_000).map(|_| mix.draw(&mut rng)).sum();
        assert!((800..1_200).contains(&updates), "{updates}");
        let only = OperationMix::new(&[("update".to_owned(), 1.0)], &names)?;
        assert!((0..100).all(|_| only.draw(&mut rng) == 1));
        assert!(OperationMix::new(&[("scan".to_owned(), 1.0)], &names).is_err());
        Ok(())
    }
}
