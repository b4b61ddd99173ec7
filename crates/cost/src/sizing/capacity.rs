//! What one server of a kind sustains within an objective: measured, never extrapolated.

use archive::model::{Measure, PhaseKind, Trial, TrialPhase};
use serde::Serialize;
use stats::describe::Sample;

use super::request::{Objective, ObjectiveMatch};
use crate::figure::{Figure, interval_of};
use crate::measured::{MeasuredRun, MeasuredVariant, Performance};

/// Where a capacity is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityBasis {
    /// The run measured the capacity at this objective.
    Measured,
    /// The run measured it at a stricter objective: what it sustains at this one is at least that.
    StricterObjective,
    /// The highest rate of each trial's curve at which the objective was met, and at all lower ones.
    Curve,
}

/// The capacity of one server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Capacity {
    pub figure: Figure,
    /// The lower bound of the figure: a fleet is sized by it.
    pub lower: f64,
    pub basis: CapacityBasis,
    /// The objective of the run.
    pub measured_objective: String,
}

/// The capacity of a variant at an objective, or why it was not measured.
pub(super) fn capacity(
    run: &MeasuredRun<'_>,
    variant: &MeasuredVariant<'_>,
    objective: &Objective<'_>,
) -> Result<Capacity, String> {
    let plan = run.run.plan.as_ref().ok_or_else(|| format!("the plan of {} cannot be read", run.id))?;
    let slo = match &plan.measure {
        Measure::Capacity { slo } => slo.as_str(),
        Measure::LatencyCurve { .. } => return of_curve(run, variant, objective, "none"),
        Measure::CpuTime { .. } => return Err(is_cpu_time(run, objective)),
        Measure::MaxThroughput
        | Measure::MaxBytes
        | Measure::OneByOne { .. }
        | Measure::UserCpuTime
        | Measure::UserLatency
        | Measure::BreakingPoint => {
            return Err(format!(
                "{} measured {} without an objective: compare with --slo '{}'",
                run.id, run.verdict.metric, objective.text
            ));
        }
    };
    let basis = match (objective.compare)(slo) {
        ObjectiveMatch::Same => CapacityBasis::Measured,
        ObjectiveMatch::MeasuredIsStricter => CapacityBasis::StricterObjective,
        ObjectiveMatch::Other => return of_curve(run, variant, objective, slo),
    };
    let figure = match &variant.performance {
        Performance::Rate { figure, .. } => *figure,
        // The first block replaced the capacity that was asked for.
        Performance::CpuTime { .. } => return Err(is_cpu_time(run, objective)),
        Performance::None { .. } => {
            return Err(format!(
                "no trial of {} in {} is valid: `showdown show {}` says why",
                variant.label(),
                run.id,
                run.id
            ));
        }
    };
    with_lower_bound(run, variant, figure, basis, slo)
}

/// A run measures CPU time because it was asked to, or because the client or other programs prevented what was asked.
fn is_cpu_time(run: &MeasuredRun<'_>, objective: &Objective<'_>) -> String {
    let replaced = run.run.plan.as_ref().and_then(|plan| plan.replaced.as_ref());
    let why = replaced.map(|replaced| format!(" (because {})", replaced.why)).unwrap_or_default();
    format!(
        "{} measured CPU time an operation{why}, which is no capacity: compare with --measure capacity --slo '{}', without other programs or from a client with more CPUs",
        run.id, objective.text
    )
}

/// The highest measured rate of each valid trial at which the objective was met, and at all lower rates of the trial.
fn of_curve(
    run: &MeasuredRun<'_>,
    variant: &MeasuredVariant<'_>,
    objective: &Objective<'_>,
    slo: &str,
) -> Result<Capacity, String> {
    let trials = run.run.trials.iter().map(|record| &record.trial);
    let own = trials.filter(|trial| {
        trial.variant == variant.summary.name
            && trial.point == variant.summary.point
            && trial.valid_value().is_some()
    });
    let rates: Option<Vec<f64>> = own.map(|trial| highest_rate(trial, objective.is_met)).collect();
    let not_measured = || {
        format!(
            "{} in {} was measured at the objective {slo}, and at no rate of its curve does it meet {} in every trial: compare with --slo '{}'",
            variant.label(),
            run.id,
            objective.text,
            objective.text
        )
    };
    let rates = rates.filter(|rates| !rates.is_empty()).ok_or_else(not_measured)?;
    let median = Sample::new(&rates).map_err(|_| not_measured())?.median();
    let figure = Figure::new(median, interval_of(&rates, None));
    with_lower_bound(run, variant, figure, CapacityBasis::Curve, slo)
}

fn highest_rate(trial: &Trial, is_met: &dyn Fn(&TrialPhase) -> bool) -> Option<f64> {
    let mut steps: Vec<&TrialPhase> =
        trial.phases.iter().filter(|phase| phase.kind == PhaseKind::CurveStep && phase.valid).collect();
    steps.sort_by(|a, b| f64::total_cmp(&rate(a), &rate(b)));
    steps.into_iter().take_while(|step| is_met(step)).last().map(rate)
}

fn rate(phase: &TrialPhase) -> f64 {
    phase.offered_per_s.unwrap_or(phase.throughput_per_s)
}

fn with_lower_bound(
    run: &MeasuredRun<'_>,
    variant: &MeasuredVariant<'_>,
    figure: Figure,
    basis: CapacityBasis,
    slo: &str,
) -> Result<Capacity, String> {
    let lower = figure.low.filter(|low| *low > 0.0).ok_or_else(|| {
        format!(
            "{} in {} has too few valid trials for a lower bound: three at least, six or more are better",
            variant.label(),
            run.id
        )
    })?;
    Ok(Capacity { figure, lower, basis, measured_objective: slo.to_owned() })
}
