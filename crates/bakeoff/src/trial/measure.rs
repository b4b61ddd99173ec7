//! What a trial measures: throughput of a closed loop, capacity by search, latency at given rates.

use std::time::Duration;

use archive::model::{Length, Measure, Measured, PhaseKind, Plan, WarmUpOutcome, thousands};
use load::capacity::{Next, Search, StepOutcome};
use load::engine::Outcome;
use load::inputs::slo::Slo;
use load::record::{Interval, Micros};
use load::summary::Summary;
use load::validity::Reason;

use super::load_phases::{LoadError, LoadPhases};
use super::steadiness::{SteadyQuantity, check_loop};
use crate::preset::interval_of;
use crate::wording::wording;

/// First rate of a search, as a share of what the closed loop drew.
const FIRST_SHARE: f64 = 0.8;
/// How far a search strides when an earlier trial has told about where the capacity lies.
const NEAR: f64 = 1.06;
/// A rate that was found and then misses its objective gives way to one this much lower.
const RETREAT: f64 = 0.97;
/// Measurements at retreating rates before a trial has no value.
const MOST_RETREATS: u32 = 6;
const HOUR_US: f64 = 3.6e9;
const MEGABYTE: f64 = 1e6;
/// Rates that are measured for the curve of latency over load, as shares of the capacity found.
const CURVE_SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// What came of it.
pub struct Result {
    /// The value; none where nothing meets the objective, or it was interrupted.
    pub measured: Option<Measured>,
    /// How the warm-up ended.
    pub warm_up: Option<WarmUpOutcome>,
    /// Why it never settled.
    pub unsteady: Option<String>,
    /// What the engine holds against the measurement.
    pub client_reasons: Vec<String>,
    /// Why there is no value, or none that counts.
    pub reasons: Vec<String>,
    /// Share of operations that failed in the measurement.
    pub error_share: f64,
    /// Share of its cores that the client needed in the measurement.
    pub client_utilisation: f64,
    /// The run that gave the value, cut to what was measured.
    pub outcome: Option<Outcome>,
    /// Its response times.
    pub response_time: Option<Micros>,
}

impl Result {
    fn nothing(warm_up: Option<WarmUpOutcome>, unsteady: Option<String>) -> Self {
        Self {
            measured: None,
            warm_up,
            unsteady,
            client_reasons: Vec::new(),
            reasons: Vec::new(),
            error_share: 0.0,
            client_utilisation: 0.0,
            outcome: None,
            response_time: None,
        }
    }

    /// Takes the value from a run that has been cut to what was measured. What the engine holds against it
    /// is the caller's to say where an objective was judged.
    fn take(&mut self, plan: &Plan, value: f64, outcome: Outcome) -> std::result::Result<(), LoadError> {
        let summary = Summary::of(&outcome)?;
        let wording = wording(&plan.measure);
        self.measured = Some(Measured {
            what: wording.what,
            value,
            unit: wording.unit.to_owned(),
            higher_is_better: wording.higher_is_better,
        });
        if !matches!(plan.measure, Measure::Capacity { .. }) {
            let is_of_times = matches!(plan.measure, Measure::LatencyCurve { .. });
            let of_client = |rule: &&Reason| match rule {
                // Failures have a gate of their own.
                Reason::Errors { .. } | Reason::NothingSucceeded => false,
                // A reply that lies unread makes times longer. Throughput it leaves alone as long as the client has
                // room: then the server's queue is shorter by what the client's is longer.
                Reason::Lag { .. } | Reason::Pickup { .. } => is_of_times,
                Reason::ClientCpu { .. } | Reason::Starved { .. } | Reason::Achieved { .. } => true,
            };
            self.client_reasons
                .extend(summary.rules_broken.iter().filter(of_client).map(ToString::to_string));
        }
        self.error_share = summary.failed as f64 / (summary.requests + summary.failed).max(1) as f64;
        self.client_utilisation = summary.client.utilisation;
        self.response_time = Some(outcome.total.merged(|op| &op.response_time));
        self.outcome = Some(outcome);
        Ok(())
    }
}

/// Measures. `hint` is the value of an earlier trial of the same variant.
pub fn measure(
    plan: &Plan,
    rate: Option<f64>,
    hint: Option<f64>,
    loads: &mut LoadPhases<'_>,
) -> std::result::Result<Result, LoadError> {
    if let Measure::OneByOne { operations } = plan.measure {
        return one_by_one(plan, operations, loads);
    }
    let warm = warm_up(plan, loads)?;
    let mut result = Result::nothing(Some(warm.outcome), warm.unsteady);
    if loads.interrupted {
        return Ok(result);
    }
    match (&plan.measure, rate) {
        (_, Some(rate)) => at_rates(plan, &[rate], &mut result, loads)?,
        (Measure::MaxThroughput | Measure::MaxBytes, None) => {
            // What was cut off takes the drain with it: the total has no part of it any more.
            let drain = Interval::new(warm.run.operations.len(), warm.run.counters.len());
            let cut = Outcome { total: warm.measured, drain, measured: warm.length, ..warm.run };
            let amount = match plan.measure {
                Measure::MaxBytes => SteadyQuantity::Bytes.amount(&cut.total) / MEGABYTE,
                _ => SteadyQuantity::Operations.amount(&cut.total),
            };
            result.take(plan, amount / cut.measured.as_secs_f64().max(1e-9), cut)?;
        }
        (Measure::Capacity { slo }, None) => {
            let slo = slo.parse().expect("the plan's objective was checked when it was made");
            let drawn = warm.measured.succeeded() as f64 / warm.length.as_secs_f64().max(1e-9);
            capacity(plan, &slo, drawn, hint, &mut result, loads)?;
        }
        (Measure::OneByOne { .. }, None) => {}
        (Measure::LatencyCurve { rates_per_s, .. }, None) => at_rates(plan, rates_per_s, &mut result, loads)?,
    }
    Ok(result)
}

/// Operations that take so long that there is no interval to watch: one that warms caches, then those that count.
/// The value is made of their median.
fn one_by_one(
    plan: &Plan,
    operations: u32,
    loads: &mut LoadPhases<'_>,
) -> std::result::Result<Result, LoadError> {
    let mut result = Result::nothing(None, None);
    loads.doing("one operation before it counts".to_owned());
    loads.operations(PhaseKind::ClosedLoop, 1)?;
    if loads.interrupted {
        return Ok(result);
    }
    loads.doing(format!("timing {operations} operations, one at a time"));
    let outcome = loads.operations(PhaseKind::Measure, operations.into())?;
    if loads.interrupted {
        return Ok(result);
    }
    let times = outcome.total.merged(|op| &op.response_time);
    if times.is_empty() {
        let why = outcome.total.errors().examples.into_values().next();
        result.reasons.push(format!("no operation succeeded: {}", why.unwrap_or_default()));
        return Ok(result);
    }
    result.take(plan, HOUR_US / times.value_at_quantile(0.5).max(1) as f64, outcome)?;
    Ok(result)
}

struct Warm {
    outcome: WarmUpOutcome,
    unsteady: Option<String>,
    run: Outcome,
    measured: Interval,
    length: Duration,
}

/// A closed loop until throughput and p99 have settled, or for as long as the plan allows.
fn warm_up(plan: &Plan, loads: &mut LoadPhases<'_>) -> std::result::Result<Warm, LoadError> {
    let length = plan.phases.closed_loop.max(plan.warm_up.least);
    let quantity =
        if plan.measure == Measure::MaxBytes { SteadyQuantity::Bytes } else { SteadyQuantity::Operations };
    let (mut before, mut earlier) = (Duration::ZERO, None);
    loop {
        loads.doing("warming up in a closed loop".to_owned());
        let (run, _) = loads.closed_loop(length, interval_of(length))?;
        let settled = check_loop(&run, before, earlier, quantity)?;
        before += length;
        if settled.unsteady.is_none() || loads.interrupted || before + length > plan.warm_up.most {
            return Ok(Warm {
                outcome: settled.outcome,
                unsteady: settled.unsteady,
                measured: settled.measured,
                length: settled.length,
                run,
            });
        }
        earlier = Some(settled.series);
    }
}

fn capacity(
    plan: &Plan,
    slo: &Slo,
    drawn: f64,
    hint: Option<f64>,
    result: &mut Result,
    loads: &mut LoadPhases<'_>,
) -> std::result::Result<(), LoadError> {
    let phases = &plan.phases;
    let interval = interval_of(phases.measure);
    let mut search = match hint {
        Some(hint) => Search::near(hint, NEAR),
        None => Search::new(FIRST_SHARE * drawn),
    };
    let found = loop {
        match search.next() {
            Next::Found(found) => break found,
            Next::Try(rate) => {
                loads.doing(format!("trying {}/s", thousands(rate)));
                let (_, step) =
                    loads.open_loop(PhaseKind::SearchStep, rate, phases.search_step, interval, Some(slo))?;
                if loads.interrupted {
                    return Ok(());
                }
                search.record(rate, step.map_or(StepOutcome::Missed, |step| step.outcome()));
            }
        }
    };
    let Some(mut rate) = found else {
        result.reasons.push(format!("no rate that was tried meets {slo}: relax the objective"));
        return Ok(());
    };
    if search.is_client_limited() {
        result.client_reasons.push(
            "the client was the limit of the search: the server can carry at least this: give the client more CPUs"
                .to_owned(),
        );
    }
    for _ in 0..MOST_RETREATS {
        loads.doing(format!("measuring at {}/s", thousands(rate)));
        let (outcome, step) =
            loads.open_loop(PhaseKind::Measure, rate, phases.measure, interval, Some(slo))?;
        if loads.interrupted {
            return Ok(());
        }
        match step.map(|step| step.outcome()) {
            Some(StepOutcome::Met) => {
                result.take(plan, rate, outcome)?;
                break;
            }
            // It says nothing of the server: the same again.
            Some(StepOutcome::ClientLimited) => {}
            Some(StepOutcome::Missed) | None => rate *= RETREAT,
        }
    }
    if result.measured.is_none() {
        result.reasons.push(format!(
            "no rate near {}/s meets {slo} for {:?}",
            thousands(rate),
            phases.measure
        ));
        return Ok(());
    }
    // In the quick preset the first trial of each variant draws the curve for all.
    let draws_curve = plan.length != Length::Quick || hint.is_none();
    for share in CURVE_SHARES {
        if loads.interrupted || !draws_curve {
            break;
        }
        loads.doing(format!("latency at {:.0} % of the capacity", share * 100.0));
        loads.open_loop(PhaseKind::CurveStep, rate * share, phases.curve_step, interval, Some(slo))?;
    }
    Ok(())
}

/// Latency at given rates; the value is the p99 at the last one.
fn at_rates(
    plan: &Plan,
    rates: &[f64],
    result: &mut Result,
    loads: &mut LoadPhases<'_>,
) -> std::result::Result<(), LoadError> {
    let slo: Option<Slo> = plan.measure.slo().and_then(|text| text.parse().ok());
    let length = plan.phases.measure;
    for (at, &rate) in rates.iter().enumerate() {
        let is_last = at + 1 == rates.len();
        let kind = if is_last { PhaseKind::Measure } else { PhaseKind::CurveStep };
        loads.doing(format!("measuring at {}/s", thousands(rate)));
        let (outcome, _) = loads.open_loop(kind, rate, length, interval_of(length), slo.as_ref())?;
        if loads.interrupted {
            return Ok(());
        }
        if is_last {
            let p99_us = outcome.total.merged(|op| &op.response_time).value_at_quantile(0.99);
            result.take(plan, p99_us as f64, outcome)?;
        }
    }
    Ok(())
}
