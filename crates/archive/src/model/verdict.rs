//! `verdict.json`: the results of a run, computed from valid trials only. A run without it is unfinished.

use super::{
    Caveat, ComparisonVerdict, ConfidenceInterval, Difference, MethodError, NeighbourEffect, OddStarts,
    PhaseKind, QuantileCurve, RatioDrift, RatioEstimate, RatioOfMeans, Refusal, Scalability, SpentBudget,
    SweepPoint, Trial, UserWalk,
};
use serde::{Deserialize, Serialize};
use stats::describe::Sample;
use std::collections::BTreeMap;

/// The content of `verdict.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which the verdict was reached, milliseconds.
    pub reached_unix_ms: u64,
    /// The answer in one sentence.
    pub sentence: String,
    /// The machine of the servers and the day, such as `on 1 CPU of an AMD EPYC 7B13, 28 November`. `None` where the facts do not
    /// name the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The metric, such as `capacity at p99 < 5 ms`.
    pub metric: String,
    /// Its unit, such as `/s`.
    pub unit: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// The measure that was replaced, and why, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Whether every planned block is included; false for a run that was stopped early.
    pub complete: bool,
    /// The complete blocks at the look that ended the run before its last block; `None` where no look did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_after_blocks: Option<u32>,
    /// Whether trials are left to run, because the run was interrupted or a variant could not be measured. `None` in a
    /// run of an older version, which has them where it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<bool>,
    /// Pairs of variants, in a sweep at each point.
    pub comparisons: Vec<Comparison>,
    /// The variants in the order of the plan, in a sweep once for each point.
    pub variants: Vec<VariantSummary>,
    /// The value along each numeric axis; empty in a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<SweepCurve>,
    /// Differences between the variants.
    #[serde(default)]
    pub fairness: Vec<Difference>,
    /// Known sources of error that apply to this run.
    #[serde(default)]
    pub caveats: Vec<Caveat>,
    /// Errors of the method that have a measured bound and apply to this run. They are in no interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<MethodError>,
    /// What makes trials of this run invalid, and why; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Refusal>,
}

/// Two variants and the verdict on their ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The numerator of the ratio.
    pub a: String,
    /// The denominator of the ratio.
    pub b: String,
    /// The point on the axes of a sweep; empty in a comparison.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub point: SweepPoint,
    /// The typical ratio with its interval: the Hodges–Lehmann pseudo-median of the blocks' log ratios; `None` where there is none.
    pub estimate: Option<RatioEstimate>,
    /// The ratio of the means; `None` where there is none, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<RatioOfMeans>,
    /// Starts that were far from the others of their variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd_starts: Vec<OddStarts>,
    /// How the ratio changes within blocks; `None` where it is not measured round by round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<RatioDrift>,
    /// A difference, no difference shown, or inconclusive with the reason.
    pub verdict: ComparisonVerdict,
    /// The smallest relative difference that this number of blocks finds in 4 of 5 runs, such as 0.03.
    pub smallest_difference: Option<f64>,
    /// The verdict in a sentence.
    pub sentence: String,
}

impl Verdict {
    /// Whether trials are left to run.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.unwrap_or(!self.complete)
    }
}

/// The trials of one variant, in a sweep at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// Its name in the plan.
    pub name: String,
    /// The point on the axes of a sweep; empty in a comparison.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub point: SweepPoint,
    /// The value of each trial in the order in which they ran, including invalid ones.
    pub values: Vec<TrialValue>,
    /// Median of the valid values; `None` without one.
    pub median: Option<f64>,
    /// Confidence interval of the median; `None` where there are too few values.
    pub interval: Option<ConfidenceInterval>,
    /// Number of valid trials.
    pub valid: u32,
    /// Number of trials that do not count.
    pub invalid: u32,
    /// How many of these are starts in which the server itself failed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub failed_starts: u32,
    /// The modes of the distribution of valid values, ascending, where there are two or more; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// Counters of the driver per second, over the measurements of the valid trials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters_per_s: BTreeMap<String, f64>,
    /// CPU time an operation in user mode and in the kernel, where that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time_us: Option<CpuTimeModes>,
    /// What each part of a server of several processes used in the valid trials, in the order of their start; empty for any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartSummary>,
    /// Users whose operations take one second of CPU time a second, by the CPU time an operation; of loads of users only. Other limits of
    /// a server may come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users_per_core: Option<f64>,
    /// The walk and the pacing of the users in the valid trials, where the load has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UserWalk>,
    /// How much the copies of the server disturb each other, where that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourEffect>,
    /// Response time over the measurements of the valid trials, from merged histograms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_time_curve_us: QuantileCurve,
    /// From this response time on, the curve is a lower bound: the least time after which an operation of these measurements was given up.
    /// `None` where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
}

impl VariantSummary {
    /// The median of the values that do not count, where no value counts. It is shown as not valid, and is in no ratio.
    pub fn invalid_median(&self) -> Option<f64> {
        if self.median.is_some() {
            return None;
        }
        let values: Vec<f64> = self.values.iter().map(|value| value.value).collect();
        Sample::new(&values).ok().as_ref().map(Sample::median)
    }
}

/// What all operations at about the capacity of a server were like, over its valid trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtCapacity {
    /// 99th percentile of response time, microseconds.
    pub p99_us: Option<u64>,
    /// Share of the operations that were late or failed, 0 to 1.
    pub late_share: f64,
}

impl VariantSummary {
    /// What operations at the capacity were like, from the trials of the run. `None` where no capacity with a percentile was measured.
    pub fn at_capacity<'t>(&self, trials: impl IntoIterator<Item = &'t Trial>) -> Option<AtCapacity> {
        let own = trials.into_iter().filter(|trial| trial.variant == self.name && trial.point == self.point);
        let valid = own.filter(|trial| trial.valid_value().is_some());
        let measured = valid.flat_map(|trial| &trial.phases).filter(|phase| phase.kind == PhaseKind::Measure);
        let late_share = SpentBudget::pooled_late_share(measured.filter_map(|phase| phase.spent.as_ref()))?;
        let at_p99 = self.response_time_curve_us.iter().find(|(share, _)| *share >= 0.99);
        Some(AtCapacity { p99_us: at_p99.map(|(_, us)| *us), late_share })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// CPU time an operation by mode, microseconds: the median of the valid trials, divided as the clock ticks of all of them are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuTimeModes {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// What a part of a server used: its database, its cache, its own process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartSummary {
    /// The part.
    pub part: String,
    /// Its share of the CPU time of the server, 0 to 1, over all valid trials.
    pub cpu_share: f64,
    /// Its CPU time for an operation of the server, microseconds, where that is measured. All parts add up to `cpu_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<f64>,
    /// CPU seconds a second: the median of the valid trials.
    pub cores: f64,
    /// Peak resident memory, bytes: the largest of the valid trials.
    pub peak_rss_bytes: u64,
}

/// The value of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialValue {
    /// Number of the trial.
    pub trial: u32,
    /// Its value.
    pub value: f64,
    /// Whether it counts.
    pub valid: bool,
}

/// A mode: a level around which several trials of a variant lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Its centre.
    pub centre: f64,
    /// The trials that belong to it.
    pub trials: Vec<u32>,
}

/// The value of a variant along one axis, with the other axes fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepCurve {
    /// The variant.
    pub variant: String,
    /// Name of the axis.
    pub axis: String,
    /// The values of the other axes.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub fixed: SweepPoint,
    /// The points, ascending.
    pub points: Vec<CurvePoint>,
    /// The universal scalability law through the points, or why it was refused. `None` where the axis does not
    /// count workers or connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usl: Option<Scalability>,
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The position on the axis.
    pub at: f64,
    /// Median of the valid values.
    pub median: f64,
    /// Smallest valid value.
    pub min: f64,
    /// Largest valid value.
    pub max: f64,
}
