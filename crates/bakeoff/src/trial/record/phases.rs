//! Turns what the engine measured into the archive's types: phases, distributions, time lines.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::model::{
    ClientHealth, DelayedAck, Handshakes, OperationTimes, OutsideOperation, PhaseKind, QuantileCurve,
    SpentBound, SpentBudget, Tick, TrialPhase, UserWalk, WalkedOperation,
};
use load::TimedInterval;
use load::capacity::BudgetUse;
use load::engine::LoadOutcome;
use load::record::{CompactInterval, Micros, RecordedTimes};
use load::spec::Shape;
use load::summary::Summary;
use load::user_summary::UserSummary;
use load::validity::delayed_ack;

/// Points of a percentile line for each halving of the distance to 100 %.
const CURVE_STEPS: u32 = 5;
/// Where a percentile line ends: a trial has enough values for it.
const CURVE_END: f64 = 0.9999;
/// Shortest step of a time line: a chart is some hundreds of pixels wide.
const FINEST_TICK: Duration = Duration::from_millis(100);

/// The record of what users did.
pub fn user_walk(users: &UserSummary) -> UserWalk {
    let operations = users.operations.iter().map(|operation| WalkedOperation {
        name: operation.name.clone(),
        begun: operation.begun,
        declared_percent: operation.declared_percent,
        next_percent: operation.next_percent.clone(),
        declared_next_percent: operation.declared_next_percent.clone(),
        delay: operation.delay.clone(),
        declared_delay_s: operation.declared_delay_s,
        actual_delay_s: operation.actual_delay_s,
        limit: operation.limit.clone(),
        meets_limit: operation.meets_limit,
    });
    UserWalk {
        count: users.count,
        count_by_littles_law: users.count_by_littles_law,
        begun: users.begun,
        declared_delay_s: users.declared_delay_s,
        drawn_delay_s: users.drawn_delay_s,
        actual_delay_s: users.actual_delay_s,
        operations: operations.collect(),
        outside: Vec::new(),
    }
}

/// The record of what users did outside their mix.
pub fn outside_operation(operation: &load::user_summary::OutsideOperation) -> OutsideOperation {
    OutsideOperation {
        name: operation.name.clone(),
        due: operation.due.clone(),
        requests: operation.requests,
        failed: operation.failed,
        mean_us: (operation.requests > 0).then_some(operation.response_time_us.mean),
    }
}

/// The record of one phase; `start` is from the trial's beginning.
pub fn phase(
    kind: PhaseKind,
    start: Duration,
    outcome: &LoadOutcome,
    summary: &Summary,
    meets_slo: Option<bool>,
) -> TrialPhase {
    let is_open = matches!(outcome.spec.part.shape, Shape::Open { .. });
    let several = summary.operations.len() > 1;
    let is_central = matches!(kind, PhaseKind::Measure | PhaseKind::ClosedLoop);
    TrialPhase {
        kind,
        start_s: start.as_secs_f64(),
        length_s: outcome.measured.as_secs_f64(),
        slices: None,
        offered_per_s: is_open.then_some(summary.offered_per_s),
        throughput_per_s: summary.throughput_per_s,
        requests: summary.requests,
        errors: errors(summary),
        response_time_us: summary.response_time_us.clone(),
        gave_up_from_us: summary.gave_up_from_us,
        service_time_us: summary.service_time_us.clone(),
        response_time_curve_us: if is_central { curve(&outcome.total.response_times()) } else { Vec::new() },
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
        counters: counters(outcome),
        delayed_ack: delayed_ack::find(outcome)
            .map(|found| DelayedAck { operation: found.operation, gap_us: found.gap_us }),
        client: ClientHealth {
            utilisation: summary.client.utilisation,
            delay_p99_us: summary.client.delay_us.p99,
            delay_us: Some(summary.client.delay_us.clone()),
            stamped: Some(summary.client.stamped),
            starvation: Some(outcome.starvation()),
        },
        meets_slo,
        spent: None,
        valid: summary.valid,
        reasons: summary.reasons.clone(),
    }
}

/// The driver's counters over the length of a phase, as throughput counts operations: without what ended in its drain, which is no part
/// of that length. Those that counted something.
fn counters(outcome: &LoadOutcome) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    let all = outcome.counters.iter().zip(&outcome.total.counters);
    for ((name, all), in_drain) in all.zip(&outcome.drain.counters) {
        if all > in_drain {
            counted.insert(name.clone(), all - in_drain);
        }
    }
    counted
}

/// What a load at about this rate, operations a second, spent of an objective's budget, and the share of late operations.
pub fn spent_budget(rate_per_s: f64, spent: &BudgetUse, late_share: Option<f64>) -> SpentBudget {
    let bound = |(spent, budget)| SpentBound { spent, budget };
    SpentBudget { rate_per_s, bounds: spent.of_bounds().map(bound).collect(), late_share }
}

fn errors(summary: &Summary) -> BTreeMap<String, u64> {
    summary.errors.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect()
}

/// A distribution as a line over the percentile axis, as far as its number of values allows.
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

/// Adds the response times of a trial to the response times of earlier trials.
pub fn add_times(merged: &mut Option<Micros>, times: Micros) {
    match merged {
        Some(all) => all.add(times).expect("histograms of one precision add"),
        none => *none = Some(times),
    }
}

/// The time line of a run that began `start` after its trial, in steps of a tenth of a second or more. A run in slices has
/// a step for each.
pub fn time_line(outcome: &LoadOutcome, start: Duration) -> Vec<Tick> {
    let is_open = matches!(outcome.spec.part.shape, Shape::Open { .. });
    let observations = outcome.observations();
    let of_one = observations.first().map_or(FINEST_TICK, |first| first.length);
    let is_in_slices = observations.windows(2).any(|pair| pair[0].start + pair[0].length < pair[1].start);
    let together = if is_in_slices {
        1
    } else {
        FINEST_TICK.as_nanos().div_ceil(of_one.as_nanos().max(1)).max(1) as usize
    };
    let tick = |chunk: &[&TimedInterval]| {
        let sum = |of: fn(&CompactInterval) -> u64| chunk.iter().map(|o| of(&o.stats)).sum::<u64>();
        let seconds: f64 = chunk.iter().map(|o| o.length.as_secs_f64()).sum();
        let mut response = chunk[0].stats.response_times();
        chunk[1..].iter().for_each(|o| o.stats.response_times().add_to(&mut response));
        let at = |quantile| (!response.is_empty()).then(|| response.value_at_quantile(quantile));
        Tick {
            t_s: (start + chunk[0].start).as_secs_f64(),
            throughput_per_s: sum(CompactInterval::succeeded) as f64 / seconds,
            offered_per_s: is_open.then(|| sum(|stats| stats.client.offered) as f64 / seconds),
            p50_us: at(0.5),
            p99_us: at(0.99),
            gave_up_from_us: chunk.iter().filter_map(|o| o.stats.gave_up_from_us()).min(),
            failed: sum(CompactInterval::failed),
        }
    };
    observations.chunks(together).map(tick).collect()
}

/// All operations of a run that ended, failed ones included: from the begin of its load to the end of the drain.
pub fn operations(outcome: &LoadOutcome) -> u64 {
    let failed = |stats: &CompactInterval| stats.operations.iter().map(|op| op.errors.total()).sum::<u64>();
    outcome.intervals.iter().map(|interval| interval.stats.succeeded() + failed(&interval.stats)).sum()
}

/// The client's counts over all runs of a trial, warm-ups included. The gate `counts` compares them with the server's.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// Operations, failed ones included.
    pub operations: u64,
    /// Operations that no reply ended.
    pub unanswered: u64,
    /// The driver's counters.
    pub counters: BTreeMap<String, u64>,
}

impl ClientCounts {
    /// Adds a run.
    pub fn add(&mut self, outcome: &LoadOutcome) {
        self.operations += operations(outcome);
        for TimedInterval { stats, .. } in &outcome.intervals {
            self.unanswered += stats.operations.iter().map(|op| op.errors.unanswered()).sum::<u64>();
            for (name, count) in outcome.counters.iter().zip(&stats.counters) {
                *self.counters.entry(name.clone()).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::outcome::closed_loop_outcome;

    /// In slices of 60 ms the drain has 3 % of the operations, and the rate of a counter was higher than the throughput by that.
    #[test]
    fn a_counter_is_without_what_ended_in_the_drain() {
        let mut outcome = closed_loop_outcome(100, 0);
        outcome.counters = vec!["status 200".to_owned(), "status 503".to_owned()];
        outcome.total.counters = vec![103, 1];
        outcome.drain.counters = vec![3, 1];
        assert_eq!(counters(&outcome), BTreeMap::from([("status 200".to_owned(), 100)]));
    }
}
