//! The capacity of a server that is already running: `showdown load --find-capacity`.

use std::time::Duration;

use super::evaluate::{StepEvaluation, evaluate};
use super::procedure::{CLIENT_WAS_THE_LIMIT, CapacityResult, NoCapacity, StepPurpose, run_procedure};
use super::search::{PRECISION, StepOutcome};
use crate::engine::{self, LoadEvent, LoadOutcome, RunContext, RunError};
use crate::inputs::slo::Slo;
use crate::spans::Spans;
use crate::spec::{Arrivals, LoadSpec, Shape};
use crate::summary::Summary;

/// Length of the closed loop whose throughput is the first guess.
const CLOSED_LOOP: Duration = Duration::from_secs(2);

/// One rate that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityStep {
    /// Operations a second of the open loop.
    pub rate_per_s: f64,
    /// Whether it met the objective.
    pub evaluation: StepEvaluation,
    /// Its numbers.
    pub summary: Summary,
    /// Its run over time.
    pub spans: Spans,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The objective.
    pub slo: Slo,
    /// Highest rate that met it and was confirmed, operations a second; none if no rate did. If the search was
    /// interrupted: the highest that met it so far.
    pub capacity_per_s: Option<f64>,
    /// Whether it is valid. It is not if the client was the limit, the rate was not confirmed, or the search was
    /// interrupted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// How it was searched, in a sentence.
    pub method: String,
    /// Throughput of a closed loop of the same connections before, operations a second.
    pub closed_loop_per_s: f64,
    /// Every rate tried, from the lowest to the highest: the curve of response time over rate.
    pub curve: Vec<CapacityStep>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Nothing succeeded in the closed loop.
    #[error("no capacity to search: in a closed loop no operation succeeded ({0})")]
    NothingSucceeds(String),
}

/// What happens during a search.
#[derive(Debug)]
pub enum CapacityEvent<'a> {
    /// A run at this rate begins; none for the closed loop at the start.
    Try(Option<f64>),
    /// Something happened in it.
    Run(LoadEvent<'a>),
    /// It has ended.
    StepEnded(&'a CapacityStep),
}

/// Searches. The rates are the procedure's. Each step takes its length and warm-up from `spec`, each open loop its
/// arrivals.
pub fn find(
    spec: &LoadSpec,
    slo: &Slo,
    context: &RunContext,
    observe: &mut (dyn FnMut(CapacityEvent<'_>) + Send),
) -> Result<Capacity, CapacityError> {
    let arrivals = match spec.part.shape {
        Shape::Open { arrivals, .. } => arrivals,
        Shape::Closed { .. } => Arrivals::default(),
    };
    observe(CapacityEvent::Try(None));
    let closed = spec.clone().with_shape(Shape::closed()).with_duration(CLOSED_LOOP);
    let closed = Summary::of(&run(&closed, context, observe)?.ok_or(RunError::Interrupted)?);
    if closed.requests == 0 {
        let why = closed.error_examples.into_values().next().unwrap_or_default();
        return Err(CapacityError::NothingSucceeds(why));
    }
    let mut curve = Vec::new();
    let run_step = |_: StepPurpose, rate_per_s: f64| -> Result<Option<StepOutcome>, RunError> {
        observe(CapacityEvent::Try(Some(rate_per_s)));
        let open = spec.clone().with_shape(Shape::open(rate_per_s, arrivals));
        let Some(outcome) = run(&open, context, observe)? else { return Ok(None) };
        let summary = Summary::of(&outcome);
        let evaluation = evaluate(slo, &outcome, &summary);
        let step = CapacityStep { rate_per_s, evaluation, summary, spans: Spans::of(&outcome) };
        observe(CapacityEvent::StepEnded(&step));
        let outcome = step.evaluation.outcome();
        curve.push(step);
        Ok(Some(outcome))
    };
    let result = run_procedure(closed.throughput_per_s, run_step)?;
    curve.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let reasons = reasons(&result, slo);
    Ok(Capacity {
        slo: slo.clone(),
        capacity_per_s: match result.capacity_per_s {
            Ok(capacity) => Some(capacity),
            Err(NoCapacity::Interrupted(best)) => best,
            Err(NoCapacity::NoRateMeets | NoCapacity::NotConfirmed { .. }) => None,
        },
        valid: reasons.is_empty(),
        reasons,
        method: format!(
            "a closed loop gave the first guess; open loops ({arrivals} arrivals), each of {} after a warm-up of {}, bracketed and bisected the capacity to within {:.0} %; a further one confirmed it",
            humantime::format_duration(spec.part.duration.unwrap_or_default()),
            humantime::format_duration(spec.part.warmup),
            (PRECISION - 1.0) * 100.0,
        ),
        closed_loop_per_s: closed.throughput_per_s,
        curve,
    })
}

/// Why a result is not valid. That no rate meets the objective is a valid answer.
fn reasons(result: &CapacityResult, slo: &Slo) -> Vec<String> {
    let mut reasons = Vec::new();
    match result.capacity_per_s {
        Ok(_) if result.interrupted => reasons.push(NoCapacity::Interrupted(None).reason(slo)),
        Ok(_) | Err(NoCapacity::NoRateMeets) => {}
        Err(no_capacity) => reasons.push(no_capacity.reason(slo)),
    }
    if result.is_client_limited {
        reasons.push(CLIENT_WAS_THE_LIMIT.to_owned());
    }
    reasons
}

/// One run; none if it was interrupted.
fn run(
    spec: &LoadSpec,
    context: &RunContext,
    observe: &mut (dyn FnMut(CapacityEvent<'_>) + Send),
) -> Result<Option<LoadOutcome>, RunError> {
    match engine::run(spec, context, &mut |event| observe(CapacityEvent::Run(event))) {
        Ok(outcome) => Ok(Some(outcome).filter(|outcome| !outcome.interrupted)),
        Err(RunError::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
