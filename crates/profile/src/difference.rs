//! What costs B more CPU time an operation than A, function by function, from several profiles of each.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::frames::FrameCosts;
use crate::stacks::Frame;

/// On which sides a function was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// On both.
    Both,
    /// In A only: removed.
    OnlyA,
    /// In B only: new.
    OnlyB,
}

/// A difference B − A of µs of CPU time an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CostDifference {
    /// Mean of A's profiles, µs an operation.
    pub a_us: f64,
    /// Mean of B's profiles, µs an operation.
    pub b_us: f64,
    /// Lower bound of B − A at 95 %, µs an operation.
    pub low_us: f64,
    /// Upper bound of B − A at 95 %, µs an operation.
    pub high_us: f64,
    /// The p-value after the correction for the number of functions; None if there were too few samples to test.
    pub adjusted_p: Option<f64>,
    /// Whether it is a difference, at the rate of false discoveries of 5 %.
    pub is_significant: bool,
}

impl CostDifference {
    /// B − A, µs an operation.
    pub fn us(&self) -> f64 {
        self.b_us - self.a_us
    }
}

/// A function's difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameDifference {
    /// The function.
    pub frame: Frame,
    /// On which sides it was seen.
    pub presence: Presence,
    /// In the function itself.
    pub own: CostDifference,
    /// In the function and in those that it calls.
    pub total: CostDifference,
}

/// The difference of two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileDifference {
    /// Each function of either side, the largest difference of its own first.
    pub frames: Vec<FrameDifference>,
    /// Of measured CPU time: the sum of the functions' own differences and of `rest`.
    pub cpu: CostDifference,
    /// Of measured CPU time that is in no sample.
    pub rest: CostDifference,
}

/// Why there is no difference.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DifferenceError {
    /// A side has fewer than two profiles.
    #[error("a difference needs at least 2 profiles a side, and there are {a} and {b}")]
    TooFew {
        /// A's profiles.
        a: usize,
        /// B's profiles.
        b: usize,
    },
}

/// The difference of B's profiles and A's.
pub fn difference(a: &[FrameCosts], b: &[FrameCosts]) -> Result<ProfileDifference, DifferenceError> {
    Err(DifferenceError::TooFew { a: a.len(), b: b.len() })
}
