//! The measurement of a server that is up alone: its closed loop, operations one at a time, [`rounds`](super::rounds) of its
//! own, or its breaking point, by what the run has been given for it.

use archive::model::{Concurrency, Measure, MeasuredValue, PhaseKind, Plan, plural};
use load::engine::{LoadOutcome, RunError};
use load::record::Interval;
use rand_pcg::Pcg64Mcg;

use super::breaking_point::{BreakingPoint, BreakingServer};
use super::interleaved_trial::InterleavedTrial;
use super::load_phases::LoadPhases;
use super::measurement::{TrialMeasurement, amount_of};
use super::rounds::Rounds;
use super::setup::{TrialError, TrialSetup};
use super::steadiness::WarmUpGoal;
use super::warm_up::warm_up;
use crate::event::{Event, Observer};
use crate::plan::measure_names::wording;
use crate::search_start::SearchStart;
use crate::warm_up_loop::WarmUpLoops;

const HOUR_US: f64 = 3.6e9;

/// Runs the load of a trial whose server is up alone. `search_start` is what earlier trials say of it.
pub fn measure_alone(
    setup: &TrialSetup<'_>,
    (name, loops): (&str, WarmUpLoops),
    rate: Option<f64>,
    search_start: Option<SearchStart>,
    rng: &mut Pcg64Mcg,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<TrialMeasurement, TrialError> {
    let plan = setup.plan;
    if let Measure::OneByOne { operations } = plan.measure {
        return Ok(one_by_one(plan, operations, loads, observe)?);
    }
    let is_measurement = rate.is_none() && plan.measure.is_closed_loop();
    let goal = if is_measurement { WarmUpGoal::Steady } else { WarmUpGoal::NoDrift };
    let warm = warm_up(plan, (name, setup.objective()), goal, loops, loads, observe)?;
    let mut result = TrialMeasurement::after(&warm);
    if loads.interrupted {
        return Ok(result);
    }
    if is_measurement {
        // What was cut off includes the drain, so the total has no part of it.
        let drain = Interval::new(warm.run.operations.len(), warm.run.counters.len());
        let cut = LoadOutcome { total: warm.measured, drain, measured: warm.length, ..warm.run };
        let amount = amount_of(plan, &cut.total);
        result.take(&plan.measure, amount / cut.measured.as_secs_f64().max(1e-9), cut.into());
        return Ok(result);
    }
    let mut rounds = Rounds::new(plan, setup.objective(), [&warm], rng);
    let mut alone =
        [InterleavedTrial { loads, settings: None, result: &mut result, rate, search_start, failed: None }];
    rounds.run(&mut alone, observe);
    let [InterleavedTrial { failed, .. }] = alone;
    match failed {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Times operations that are too long for a series of intervals: one to warm the caches, then those that are counted. The
/// value is computed from their median.
fn one_by_one(
    plan: &Plan,
    operations: u32,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<TrialMeasurement, RunError> {
    let mut result = TrialMeasurement::without_warm_up();
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
    result.take(&plan.measure, HOUR_US / times.value_at_quantile(0.5).max(1) as f64, run);
    Ok(result)
}

/// Breaks the server; returns what was measured, and the steps.
pub fn measure_break(
    breaking_point: Option<&dyn BreakingPoint>,
    server: &BreakingServer<'_>,
    observe: &mut Observer<'_>,
) -> Result<(TrialMeasurement, Option<Concurrency>), TrialError> {
    let Some(breaking_point) = breaking_point else { return Err(TrialError::NoBreakingPoint) };
    let found = breaking_point.find(server, observe)?;
    let wording = wording(&server.plan.measure);
    let mut result = TrialMeasurement::without_warm_up();
    result.measured = found.value.map(|value| MeasuredValue {
        metric: wording.what,
        value,
        unit: wording.unit.to_owned(),
        higher_is_better: wording.higher_is_better,
    });
    result.client_reasons = found.client_reasons;
    result.reasons = found.reasons;
    let cores = found.record.steps.iter().map(|step| step.client_cpu_cores).fold(0.0, f64::max);
    result.client_utilisation = cores / server.client_cpus.max(1) as f64;
    Ok((result, Some(found.record)))
}
