//! From what the engine measured to what the archive keeps: phases, distributions, time lines.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::model::{ClientHealth, Handshakes, OperationTimes, Phase, PhaseKind, QuantileCurve, Tick};
use load::TimedInterval;
use load::engine::Outcome;
use load::record::{Interval, Micros, PackError};
use load::spec::Shape;
use load::summary::Summary;

/// Points drawn to each halving of the distance to 100 %.
const CURVE_STEPS: u32 = 5;
/// A line of percentiles ends here, where a trial's count of values still carries it.
const CURVE_END: f64 = 0.9999;
/// Time lines are no finer than this: a chart is some hundreds of pixels wide.
const FINEST_TICK: Duration = Duration::from_millis(100);

/// One phase; `start` is from the trial's beginning.
pub fn phase(
    kind: PhaseKind,
    start: Duration,
    outcome: &Outcome,
    summary: &Summary,
    meets_slo: Option<bool>,
) -> Phase {
    let is_open = matches!(outcome.spec.shape, Shape::Open { .. });
    let several = summary.operations.len() > 1;
    let is_central = matches!(kind, PhaseKind::Measure | PhaseKind::ClosedLoop);
    Phase {
        kind,
        start_s: start.as_secs_f64(),
        length_s: outcome.measured.as_secs_f64(),
        offered_per_s: is_open.then_some(summary.offered_per_s),
        achieved_per_s: summary.throughput_per_s,
        requests: summary.requests,
        errors: errors(summary),
        response_time_us: summary.response_time_us.clone(),
        service_time_us: summary.service_time_us.clone(),
        response_time_curve_us: if is_central {
            curve(&outcome.total.merged(|op| &op.response_time))
        } else {
            Vec::new()
        },
        operations: summary
            .operations
            .iter()
            .filter(|_| several)
            .map(|(name, op)| OperationTimes {
                name: name.clone(),
                requests: op.requests,
                failed: op.failed,
                response_time_us: op.response_time_us.clone(),
            })
            .collect(),
        tls: summary.connections.tls.as_ref().map(|tls| Handshakes {
            handshakes: tls.handshakes,
            resumed: tls.resumed,
            handshake_us: tls.handshake_us.clone(),
        }),
        counters: summary
            .counters
            .iter()
            .filter(|(_, number)| **number > 0)
            .map(|(name, number)| (name.clone(), *number))
            .collect(),
        client: ClientHealth {
            utilisation: summary.client.utilisation,
            delay_p99_us: summary.client.lag_us.p99.max(summary.client.pickup_us.p99),
        },
        meets_slo,
        valid: summary.valid,
        reasons: summary.reasons.clone(),
    }
}

fn errors(summary: &Summary) -> BTreeMap<String, u64> {
    summary.errors.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect()
}

/// A distribution as a line over the percentile axis, as far as its count of values carries.
pub fn curve(histogram: &Micros) -> QuantileCurve {
    if histogram.is_empty() {
        return Vec::new();
    }
    let carried = (1.0 - 1.0 / histogram.len() as f64).min(CURVE_END);
    histogram
        .iter_quantiles(CURVE_STEPS)
        .map(|step| (step.quantile_iterated_to(), step.value_iterated_to()))
        .take_while(|(share, _)| *share <= carried)
        .collect()
}

/// One interval of a run, unpacked.
pub struct Observation {
    /// From the beginning of the run.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// What was recorded.
    pub stats: Interval,
}

/// The measured intervals of a run that are whole, in order.
pub fn observations(outcome: &Outcome) -> Result<Vec<Observation>, PackError> {
    let length = outcome.spec.interval;
    let mut observations: Vec<Observation> = Vec::new();
    let mut intervals: Vec<&TimedInterval> =
        outcome.intervals.iter().filter(|interval| interval.index >= 0).collect();
    intervals.sort_by_key(|interval| interval.index);
    for interval in intervals {
        let start = length * interval.index as u32;
        if start + length <= outcome.measured {
            observations.push(Observation { start, length, stats: interval.stats.unpack()? });
        }
    }
    Ok(observations)
}

/// The time line of a run that began `start` after its trial, in steps of a tenth of a second or more.
pub fn time_line(outcome: &Outcome, start: Duration) -> Result<Vec<Tick>, PackError> {
    let is_open = matches!(outcome.spec.shape, Shape::Open { .. });
    let observations = observations(outcome)?;
    let together = FINEST_TICK.as_nanos().div_ceil(outcome.spec.interval.as_nanos()).max(1) as usize;
    Ok(observations
        .chunks(together)
        .map(|chunk| {
            let mut merged = chunk[0].stats.clone();
            chunk[1..].iter().for_each(|later| merged.append(&later.stats));
            let seconds: f64 = chunk.iter().map(|o| o.length.as_secs_f64()).sum();
            let response = merged.merged(|op| &op.response_time);
            let at = |quantile| (!response.is_empty()).then(|| response.value_at_quantile(quantile));
            Tick {
                t_s: (start + chunk[0].start).as_secs_f64(),
                throughput_per_s: merged.succeeded() as f64 / seconds,
                offered_per_s: is_open.then(|| merged.client.offered as f64 / seconds),
                p50_us: at(0.5),
                p99_us: at(0.99),
                errors: merged.errors().total(),
            }
        })
        .collect())
}

/// What reached the server in the whole of its runs, their warm-ups included: what the server's own count is held
/// against.
#[derive(Debug, Default)]
pub struct Reached {
    /// Operations, those that failed too.
    pub operations: u64,
    /// The driver's counters.
    pub counters: BTreeMap<String, u64>,
}

impl Reached {
    /// Adds a run.
    pub fn add(&mut self, outcome: &Outcome) -> Result<(), PackError> {
        for interval in &outcome.intervals {
            let stats = interval.stats.unpack()?;
            let failed: u64 = stats.operations.iter().map(|op| op.errors.total()).sum();
            self.operations += stats.succeeded() + failed;
            for (name, count) in outcome.counters.iter().zip(&stats.counters) {
                *self.counters.entry(name.clone()).or_default() += count;
            }
        }
        Ok(())
    }
}
