//! Capacity under an objective: the highest rate of an open loop that meets it, and the curve of latency
//! over rate that was seen on the way.

mod search;

use std::time::Duration;

use serde::Serialize;

pub use search::{Next, PRECISION, Search, StepOutcome};

use crate::client_share::ServerTimes;
use crate::engine::{self, Event, Outcome, RunContext, RunError};
use crate::inputs::rate::RateProfile;
use crate::inputs::slo::{Quantity, Slo};
use crate::record::PackError;
use crate::spec::{Arrivals, LoadSpec, Shape};
use crate::summary::Summary;
use crate::validity::Reason;

/// The closed loop that gives a first idea of the capacity.
const SCOUTING: Duration = Duration::from_secs(2);
/// The first rate of the search, as a share of what the closed loop drew.
const FIRST_SHARE: f64 = 0.7;
/// Shares of the capacity that are measured for the curve when it has been found.
const CURVE_SHARES: [f64; 4] = [0.1, 0.25, 0.5, 0.75];

/// One rate that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityStep {
    /// Operations a second asked for.
    pub rate_per_s: f64,
    /// Did it meet the objective?
    pub meets_slo: bool,
    /// Why the client may have decided that it did not, one line each. The client's lateness is part of the
    /// response times, so it can only make a server look worse: an objective that was met was met.
    pub client_reasons: Vec<String>,
    /// Everything measured.
    pub summary: Summary,
}

impl CapacityStep {
    /// What the step tells a search. A client that was the limit says nothing of the server.
    pub fn outcome(&self) -> StepOutcome {
        match (self.meets_slo, self.client_reasons.is_empty()) {
            (true, _) => StepOutcome::Met,
            (false, true) => StepOutcome::Missed,
            (false, false) => StepOutcome::ClientLimited,
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// The objective.
    pub slo: Slo,
    /// Highest rate that met it, twice, operations a second; none if no rate did. The highest that met it so
    /// far, if the search was interrupted.
    pub capacity_per_s: Option<f64>,
    /// May it be believed? Not when the client was the limit, or the search was interrupted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// How it was searched, in a sentence.
    pub method: String,
    /// What a closed loop of the same connections drew before, operations a second.
    pub closed_loop_per_s: f64,
    /// Every rate tried, from the lowest to the highest: the curve of latency over rate.
    pub curve: Vec<CapacityStep>,
}

/// Why there is no capacity to tell.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An interval does not decode; a bug.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// Nothing succeeded in the first run.
    #[error("nothing to search: in a closed loop no operation succeeded ({0})")]
    NothingSucceeds(String),
}

/// What happens during a search, for whoever watches.
#[derive(Debug)]
pub enum CapacityEvent<'a> {
    /// A rate is about to be tried; none for the closed loop at the start.
    Try(Option<f64>),
    /// Something happened in its run.
    Run(Event<'a>),
    /// How it fared.
    StepOutcome(&'a CapacityStep),
}

/// Searches. `spec` gives everything but the rates: its duration and warm-up are those of each step, its
/// arrivals those of each open loop.
pub fn find(
    spec: &LoadSpec,
    slo: &Slo,
    context: &RunContext,
    observe: &mut (dyn FnMut(CapacityEvent<'_>) + Send),
) -> Result<Capacity, CapacityError> {
    let arrivals = match spec.shape {
        Shape::Open { arrivals, .. } => arrivals,
        Shape::Closed { .. } => Arrivals::default(),
    };
    observe(CapacityEvent::Try(None));
    let closed =
        LoadSpec { shape: Shape::Closed { think: Duration::ZERO }, duration: Some(SCOUTING), ..spec.clone() };
    let scouted = run(&closed, context, observe)?.ok_or(RunError::Interrupted)?;
    let scouted = Summary::of(&scouted)?;
    if scouted.requests == 0 {
        let why = scouted.error_examples.into_values().next().unwrap_or_default();
        return Err(CapacityError::NothingSucceeds(why));
    }
    let mut steps = Vec::new();
    let mut attempt = |rate: f64| -> Result<Option<StepOutcome>, CapacityError> {
        observe(CapacityEvent::Try(Some(rate)));
        let open =
            LoadSpec { shape: Shape::Open { rate: RateProfile::constant(rate), arrivals }, ..spec.clone() };
        let Some(outcome) = run(&open, context, observe)? else { return Ok(None) };
        let step = evaluate(rate, slo, &outcome)?;
        observe(CapacityEvent::StepOutcome(&step));
        let outcome = step.outcome();
        steps.push(step);
        Ok(Some(outcome))
    };

    let mut search = Search::new(FIRST_SHARE * scouted.throughput_per_s);
    let mut interrupted = false;
    while let (Next::Try(rate), false) = (search.next(), interrupted) {
        match attempt(rate)? {
            Some(outcome) => search.record(rate, outcome),
            None => interrupted = true,
        }
    }
    let found = search.best();
    for share in CURVE_SHARES {
        if let (Some(capacity), false) = (found, interrupted) {
            interrupted = attempt(capacity * share)?.is_none();
        }
    }
    steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let mut reasons = Vec::new();
    if interrupted {
        reasons.push("interrupted before the search was over".to_owned());
    }
    if search.is_client_limited() {
        reasons.push("the client was the limit: the server's capacity is at least this: give the client more threads and cores".to_owned());
    }
    Ok(Capacity {
        slo: slo.clone(),
        capacity_per_s: found,
        valid: reasons.is_empty(),
        reasons,
        method: format!(
            "a closed loop gave the scale; then open loops ({arrivals} arrivals), each of {} after a warm-up of {}, bracketed and bisected to within {:.0} %; the rate found met the objective twice",
            humantime::format_duration(spec.duration.unwrap_or_default()),
            humantime::format_duration(spec.warmup),
            (PRECISION - 1.0) * 100.0,
        ),
        closed_loop_per_s: scouted.throughput_per_s,
        curve: steps,
    })
}

/// One run; none if it was interrupted.
fn run(
    spec: &LoadSpec,
    context: &RunContext,
    observe: &mut (dyn FnMut(CapacityEvent<'_>) + Send),
) -> Result<Option<Outcome>, RunError> {
    match engine::run(spec, context, &mut |event| observe(CapacityEvent::Run(event))) {
        Ok(outcome) => Ok(Some(outcome).filter(|outcome| !outcome.interrupted)),
        Err(RunError::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Holds one step against the objective, with percentiles read off its merged histogram.
pub fn evaluate(rate: f64, slo: &Slo, outcome: &Outcome) -> Result<CapacityStep, PackError> {
    let summary = Summary::of(outcome)?;
    let response = outcome.total.merged(|op| &op.response_time);
    let attempts = (summary.requests + summary.failed).max(1);
    let error_share = summary.failed as f64 / attempts as f64;
    let is_met = |at_quantile: &dyn Fn(f64) -> u64, mean: f64, max: u64| {
        slo.is_met(|quantity| match quantity {
            Quantity::Percentile(percent) => at_quantile(percent / 100.0) as f64,
            Quantity::Mean => mean,
            Quantity::Max => max as f64,
            Quantity::Errors => error_share,
        })
    };
    let meets_slo = summary.requests > 0
        && is_met(&|quantile| response.value_at_quantile(quantile), response.mean(), response.max());
    let mut client_reasons = Vec::new();
    if !meets_slo {
        let of_cpu = |rule: &&Reason| {
            matches!(rule, Reason::ClientCpu { .. } | Reason::Starved { .. } | Reason::Achieved { .. })
        };
        client_reasons.extend(summary.rules_broken.iter().filter(of_cpu).map(ToString::to_string));
        if let Some(server) = ServerTimes::of(&response, &outcome.total.client)
            && is_met(&|quantile| server.percentile(quantile), server.mean(), server.max())
        {
            client_reasons
                .push("without what the client itself added the objective would have been met".to_owned());
        }
    }
    Ok(CapacityStep { rate_per_s: rate, meets_slo, client_reasons, summary })
}
