//! `verdict.json`: what may be said, from valid trials only. A run without it is unfinished.

use super::{Caveat, Difference, QuantileCurve, SweepPoint};
use serde::{Deserialize, Serialize};
use stats::{confidence::ConfidenceInterval, ratio::RatioEstimate, usl::Scalability};
use std::collections::BTreeMap;

/// The whole of `verdict.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which it was reached, milliseconds.
    pub reached_unix_ms: u64,
    /// The answer in one sentence.
    pub sentence: String,
    /// What was measured, such as `capacity at p99<5ms`.
    pub measure: String,
    /// Its unit, such as `/s`.
    pub unit: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Whether it rests on every block that was planned; a run that was stopped early says so.
    pub complete: bool,
    /// Pairs of variants (and, in a sweep, points).
    pub comparisons: Vec<Comparison>,
    /// The variants in the plan's order, in a sweep once a point.
    pub variants: Vec<VariantSummary>,
    /// How the value moves along each numeric axis; empty in a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<SweepCurve>,
    /// In what the sides differ.
    #[serde(default)]
    pub fairness: Vec<Difference>,
    /// What can still mislead here.
    #[serde(default)]
    pub caveats: Vec<Caveat>,
}

/// Two variants and what may be said of their ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The variant that is the numerator.
    pub a: String,
    /// The variant that is the denominator.
    pub b: String,
    /// Where on the axes of a sweep; empty in a comparison.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub point: SweepPoint,
    /// The ratio, its interval and how it was made; `None` where there is none.
    pub estimate: Option<RatioEstimate>,
    /// Difference, no difference shown, or inconclusive and why.
    pub verdict: stats::verdict::RatioVerdict,
    /// The smallest relative difference that these blocks would have found in 4 of 5 runs, such as 0.03.
    pub smallest_difference: Option<f64>,
    /// The verdict in a sentence.
    pub sentence: String,
}

/// The trials of one variant, in a sweep at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// Its name in the plan.
    pub name: String,
    /// Where on the axes of a sweep; empty in a comparison.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub point: SweepPoint,
    /// Each trial's value in the order in which they ran, the invalid ones too.
    pub values: Vec<TrialValue>,
    /// Median of the valid values; `None` without one.
    pub median: Option<f64>,
    /// Confidence interval of the median; `None` where there are too few values.
    pub interval: Option<ConfidenceInterval>,
    /// How many trials count.
    pub valid: u32,
    /// How many do not.
    pub invalid: u32,
    /// The levels that the valid values gather at, ascending, where there are two or more; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// What the driver counted besides, a second, over the valid trials' measurements.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted_per_s: BTreeMap<String, f64>,
    /// Response time of the valid trials' measurements, their histograms merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_time_curve_us: QuantileCurve,
}

/// One trial's value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialValue {
    /// Number of the trial.
    pub trial: u32,
    /// Its value.
    pub value: f64,
    /// Whether it counts.
    pub valid: bool,
}

/// A level that several trials of a variant gather at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Centre of the level.
    pub centre: f64,
    /// The trials that lie at it.
    pub trials: Vec<u32>,
}

/// A variant's value along one axis, the others held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepCurve {
    /// The variant.
    pub variant: String,
    /// Name of the axis.
    pub axis: String,
    /// Where the other axes were held.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub fixed: SweepPoint,
    /// The points, ascending.
    pub points: Vec<CurvePoint>,
    /// The universal scalability law through them, or why it was refused; `None` where the axis is no count of
    /// workers or connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usl: Option<Scalability>,
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Where on the axis.
    pub at: f64,
    /// Median of the valid values.
    pub median: f64,
    /// Smallest valid value.
    pub least: f64,
    /// Largest valid value.
    pub most: f64,
}
