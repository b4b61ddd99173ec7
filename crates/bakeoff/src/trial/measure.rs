//! The measurement of a trial: throughput in a closed loop, capacity by search, latency at given rates, or operations one
//! at a time.

use std::time::Duration;

use archive::model::{Measure, MeasuredValue, PhaseKind, Plan, RunLength, WarmUpOutcome, plural, thousands};
use load::capacity::{CLIENT_WAS_THE_LIMIT, FirstGuess, NoCapacity, StepOutcome, StepPurpose, run_procedure};
use load::engine::{LoadOutcome, RunError};
use load::inputs::slo::Slo;
use load::record::{Interval, Micros};
use load::validity::BrokenRule;

use super::load_phases::{LoadPhases, MeasuredRun};
use super::steadiness::{SteadyQuantity, check_loop};
use crate::event::{Event, Observer};
use crate::preset::interval_of;
use crate::wording::wording;

const HOUR_US: f64 = 3.6e9;
const MEGABYTE: f64 = 1e6;

/// The result of a trial's load.
pub struct TrialMeasurement {
    /// The value; none if no rate meets the objective, or if the trial was interrupted.
    pub measured: Option<MeasuredValue>,
    /// How the warm-up ended.
    pub warm_up: Option<WarmUpOutcome>,
    /// Why the server did not reach steady state; none if it did.
    pub unsteady: Option<String>,
    /// Why the client may be the reason for the value.
    pub client_reasons: Vec<String>,
    /// Why there is no value.
    pub reasons: Vec<String>,
    /// Share of operations that failed in the measurement.
    pub error_share: f64,
    /// Share of its cores that the client used in the measurement.
    pub client_utilisation: f64,
    /// The run that gave the value, cut to what was measured.
    pub outcome: Option<LoadOutcome>,
    /// Its response times.
    pub response_time: Option<Micros>,
}

impl TrialMeasurement {
    fn without_value(warm_up: Option<WarmUpOutcome>, unsteady: Option<String>) -> Self {
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

    /// Takes the value from a run that has been cut to what was measured. Where there is an objective, the capacity
    /// search has decided already whether the client was the limit.
    fn take(&mut self, plan: &Plan, value: f64, run: MeasuredRun) {
        let MeasuredRun { outcome, summary } = run;
        let wording = wording(&plan.measure);
        self.measured = Some(MeasuredValue {
            metric: wording.what,
            value,
            unit: wording.unit.to_owned(),
            higher_is_better: wording.higher_is_better,
        });
        if !matches!(plan.measure, Measure::Capacity { .. }) {
            let is_of_times = matches!(plan.measure, Measure::LatencyCurve { .. });
            let of_client = |rule: &&BrokenRule| match rule {
                // Failures have their own gate.
                BrokenRule::Errors { .. } | BrokenRule::NothingSucceeded => false,
                // An unread reply makes times longer. It does not change throughput while the client has CPU to
                // spare: the server's queue is shorter by as much as the client's is longer.
                BrokenRule::Lag { .. } | BrokenRule::Pickup { .. } => is_of_times,
                BrokenRule::ClientCpu { .. } | BrokenRule::Starved { .. } | BrokenRule::Achieved { .. } => {
                    true
                }
            };
            self.client_reasons
                .extend(summary.rules_broken.iter().filter(of_client).map(ToString::to_string));
        }
        self.error_share = summary.error_share();
        self.client_utilisation = summary.client.utilisation;
        self.response_time = Some(outcome.total.merged(|op| &op.response_time));
        self.outcome = Some(outcome);
    }
}

/// Runs the load of a trial. `hint` is the value of an earlier trial of the same variant.
pub fn measure(
    plan: &Plan,
    rate: Option<f64>,
    hint: Option<f64>,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<TrialMeasurement, RunError> {
    if let Measure::OneByOne { operations } = plan.measure {
        return one_by_one(plan, operations, loads, observe);
    }
    let warm = warm_up(plan, loads, observe)?;
    let mut result = TrialMeasurement::without_value(Some(warm.outcome), warm.unsteady);
    if loads.interrupted {
        return Ok(result);
    }
    match (&plan.measure, rate) {
        (_, Some(rate)) => at_rates(plan, &[rate], &mut result, loads, observe)?,
        (Measure::MaxThroughput | Measure::MaxBytes, None) => {
            // What was cut off includes the drain, so the total has no part of it.
            let drain = Interval::new(warm.run.operations.len(), warm.run.counters.len());
            let cut = LoadOutcome { total: warm.measured, drain, measured: warm.length, ..warm.run };
            let amount = match plan.measure {
                Measure::MaxBytes => SteadyQuantity::Bytes.amount(&cut.total) / MEGABYTE,
                _ => SteadyQuantity::Operations.amount(&cut.total),
            };
            result.take(plan, amount / cut.measured.as_secs_f64().max(1e-9), cut.into());
        }
        (Measure::Capacity { slo }, None) => {
            let slo = slo.parse().expect("the plan's objective was checked when it was made");
            let closed_loop_per_s = warm.measured.succeeded() as f64 / warm.length.as_secs_f64().max(1e-9);
            capacity(plan, &slo, closed_loop_per_s, hint, &mut result, loads, observe)?;
        }
        (Measure::OneByOne { .. }, None) => {}
        (Measure::LatencyCurve { rates_per_s, .. }, None) => {
            at_rates(plan, rates_per_s, &mut result, loads, observe)?;
        }
    }
    Ok(result)
}

/// Times operations that are too long for a series of intervals: one to warm the caches, then those that are counted. The
/// value is computed from their median.
fn one_by_one(
    plan: &Plan,
    operations: u32,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<TrialMeasurement, RunError> {
    let mut result = TrialMeasurement::without_value(None, None);
    observe(Event::Doing { what: "one operation that is not counted".to_owned() });
    loads.operations(PhaseKind::ClosedLoop, 1, observe)?;
    if loads.interrupted {
        return Ok(result);
    }
    observe(Event::Doing {
        what: format!("timing {}, one at a time", plural(operations.into(), "operation")),
    });
    let run = loads.operations(PhaseKind::Measure, operations.into(), observe)?;
    if loads.interrupted {
        return Ok(result);
    }
    let times = run.outcome.total.merged(|op| &op.response_time);
    if times.is_empty() {
        let why = run.summary.error_examples.into_values().next();
        result.reasons.push(format!("no operation succeeded: {}", why.unwrap_or_default()));
        return Ok(result);
    }
    result.take(plan, HOUR_US / times.value_at_quantile(0.5).max(1) as f64, run);
    Ok(result)
}

/// The result of a warm-up.
struct WarmedUp {
    outcome: WarmUpOutcome,
    unsteady: Option<String>,
    run: LoadOutcome,
    measured: Interval,
    length: Duration,
}

/// Runs a closed loop until throughput and p99 are steady, or until the limit of the plan.
fn warm_up(
    plan: &Plan,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<WarmedUp, RunError> {
    let length = plan.phases.closed_loop.max(plan.warm_up.min);
    let quantity =
        if plan.measure == Measure::MaxBytes { SteadyQuantity::Bytes } else { SteadyQuantity::Operations };
    let (mut before, mut earlier) = (Duration::ZERO, None);
    loop {
        observe(Event::Doing { what: "warming up in a closed loop".to_owned() });
        let run = loads.closed_loop(length, interval_of(length), observe)?.outcome;
        let checked = check_loop(&run, before, earlier, quantity);
        before += length;
        if checked.unsteady.is_none() || loads.interrupted || before + length > plan.warm_up.max {
            return Ok(WarmedUp {
                outcome: checked.outcome,
                unsteady: checked.unsteady,
                measured: checked.measured,
                length: checked.length,
                run,
            });
        }
        earlier = Some(checked.series);
    }
}

/// Measures the highest rate that meets the objective, see [`run_procedure`]. `closed_loop_per_s` is the throughput of the
/// warm-up.
fn capacity(
    plan: &Plan,
    slo: &Slo,
    closed_loop_per_s: f64,
    hint: Option<f64>,
    result: &mut TrialMeasurement,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<(), RunError> {
    let phases = &plan.phases;
    let interval = interval_of(phases.measure);
    let guess = hint.map_or(FirstGuess::ClosedLoop(closed_loop_per_s), FirstGuess::EarlierTrial);
    // In the quick preset, only the first trial of each variant measures the curve.
    let draws_curve = plan.length != RunLength::Quick || hint.is_none();
    let mut confirmed: Option<MeasuredRun> = None;
    let found = run_procedure(guess, draws_curve, |purpose, rate| {
        let (kind, length, doing) = match purpose {
            StepPurpose::Search => {
                (PhaseKind::SearchStep, phases.search_step, format!("trying {}/s", thousands(rate)))
            }
            StepPurpose::Confirm => {
                (PhaseKind::Measure, phases.measure, format!("measuring at {}/s", thousands(rate)))
            }
            StepPurpose::Curve(share) => {
                let doing = format!("latency at {:.0} % of the capacity", share * 100.0);
                (PhaseKind::CurveStep, phases.curve_step, doing)
            }
        };
        observe(Event::Doing { what: doing });
        let (run, evaluation) = loads.open_loop(kind, rate, length, interval, Some(slo), observe)?;
        if loads.interrupted {
            return Ok(None);
        }
        let outcome = evaluation.map_or(StepOutcome::Missed, |evaluation| evaluation.outcome());
        if (purpose, outcome) == (StepPurpose::Confirm, StepOutcome::Met) {
            confirmed = Some(run);
        }
        Ok::<_, RunError>(Some(outcome))
    })?;
    if found.is_client_limited {
        result.client_reasons.push(CLIENT_WAS_THE_LIMIT.to_owned());
    }
    match (found.capacity_per_s, confirmed) {
        (Ok(rate), Some(run)) => result.take(plan, rate, run),
        (Err(NoCapacity::Interrupted(_)), _) | (Ok(_), None) => {}
        (Err(no_capacity), _) => result.reasons.push(no_capacity.reason(slo)),
    }
    Ok(())
}

/// Measures latency at given rates; the value is the p99 at the last one.
fn at_rates(
    plan: &Plan,
    rates: &[f64],
    result: &mut TrialMeasurement,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<(), RunError> {
    let slo: Option<Slo> = plan.measure.slo().and_then(|text| text.parse().ok());
    let length = plan.phases.measure;
    for (at, &rate) in rates.iter().enumerate() {
        let is_last = at + 1 == rates.len();
        let kind = if is_last { PhaseKind::Measure } else { PhaseKind::CurveStep };
        observe(Event::Doing { what: format!("measuring at {}/s", thousands(rate)) });
        let (run, _) = loads.open_loop(kind, rate, length, interval_of(length), slo.as_ref(), observe)?;
        if loads.interrupted {
            return Ok(());
        }
        if is_last {
            let p99_us = run.summary.response_time_us.p99;
            result.take(plan, p99_us as f64, run);
        }
    }
    Ok(())
}
