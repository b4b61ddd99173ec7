//! What a trial's load has measured: the value and what belongs to it.

use std::time::Duration;

use archive::model::{CpuTimePerOperation, Measure, MeasuredValue, Plan, UserWalk, WarmUpOutcome, thousands};
use load::capacity::{BudgetUse, NothingSucceeds};
use load::engine::LoadOutcome;
use load::record::{Interval, Micros, RecordedTimes};
use load::slices::Slice;
use load::spec::Shape;
use load::summary::Summary;
use load::user_summary::OutsideOperation;
use load::validity::{BrokenRule, MAX_STARVATION, broken_outside};

use super::drains::Drains;
use super::load_phases::MeasuredRun;
use super::record::phases::{outside_operation, user_walk};
use super::steadiness::SteadyQuantity;
use super::warm_up::WarmedUp;
use crate::plan::measure_names::wording;

const MEGABYTE: f64 = 1e6;
/// A p99 that the client's late sends make longer than this many times is the client's.
const MOST_BY_LAG: f64 = 1.05;
/// Share of the closed loop's throughput below which a server keeps up.
const MOST_WITHIN_MEANS: f64 = 0.75;

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
    /// What the standstills of that closed loop spent of the objective's budget; none where that is not known.
    pub standstills: Option<BudgetUse>,
    /// What failed in it, where nothing succeeded: there is no capacity to search.
    pub nothing_succeeds: Option<NothingSucceeds>,
    /// CPU time of the server for each operation, where it was loaded in slices at one rate or in a closed loop.
    pub cpu_time: Option<CpuTimePerOperation>,
    /// The walk and the pacing of the users in the measurement; none where the load has no users.
    pub users: Option<UserWalk>,
    /// When the slices that gave the value ran; none if it does not come from slices.
    pub loaded: Option<LoadedTime>,
    /// How long it answered what was left when slices ended.
    pub drains: Drains,
    /// Why the client may be the reason for the value.
    pub client_reasons: Vec<String>,
    /// Which rules of users were broken; none where the load has no users.
    pub user_reasons: Option<Vec<String>>,
    /// Why there is no value.
    pub reasons: Vec<String>,
    /// Share of operations that failed in the measurement; before it, in a warm-up of which nothing succeeded.
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
            standstills: None,
            nothing_succeeds: None,
            cpu_time: None,
            users: None,
            loaded: None,
            drains: Drains::default(),
            client_reasons: Vec::new(),
            user_reasons: None,
            reasons: Vec::new(),
            error_share: 0.0,
            client_utilisation: 0.0,
            outcome: None,
            response_time: None,
        }
    }

    /// A measurement after a warm-up.
    pub fn after(warm: &WarmedUp) -> Self {
        let closed_loop_per_s = warm.measured.succeeded() as f64 / warm.length.as_secs_f64().max(1e-9);
        let nothing_succeeds = NothingSucceeds::of(&warm.run, closed_loop_per_s);
        // Such a trial may measure nothing more. The gate of errors then has to know of these.
        let error_share = nothing_succeeds.as_ref().map_or(0.0, |_| Summary::of(&warm.run).error_share());
        Self {
            warm_up: Some(warm.outcome.clone()),
            unsteady: warm.unsteady.clone(),
            closed_loop_per_s,
            standstills: warm.standstills.clone(),
            nothing_succeeds,
            error_share,
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
        // A client that waits for its CPU reads late what the server has answered in time.
        let reads_in_time = slice.outcome.starvation() <= MAX_STARVATION;
        if reads_in_time && self.is_within_its_means(slice) {
            self.drains.add(slice.under_load, slice.outcome.draining);
        }
    }

    /// Whether a slice had no more load than the server can carry: above, its queue drains for long.
    fn is_within_its_means(&self, slice: &Slice) -> bool {
        match &slice.outcome.spec.part.shape {
            Shape::Closed { .. } => true,
            Shape::Open { .. } => {
                let offered = slice.outcome.total.client.offered as f64;
                offered / slice.outcome.due_for().as_secs_f64() < MOST_WITHIN_MEANS * self.closed_loop_per_s
            }
        }
    }

    /// Whether a run at this rate, operations a second, had any: without one there is no value, and this is the reason.
    pub fn has_operations(&mut self, rate: f64, run: &MeasuredRun) -> bool {
        let summary = &run.summary;
        let is_empty = summary.requests == 0 && summary.failed == 0;
        if is_empty {
            self.reasons.push(format!(
                "no operation ended in {:.1} s at {}/s: pass a higher rate, or measure for longer",
                summary.duration_s,
                thousands(rate)
            ));
        }
        !is_empty
    }

    /// Takes the value from a run that has been cut to what was measured. Where there is an objective, the capacity
    /// search has decided already whether the client was the limit.
    pub fn take(&mut self, measure: &Measure, value: f64, run: MeasuredRun) {
        let MeasuredRun { outcome, summary } = run;
        let wording = wording(measure);
        self.measured = Some(MeasuredValue {
            metric: wording.what,
            value,
            unit: wording.unit.to_owned(),
            higher_is_better: wording.higher_is_better,
        });
        // A smaller load is another one: its value is none of this load, nor a bound of one.
        let is_smaller = |rule: &&BrokenRule| {
            matches!(rule.kind(), BrokenRule::Connections { .. } | BrokenRule::SilentConnections { .. })
        };
        if let Some(rule) = summary.rules_broken.iter().find(is_smaller) {
            self.measured = None;
            self.reasons.push(rule.to_string());
        }
        // What is only known to be longer is no value of a comparison.
        let from = summary.gave_up_from_us.filter(|from| value >= *from as f64);
        if let (Measure::LatencyCurve { .. } | Measure::UserLatency, Some(from)) = (measure, from) {
            self.measured = None;
            self.reasons.push(format!(
                "the 99th percentile is not known: from {:.1} s on operations were given up without an answer: lower the load",
                from as f64 / 1e6
            ));
        }
        // Late sends do not change what an operation costs the server: its rate has a check of its own.
        if !(measure.is_capacity() || measure.is_cpu_time()) {
            let is_of_times = matches!(measure, Measure::LatencyCurve { .. } | Measure::UserLatency);
            let without_lag_us = summary.server_time_us.p99 as f64;
            let is_late = summary.response_time_us.p99 as f64 > MOST_BY_LAG * without_lag_us;
            let of_client = |rule: &&BrokenRule| match rule.kind() {
                // Failures and users have their own gates, a smaller load is above, and a clock that drifted is below.
                BrokenRule::Mix { .. }
                | BrokenRule::Delay { .. }
                | BrokenRule::DrawnDelay { .. }
                | BrokenRule::OperationLimit { .. }
                | BrokenRule::Ratio { .. }
                | BrokenRule::RefusedVisits { .. }
                | BrokenRule::OutsideOperation { .. }
                | BrokenRule::LittlesLaw { .. }
                | BrokenRule::Errors { .. }
                | BrokenRule::NothingSucceeded
                | BrokenRule::Connections { .. }
                | BrokenRule::SilentConnections { .. }
                | BrokenRule::ClockDrift { .. } => false,
                // An unread reply makes times longer. It does not change throughput while the client has CPU to
                // spare: the server's queue is shorter by as much as the client's is longer.
                BrokenRule::Pickup { .. } => is_of_times,
                // The rule asks for the median, and the value is a percentile that is known without late sends, too.
                BrokenRule::Lag { .. } => is_of_times && is_late,
                BrokenRule::ClientCpu { .. }
                | BrokenRule::Starved { .. }
                | BrokenRule::Achieved { .. }
                | BrokenRule::OfClient { .. }
                | BrokenRule::ClientLost { .. } => true,
            };
            self.client_reasons
                .extend(summary.rules_broken.iter().filter(of_client).map(ToString::to_string));
        }
        // Which intervals are merged is a question of every measure.
        let is_of_clock = |rule: &&BrokenRule| matches!(rule.kind(), BrokenRule::ClockDrift { .. });
        self.client_reasons.extend(summary.rules_broken.iter().filter(is_of_clock).map(ToString::to_string));
        self.users = summary.users.as_ref().map(user_walk);
        self.user_reasons = outcome.spec.users.as_ref().map(|_| {
            let rules = summary.rules_broken.iter().filter(|rule| rule.is_of_users());
            rules.map(ToString::to_string).collect()
        });
        self.error_share = summary.error_share();
        self.client_utilisation = summary.client.utilisation;
        self.response_time = Some(outcome.total.response_times());
        self.outcome = Some(outcome);
    }

    /// Adds what users did outside their mix, with what is wrong with it.
    pub fn add_outside(&mut self, operations: &[OutsideOperation]) {
        let Some(walk) = &mut self.users else { return };
        walk.outside.extend(operations.iter().map(outside_operation));
        let broken = broken_outside(operations);
        self.user_reasons.get_or_insert_default().extend(broken.iter().map(ToString::to_string));
    }
}

/// The amount whose rate the plan measures in a closed loop: operations, or megabytes received.
pub fn amount_of<H: RecordedTimes>(plan: &Plan, stats: &Interval<H>) -> f64 {
    match plan.measure {
        Measure::MaxBytes => SteadyQuantity::Bytes.amount(stats) / MEGABYTE,
        _ => SteadyQuantity::Operations.amount(stats),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::outcome::closed_loop_outcome;

    /// A second with operations of 1 ms, and this many that were given up after 2 s.
    fn with_given_up(count: u64) -> MeasuredRun {
        let mut outcome = closed_loop_outcome(900, 0);
        let given_up = &mut outcome.total.operations[0].unanswered;
        given_up.record_n(2_000_000, count).expect("a time");
        MeasuredRun::from(outcome)
    }

    #[test]
    fn late_sends_are_a_reason_only_where_they_change_the_percentile() {
        // A median of 1 ms and a p99 of 20 ms, of which late sends of 1 ms are a small part.
        let reasons = |of_server_us: u64| {
            let mut outcome = closed_loop_outcome(1_000, 0);
            let operation = &mut outcome.total.operations[0];
            operation.response_time.record_n(20_000, 100).expect("a time");
            operation.server_time.reset();
            operation.server_time.record_n(of_server_us, 1_100).expect("a time");
            outcome.total.client.lag.record_n(1_000, 1_100).expect("a time");
            let run = MeasuredRun::from(outcome);
            let p99 = run.summary.response_time_us.p99 as f64;
            let mut found = TrialMeasurement::without_warm_up();
            found.take(&Measure::UserLatency, p99, run);
            found.client_reasons.iter().filter(|reason| reason.contains("sent late")).count()
        };
        assert_eq!(reasons(19_500), 0);
        assert_eq!(reasons(15_000), 1);
    }

    #[test]
    fn a_percentile_that_is_only_known_to_be_longer_is_no_value() {
        let latency = Measure::LatencyCurve { rates_per_s: vec![900.0], slo: None };
        let taken = |measure: &Measure, given_up: u64| {
            let run = with_given_up(given_up);
            let p99 = run.summary.response_time_us.p99 as f64;
            let mut found = TrialMeasurement::without_warm_up();
            found.take(measure, p99, run);
            (found.measured.is_some(), found.reasons.join("; "))
        };
        assert_eq!(taken(&latency, 0), (true, String::new()));
        assert_eq!(taken(&latency, 5), (true, String::new()), "the percentile is that of answers");
        let (has_value, why) = taken(&latency, 20);
        assert!(!has_value && why.contains("from 2.0 s on operations were given up"), "{why}");
        assert!(taken(&Measure::MaxThroughput, 20).0, "throughput is known");
    }
}
