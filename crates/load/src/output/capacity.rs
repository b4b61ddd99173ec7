//! The JSON of `showdown load --find-capacity … --format json`, described in `docs/FORMATS.md`.

use serde::Serialize;

use super::LoadOutput;
use crate::capacity::{Capacity, CapacityBound, CapacityStep, Soak};
use crate::inputs::slo::Slo;

/// A search for the capacity.
#[derive(Debug, Serialize)]
pub struct CapacityOutput<'a> {
    slo: String,
    capacity_per_s: Option<f64>,
    /// `lower` or `upper` if the capacity is only a bound.
    bound: Option<&'static str>,
    interval_per_s: Option<IntervalOutput>,
    valid: bool,
    reasons: &'a [String],
    method: &'a str,
    closed_loop_per_s: f64,
    soak: Option<SoakOutput>,
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

/// A load at the capacity, without a break.
#[derive(Debug, Serialize)]
struct SoakOutput {
    rate_per_s: f64,
    seconds: f64,
    soaks: u32,
    burn_rate: Option<f64>,
    late_share: Option<f64>,
    is_sustained: bool,
}

#[derive(Debug, Serialize)]
struct StepOutput<'a> {
    rate_per_s: f64,
    slices: u32,
    slices_client_limited: u32,
    /// What was spent of the objective's budget, as a multiple of it.
    burn_rate: Option<f64>,
    /// Share of the operations that were late or failed.
    late_share: Option<f64>,
    meets_slo: bool,
    summary: LoadOutput<'a>,
}

impl<'a> From<&'a Capacity> for CapacityOutput<'a> {
    fn from(capacity: &'a Capacity) -> Self {
        Self {
            slo: capacity.slo.to_string(),
            capacity_per_s: capacity.capacity_per_s,
            bound: capacity.bound.map(|bound| match bound {
                CapacityBound::Lower => "lower",
                CapacityBound::Upper => "upper",
            }),
            interval_per_s: capacity.interval.map(|i| IntervalOutput { low: i.low, high: i.high }),
            valid: capacity.valid,
            reasons: &capacity.reasons,
            method: &capacity.method,
            closed_loop_per_s: capacity.closed_loop_per_s,
            soak: capacity.soak.as_ref().map(|soak| SoakOutput::of(&capacity.slo, soak)),
            other_measurement: None,
            curve: capacity.curve.iter().map(|step| StepOutput::of(&capacity.slo, step)).collect(),
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

impl SoakOutput {
    fn of(slo: &Slo, soak: &Soak) -> Self {
        Self {
            rate_per_s: soak.rate_per_s,
            seconds: soak.own_time.as_secs_f64(),
            soaks: soak.soaks,
            burn_rate: soak.spent.burn_rate(),
            late_share: soak.spent.late_share(slo),
            is_sustained: soak.is_sustained(),
        }
    }
}

impl<'a> StepOutput<'a> {
    fn of(slo: &Slo, step: &'a CapacityStep) -> Self {
        let burn_rate = step.spent.burn_rate();
        Self {
            burn_rate,
            late_share: step.spent.late_share(slo),
            rate_per_s: step.rate_per_s,
            slices: step.slices,
            slices_client_limited: step.client_limited,
            meets_slo: burn_rate.is_some_and(|burn| burn <= 1.0),
            summary: LoadOutput::of(&step.summary, &step.spans),
        }
    }
}
