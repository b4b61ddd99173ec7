//! The measurement of a trial: the warm-up, the closed loop of a server that is up alone, and operations one at a time.
//! [`rounds`](super::rounds) measures in slices.

use std::time::Duration;

use archive::model::{Measure, MeasuredValue, PhaseKind, Plan, WarmUpOutcome, plural};
use load::engine::{LoadOutcome, RunError};
use load::record::{Interval, Micros, RecordedTimes};
use load::validity::BrokenRule;
use rand_pcg::Pcg64Mcg;

use super::load_phases::{LoadPhases, MeasuredRun};
use super::rounds::{Rounds, TurnTaker};
use super::slices::Slice;
use super::steadiness::{SteadyQuantity, WarmUpGoal, check_loop};
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
    /// Throughput of the warm-up's closed loop, operations a second.
    pub closed_loop_per_s: f64,
    /// When the slices that gave the value ran; none if it does not come from slices.
    pub loaded: Option<LoadedTime>,
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

/// When a server was loaded in slices. Times are from the begin of the trial.
#[derive(Clone, Copy, Debug)]
pub struct LoadedTime {
    /// Begin of the first slice.
    pub begin: Duration,
    /// End of the last one.
    pub end: Duration,
    /// How long it was loaded in between.
    pub under_load: Duration,
}

impl TrialMeasurement {
    /// A measurement that has not begun.
    pub fn without_warm_up() -> Self {
        Self {
            measured: None,
            warm_up: None,
            unsteady: None,
            closed_loop_per_s: 0.0,
            loaded: None,
            client_reasons: Vec::new(),
            reasons: Vec::new(),
            error_share: 0.0,
            client_utilisation: 0.0,
            outcome: None,
            response_time: None,
        }
    }

    /// A measurement after a warm-up.
    pub fn after(warm: &WarmedUp) -> Self {
        Self {
            warm_up: Some(warm.outcome.clone()),
            unsteady: warm.unsteady.clone(),
            closed_loop_per_s: warm.measured.succeeded() as f64 / warm.length.as_secs_f64().max(1e-9),
            ..Self::without_warm_up()
        }
    }

    /// Adds the time of a slice.
    pub fn count_slice(&mut self, slice: &Slice) {
        let end = slice.start + slice.outcome.measured + slice.outcome.draining;
        let begin = end.saturating_sub(slice.under_load);
        let loaded = self.loaded.get_or_insert(LoadedTime { begin, end, under_load: Duration::ZERO });
        loaded.end = end;
        loaded.under_load += slice.under_load;
    }

    /// Takes the value from a run that has been cut to what was measured. Where there is an objective, the capacity
    /// search has decided already whether the client was the limit.
    pub fn take(&mut self, plan: &Plan, value: f64, run: MeasuredRun) {
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

/// The amount whose rate the plan measures in a closed loop: operations, or megabytes received.
pub fn amount_of<H: RecordedTimes>(plan: &Plan, stats: &Interval<H>) -> f64 {
    match plan.measure {
        Measure::MaxBytes => SteadyQuantity::Bytes.amount(stats) / MEGABYTE,
        _ => SteadyQuantity::Operations.amount(stats),
    }
}

/// Runs the load of a trial whose server is up alone. `hint` is the value of an earlier trial of the same variant.
pub fn measure_alone(
    plan: &Plan,
    name: &str,
    rate: Option<f64>,
    hint: Option<f64>,
    rng: &mut Pcg64Mcg,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<TrialMeasurement, RunError> {
    if let Measure::OneByOne { operations } = plan.measure {
        return one_by_one(plan, operations, loads, observe);
    }
    let is_measurement = rate.is_none() && matches!(plan.measure, Measure::MaxThroughput | Measure::MaxBytes);
    let goal = if is_measurement { WarmUpGoal::Steady } else { WarmUpGoal::NoDrift };
    let warm = warm_up(plan, name, goal, loads, observe)?;
    let mut result = TrialMeasurement::after(&warm);
    if loads.interrupted {
        return Ok(result);
    }
    if is_measurement {
        // What was cut off includes the drain, so the total has no part of it.
        let drain = Interval::new(warm.run.operations.len(), warm.run.counters.len());
        let cut = LoadOutcome { total: warm.measured, drain, measured: warm.length, ..warm.run };
        let amount = amount_of(plan, &cut.total);
        result.take(plan, amount / cut.measured.as_secs_f64().max(1e-9), cut.into());
        return Ok(result);
    }
    let mut rounds = Rounds::new(plan, [&warm], rng);
    let mut alone = [TurnTaker { loads, result: &mut result, rate, hint, failed: None }];
    rounds.run(&mut alone, observe);
    let [TurnTaker { failed, .. }] = alone;
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
    result.take(plan, HOUR_US / times.value_at_quantile(0.5).max(1) as f64, run);
    Ok(result)
}

/// The result of a warm-up.
pub struct WarmedUp {
    /// How it ended.
    pub outcome: WarmUpOutcome,
    /// Why the server is not in a steady state; none if it is.
    pub unsteady: Option<String>,
    /// The last loop.
    pub run: LoadOutcome,
    /// Its steady part.
    pub measured: Interval,
    /// Length of that.
    pub length: Duration,
}

/// Runs a closed loop on the server of this name until throughput and p99 are steady, or until the limit of the plan.
pub fn warm_up(
    plan: &Plan,
    name: &str,
    goal: WarmUpGoal,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<WarmedUp, RunError> {
    let length = plan.phases.closed_loop.max(plan.warm_up.min);
    let quantity =
        if plan.measure == Measure::MaxBytes { SteadyQuantity::Bytes } else { SteadyQuantity::Operations };
    let (mut before, mut earlier) = (Duration::ZERO, None);
    loop {
        observe(Event::Doing { what: format!("warming up {name} in a closed loop") });
        let run = loads.closed_loop(length, interval_of(length), observe)?.outcome;
        let checked = check_loop(&run, before, earlier, quantity, goal);
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
