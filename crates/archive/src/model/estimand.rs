//! What a comparison says beside its typical ratio: the ratio of means, starts that were far from the others, and whether the ratio
//! still moved while it was measured.

use serde::{Deserialize, Serialize};

/// The ratio of the means of both variants, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioOfMeans {
    /// The mean of `a` over the mean of `b`.
    pub ratio: f64,
    /// Lower bound of its interval, by Student's t of the linearised ratio.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// Confidence level as a probability, such as 0.95.
    pub confidence: f64,
}

impl From<stats::means::RatioOfMeans> for RatioOfMeans {
    fn from(found: stats::means::RatioOfMeans) -> Self {
        let stats::means::RatioOfMeans { ratio, interval, confidence } = found;
        Self { ratio, low: interval.low, high: interval.high, confidence: confidence.level() }
    }
}

/// Starts of a variant that were far from its other starts, all in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OddStarts {
    /// The variant.
    pub variant: String,
    /// The numbers of their trials.
    pub trials: Vec<u32>,
    /// Starts of the variant that the comparison uses.
    pub of: u32,
    /// Their median as a share of the median of all: 0.5 for half of it.
    pub factor: f64,
}

/// How a ratio changes within blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioDrift {
    /// Relative change of the ratio from the first round of a block to its last: 0.02 for a ratio that grows by 2 %.
    pub per_block: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// Blocks whose rounds are recorded.
    pub blocks: u32,
    /// Whether the ratio still moves for certain: the interval excludes 0, and the change is at least 1 %.
    pub is_shown: bool,
}

/// A way in which the method itself may be wrong about a ratio, and by how much at most, as `docs/BIAS.md` lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodError {
    /// Its name in the budget of `docs/BIAS.md`.
    pub source: String,
    /// The largest relative error of a ratio that was measured, such as 0.04.
    pub within: f64,
}
