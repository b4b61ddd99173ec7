//! Results of the statistics as `trial.json` and `verdict.json` write them.
//!
//! The crate `stats` computes these values. The types here are the file format: a change in `stats` has no effect on
//! the files, because each conversion below names every field.

use serde::{Deserialize, Serialize};
use stats::{confidence, ratio, steady, usl, verdict};

/// A confidence interval, `low <= high`, in the unit of the value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl From<confidence::ConfidenceInterval> for ConfidenceInterval {
    fn from(interval: confidence::ConfidenceInterval) -> Self {
        Self { low: interval.low, high: interval.high }
    }
}

/// The ratio of variant `a` to variant `b` with its confidence interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimate {
    /// `a` over `b`: 1.62 means that `a` has 1.62 times the value of `b`.
    pub ratio: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Number of complete blocks.
    pub blocks: u32,
    /// Confidence level as a probability, such as 0.95. With several comparisons it is corrected upwards.
    pub confidence: f64,
    /// How the interval was computed.
    pub method: IntervalMethod,
    /// Standard deviation of the blocks' log ratios.
    pub log_sd: f64,
}

impl RatioEstimate {
    /// The ratio with its interval: `1.620 × (1.580–1.660)`.
    pub fn label(&self) -> String {
        format!("{:.3} × ({:.3}–{:.3})", self.ratio, self.low, self.high)
    }
}

impl From<ratio::RatioEstimate> for RatioEstimate {
    fn from(estimate: ratio::RatioEstimate) -> Self {
        let ratio::RatioEstimate { ratio, low, high, blocks, confidence, method, log_sd } = estimate;
        Self {
            ratio,
            low,
            high,
            blocks: blocks as u32,
            confidence: confidence.level(),
            method: method.into(),
            log_sd,
        }
    }
}

/// How a confidence interval was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Mean log ratio with Student's t interval; assumes a normal distribution.
    StudentT,
    /// Hodges–Lehmann estimate with the Wilcoxon signed-rank interval; assumes a symmetric distribution.
    SignedRank,
}

impl From<ratio::IntervalMethod> for IntervalMethod {
    fn from(method: ratio::IntervalMethod) -> Self {
        match method {
            ratio::IntervalMethod::StudentT => Self::StudentT,
            ratio::IntervalMethod::SignedRank => Self::SignedRank,
        }
    }
}

/// The result of a comparison of two variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// One variant has the larger value. The metric determines whether that is better.
    Difference {
        /// The variant with the larger value.
        higher: ComparisonSide,
        /// The smallest relative difference in the interval: 0.55 for "at least 1.55 times the other".
        at_least: f64,
    },
    /// The comparison shows no difference and excludes a large one.
    NoDifferenceShown {
        /// The largest relative difference in the interval, such as 0.021.
        within: f64,
    },
    /// The comparison has no result.
    Inconclusive {
        /// The reason.
        reason: InconclusiveReason,
    },
}

impl ComparisonVerdict {
    /// Whether the comparison has no result.
    pub fn is_inconclusive(&self) -> bool {
        matches!(self, Self::Inconclusive { .. })
    }
}

impl From<verdict::RatioVerdict> for ComparisonVerdict {
    fn from(verdict: verdict::RatioVerdict) -> Self {
        match verdict {
            verdict::RatioVerdict::Difference { higher, at_least } => {
                Self::Difference { higher: higher.into(), at_least }
            }
            verdict::RatioVerdict::NoDifferenceShown { within } => Self::NoDifferenceShown { within },
            verdict::RatioVerdict::Inconclusive { why } => Self::Inconclusive { reason: why.into() },
        }
    }
}

/// One of the two variants of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonSide {
    /// The numerator of the ratio.
    A,
    /// The denominator of the ratio.
    B,
}

impl From<verdict::Side> for ComparisonSide {
    fn from(side: verdict::Side) -> Self {
        match side {
            verdict::Side::A => Self::A,
            verdict::Side::B => Self::B,
        }
    }
}

/// Why a comparison has no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InconclusiveReason {
    /// The interval shows no difference, but it is too wide to exclude a large one.
    TooWide {
        /// The largest relative difference in the interval.
        within: f64,
        /// The relative difference that a useful comparison excludes.
        useful: f64,
    },
    /// Too few blocks have a valid trial of both variants.
    TooFewBlocks {
        /// Complete blocks.
        blocks: u32,
        /// Blocks needed.
        needed: u32,
    },
    /// A value is zero, negative or not finite, so that there is no ratio.
    NotPositive {
        /// The block, counted from 0.
        block: u32,
        /// The value of `a` as text, because JSON has no NaN.
        a: String,
        /// The value of `b` as text.
        b: String,
    },
    /// The trials of which the client was the limit leave it open.
    ClientLimited {
        /// The variants for which it was.
        variants: Vec<String>,
    },
    /// The starts in which a server failed leave it open.
    ServerFailed {
        /// The variants whose servers failed.
        variants: Vec<String>,
    },
    /// Other programs and the hypervisor took more from one side than from the other.
    UnequalDisturbance {
        /// Mean share of the CPUs that they took in trials of `a`, 0 to 1.
        a_share: f64,
        /// The same in trials of `b`.
        b_share: f64,
    },
    /// The run was interrupted before it may look at its verdict.
    NoVerdictYet {
        /// Complete blocks.
        blocks: u32,
        /// After how many the run looks at it.
        needed: u32,
    },
}

impl From<verdict::InconclusiveReason> for InconclusiveReason {
    fn from(reason: verdict::InconclusiveReason) -> Self {
        use ratio::RatioError;
        match reason {
            verdict::InconclusiveReason::TooWide { within, useful } => Self::TooWide { within, useful },
            verdict::InconclusiveReason::NoRatio(RatioError::TooFewBlocks { blocks, needed }) => {
                Self::TooFewBlocks { blocks: blocks as u32, needed: needed as u32 }
            }
            verdict::InconclusiveReason::NoRatio(RatioError::NotPositive { block, a, b }) => {
                Self::NotPositive { block: block as u32, a, b }
            }
        }
    }
}

/// A fit of the universal scalability law, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Scalability {
    /// The law describes the points.
    Fitted(ScalabilityFit),
    /// The law does not describe the points, or the points do not determine it.
    Refused {
        /// The reason.
        reason: NoFitReason,
    },
}

impl From<usl::Scalability> for Scalability {
    fn from(scalability: usl::Scalability) -> Self {
        match scalability {
            usl::Scalability::Fitted(fit) => Self::Fitted(fit.into()),
            usl::Scalability::Refused { reason } => Self::Refused { reason: reason.into() },
        }
    }
}

/// The universal scalability law with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalabilityFit {
    /// γ: throughput at a load of one.
    pub gamma: f64,
    /// α: contention, 0 for none.
    pub alpha: f64,
    /// β: coherency, 0 for none.
    pub beta: f64,
    /// The load with the highest throughput, at least 1.
    pub peak_load: f64,
    /// The throughput at that load, in the unit of the points.
    pub peak_throughput: f64,
    /// Root mean square of the points' relative distance from the curve.
    pub relative_error: f64,
    /// The largest load measured.
    pub largest_load: f64,
}

impl From<usl::UslFit> for ScalabilityFit {
    fn from(fit: usl::UslFit) -> Self {
        let usl::UslFit { gamma, alpha, beta, peak_load, peak_throughput, relative_error, largest_load } =
            fit;
        Self { gamma, alpha, beta, peak_load, peak_throughput, relative_error, largest_load }
    }
}

/// Why the universal scalability law is not fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoFitReason {
    /// A load or throughput is not a positive number.
    NotPositive {
        /// Its index among the points, from 0.
        index: u32,
    },
    /// There are too few different loads.
    TooFewLoads {
        /// Different loads measured.
        loads: u32,
        /// Loads needed.
        needed: u32,
    },
    /// Throughput grows in a straight line, within the scatter of the points.
    NoCurvature {
        /// Loss against a straight line at the largest load: 0.03 for 3 %.
        loss: f64,
    },
    /// The points are too far from the best curve.
    PoorFit {
        /// Root mean square of the relative distances.
        relative_error: f64,
    },
    /// Throughput levels off: contention without coherency has no peak.
    NoPeak {
        /// The throughput that the curve approaches, γ/α.
        ceiling: f64,
    },
    /// The peak is beyond twice the largest load.
    PeakBeyondRange {
        /// The load of the peak.
        peak_load: f64,
        /// The largest load measured.
        largest_load: f64,
    },
}

impl From<usl::NoFitReason> for NoFitReason {
    fn from(reason: usl::NoFitReason) -> Self {
        use usl::NoFitReason as Reason;
        match reason {
            Reason::NotPositive { index } => Self::NotPositive { index: index as u32 },
            Reason::TooFewLoads { loads, needed } => {
                Self::TooFewLoads { loads: loads as u32, needed: needed as u32 }
            }
            Reason::NoCurvature { loss } => Self::NoCurvature { loss },
            Reason::PoorFit { relative_error } => Self::PoorFit { relative_error },
            Reason::NoPeak { ceiling } => Self::NoPeak { ceiling },
            Reason::PeakBeyondRange { peak_load, largest_load } => {
                Self::PeakBeyondRange { peak_load, largest_load }
            }
        }
    }
}

/// Whether a series reached a steady state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SteadyState {
    /// It did.
    Steady {
        /// Observations discarded as warm-up.
        discard: u32,
        /// Mean of the rest.
        mean: f64,
        /// Number of independent observations that the rest is worth.
        effective_observations: f64,
    },
    /// It did not: the trial is invalid.
    NotSteady {
        /// The reason.
        reason: UnsteadyReason,
    },
}

impl From<steady::SteadyState> for SteadyState {
    fn from(state: steady::SteadyState) -> Self {
        match state {
            steady::SteadyState::Steady { discard, mean, effective_observations } => {
                Self::Steady { discard: discard as u32, mean, effective_observations }
            }
            steady::SteadyState::NotSteady { reason } => Self::NotSteady { reason: reason.into() },
        }
    }
}

/// Why a series is not steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum UnsteadyReason {
    /// The series is too short.
    TooShort {
        /// Observations at hand.
        observations: u32,
        /// Observations needed.
        needed: u32,
    },
    /// An observation is NaN or infinite, such as the p99 of an interval without a reply.
    NotFinite {
        /// Its index, from 0.
        index: u32,
    },
    /// Every observation after the warm-up is zero.
    Silent,
    /// The series drifts by more than the tolerance.
    Drifting {
        /// Change from one end of the measured part to the other, relative to its mean; negative when it falls.
        relative: f64,
    },
    /// The series jumps to another level.
    Step {
        /// The first observation at the new level, counted from 0.
        at: u32,
        /// The jump relative to the mean; negative when it falls.
        relative: f64,
    },
    /// The series alternates between levels for long times, so that its mean is uncertain.
    Wandering {
        /// Number of independent observations that the series is worth.
        effective_observations: f64,
        /// Standard error of the mean, relative to the mean.
        standard_error: f64,
    },
}

impl From<steady::UnsteadyReason> for UnsteadyReason {
    fn from(reason: steady::UnsteadyReason) -> Self {
        use steady::UnsteadyReason as Reason;
        match reason {
            Reason::TooShort { observations, needed } => {
                Self::TooShort { observations: observations as u32, needed: needed as u32 }
            }
            Reason::NotFinite { index } => Self::NotFinite { index: index as u32 },
            Reason::Silent => Self::Silent,
            Reason::Drifting { relative } => Self::Drifting { relative },
            Reason::Step { at, relative } => Self::Step { at: at as u32, relative },
            Reason::Wandering { effective_observations, standard_error } => {
                Self::Wandering { effective_observations, standard_error }
            }
        }
    }
}

#[cfg(test)]
mod tests;
