//! The JSON of `showdown load --find-capacity … --format json`, described in `docs/FORMATS.md`.

use serde::Serialize;

use super::LoadOutput;
use crate::capacity::{Capacity, CapacityStep};

/// A search for the capacity.
#[derive(Debug, Serialize)]
pub struct CapacityOutput<'a> {
    slo: String,
    capacity_per_s: Option<f64>,
    interval_per_s: Option<IntervalOutput>,
    valid: bool,
    reasons: &'a [String],
    method: &'a str,
    closed_loop_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_measurement: Option<&'a str>,
    curve: Vec<StepOutput<'a>>,
}

/// A 95 % confidence interval.
#[derive(Debug, Serialize)]
struct IntervalOutput {
    low: f64,
    high: f64,
}

#[derive(Debug, Serialize)]
struct StepOutput<'a> {
    rate_per_s: f64,
    slices: u32,
    slices_missed: u32,
    slices_client_limited: u32,
    meets_slo: bool,
    client_reasons: &'a [String],
    summary: LoadOutput<'a>,
}

impl<'a> From<&'a Capacity> for CapacityOutput<'a> {
    fn from(capacity: &'a Capacity) -> Self {
        Self {
            slo: capacity.slo.to_string(),
            capacity_per_s: capacity.capacity_per_s,
            interval_per_s: capacity.interval.map(|i| IntervalOutput { low: i.low, high: i.high }),
            valid: capacity.valid,
            reasons: &capacity.reasons,
            method: &capacity.method,
            closed_loop_per_s: capacity.closed_loop_per_s,
            other_measurement: None,
            curve: capacity.curve.iter().map(StepOutput::from).collect(),
        }
    }
}

impl<'a> CapacityOutput<'a> {
    /// Adds that another program measured on this machine at the same time.
    #[must_use]
    pub fn with_other_measurement(self, other: Option<&'a str>) -> Self {
        Self { other_measurement: other, ..self }
    }
}

impl<'a> From<&'a CapacityStep> for StepOutput<'a> {
    fn from(step: &'a CapacityStep) -> Self {
        Self {
            rate_per_s: step.rate_per_s,
            slices: step.slices,
            slices_missed: step.missed,
            slices_client_limited: step.client_limited,
            meets_slo: step.evaluation.meets_slo,
            client_reasons: &step.evaluation.client_reasons,
            summary: LoadOutput::of(&step.summary, &step.spans),
        }
    }
}
