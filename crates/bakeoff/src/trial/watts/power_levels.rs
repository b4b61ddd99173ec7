//! The levels of load at which watts are measured, after the value of a trial: shares of what the server carried, each for some
//! seconds, and active idle at the end. Slices are shorter than the interval of any meter, so their watts could not be told apart.
//!
//! The order and active idle are those of `SPECpower_ssj2008` (its "Run and Reporting Rules", 2.4).

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use archive::model::{Measure, PhaseKind, Plan, PlannedPower, TrialPhase, thousands};
use load::engine::RunContext;
use load::record::Interval;
use load::spec::{Arrivals, Shape};
use stats::times::Times;

use crate::event::{Event, Observer};
use crate::trial::load_phases::LoadPhases;
use crate::trial::measurement::{TrialMeasurement, amount_of};
use crate::trial::setup::TrialError;

/// How soon an interruption is noticed while nothing is offered.
const NOTICED: Duration = Duration::from_millis(50);

/// The full load of a server, of which levels are shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullLoad {
    /// Operations per second.
    pub per_s: f64,
    /// Whether it is a closed loop, which has no rate of its own.
    pub is_closed: bool,
}

/// A level that was run. Times are from the begin of the trial.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRun {
    /// Share of the full load; 0 for active idle.
    pub share: f64,
    /// When its watts begin to count.
    pub start: Duration,
    /// For how long.
    pub length: Duration,
    /// Operations per second that were due.
    pub offered_per_s: Option<f64>,
    /// Operations or megabytes per second.
    pub work_per_s: f64,
    /// 99th percentile of response time, microseconds.
    pub p99_us: Option<u64>,
    /// The least response time that is a lower bound: of an operation that was given up.
    pub gave_up_from_us: Option<u64>,
}

impl FullLoad {
    /// The full load of a trial with this measurement: what its value stands for. None where it has no value, or the value is of
    /// single operations.
    pub fn of(plan: &Plan, rate: Option<f64>, result: &TrialMeasurement) -> Option<Self> {
        let measured = result.measured.as_ref()?;
        let open = |per_s: f64| Some(Self { per_s, is_closed: false }).filter(|_| per_s > 0.0);
        if let Some(rate) = rate {
            return open(rate);
        }
        match &plan.measure {
            // The plan of a load of users has no levels: a share of them would be another population.
            Measure::OneByOne { .. }
            | Measure::BreakingPoint
            | Measure::UserCpuTime
            | Measure::UserLatency => None,
            Measure::Capacity { .. } => open(measured.value),
            Measure::LatencyCurve { rates_per_s, .. } => rates_per_s.last().copied().and_then(open),
            Measure::CpuTime { .. } => result.cpu_time.as_ref().and_then(|cpu| open(cpu.rate_per_s)),
            Measure::MaxThroughput | Measure::MaxBytes => {
                let outcome = result.outcome.as_ref()?;
                let operations = outcome.total.succeeded().saturating_sub(outcome.drain.succeeded());
                let per_s = operations as f64 / outcome.measured.as_secs_f64().max(1e-9);
                Some(Self { per_s, is_closed: true }).filter(|_| operations > 0)
            }
        }
    }

    /// The load of a share of it.
    fn shape(self, share: f64) -> Shape {
        if self.is_closed && share >= 1.0 {
            Shape::closed()
        } else {
            Shape::open(self.per_s * share, Arrivals::Poisson)
        }
    }
}

/// A server that is to be loaded at levels.
pub struct LevelsOf<'l, 'a> {
    /// The plan.
    pub plan: &'l Plan,
    /// Its levels.
    pub planned: &'l PlannedPower,
    /// The server's name.
    pub name: &'l str,
    /// Its full load; none where its operations are timed one by one, and their phase is the full load.
    pub full: Option<FullLoad>,
    /// Whether a share of it can be offered: a program that makes its own load knows only the closed loop.
    pub has_shares: bool,
    /// Its load.
    pub loads: &'l mut LoadPhases<'a>,
    /// Says whether the user interrupts.
    pub context: &'l RunContext,
    /// When the trial began.
    pub began: Instant,
}

impl LevelsOf<'_, '_> {
    /// Runs the levels, and active idle. What was run until an interruption is returned.
    pub fn run(&mut self, observe: &mut Observer<'_>) -> Result<Vec<LevelRun>, TrialError> {
        let mut runs = match self.full {
            Some(full) => self.shares(full, observe)?,
            None => self
                .loads
                .phases
                .iter()
                .filter(|phase| phase.kind == PhaseKind::Measure)
                .map(of_phase)
                .collect(),
        };
        if !self.loads.interrupted {
            runs.extend(self.idle(observe));
        }
        Ok(runs)
    }

    fn shares(&mut self, full: FullLoad, observe: &mut Observer<'_>) -> Result<Vec<LevelRun>, TrialError> {
        let mut runs = Vec::new();
        for share in &self.planned.levels {
            if *share < 1.0 && !self.has_shares {
                continue;
            }
            let (percent, per_s) = (share * 100.0, thousands(full.per_s));
            observe(Event::Doing { what: format!("watts of {} at {percent:.0} % of {per_s}/s", self.name) });
            let shape = full.shape(*share);
            let (start, run) = self.loads.level(shape, self.planned.settle, self.planned.measure, observe)?;
            if self.loads.interrupted {
                return Ok(runs);
            }
            let outcome = &run.outcome;
            let amount = |stats: &Interval| amount_of(self.plan, stats);
            let work = amount(&outcome.total) - amount(&outcome.drain);
            let is_open = matches!(outcome.spec.part.shape, Shape::Open { .. });
            runs.push(LevelRun {
                share: *share,
                start,
                length: outcome.measured,
                offered_per_s: is_open.then_some(run.summary.offered_per_s),
                work_per_s: work / outcome.measured.as_secs_f64().max(1e-9),
                p99_us: known_p99(&run.summary.response_time_us),
                gave_up_from_us: run.summary.gave_up_from_us,
            });
        }
        Ok(runs)
    }

    /// Active idle; none if the user interrupts.
    fn idle(&mut self, observe: &mut Observer<'_>) -> Option<LevelRun> {
        observe(Event::Doing { what: format!("watts of {} in active idle", self.name) });
        if !self.wait(self.planned.settle) {
            return None;
        }
        let start = self.began.elapsed();
        if !self.wait(self.planned.measure) {
            return None;
        }
        let length = self.began.elapsed().saturating_sub(start);
        Some(LevelRun {
            share: 0.0,
            start,
            length,
            offered_per_s: None,
            work_per_s: 0.0,
            p99_us: None,
            gave_up_from_us: None,
        })
    }

    /// Waits this long: false if the user interrupts.
    fn wait(&mut self, length: Duration) -> bool {
        let until = Instant::now() + length;
        loop {
            self.loads.interrupted |= self.context.interrupted.load(Ordering::Relaxed);
            let left = until.saturating_duration_since(Instant::now());
            if self.loads.interrupted || left.is_zero() {
                return !self.loads.interrupted;
            }
            thread::sleep(left.min(NOTICED));
        }
    }
}

/// Where any operation ended, or was given up.
fn known_p99(times: &Times) -> Option<u64> {
    (!times.is_empty()).then_some(times.p99)
}

/// The phase in which operations were timed one by one.
fn of_phase(phase: &TrialPhase) -> LevelRun {
    let of = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    LevelRun {
        share: 1.0,
        start: of(phase.start_s),
        length: of(phase.length_s),
        offered_per_s: None,
        work_per_s: phase.requests as f64 / phase.length_s.max(1e-9),
        p99_us: known_p99(&phase.response_time_us),
        gave_up_from_us: phase.gave_up_from_us,
    }
}

#[cfg(test)]
mod tests {
    use archive::model::{CpuTimePerOperation, MeasuredValue};

    use super::*;
    use crate::testing::plan::PLAN;

    fn result(value: f64) -> TrialMeasurement {
        let measured =
            MeasuredValue { metric: String::new(), value, unit: "/s".to_owned(), higher_is_better: true };
        TrialMeasurement { measured: Some(measured), ..TrialMeasurement::without_warm_up() }
    }

    fn plan(measure: Measure) -> Plan {
        Plan { measure, ..PLAN.parse().unwrap_or_else(|error| panic!("{error}")) }
    }

    #[test]
    fn the_full_load_is_what_the_value_stands_for() {
        let capacity = plan(Measure::Capacity { slo: "p99<5ms".to_owned() });
        let open = |per_s| Some(FullLoad { per_s, is_closed: false });
        assert_eq!(FullLoad::of(&capacity, None, &result(900.0)), open(900.0));
        assert_eq!(FullLoad::of(&capacity, Some(50.0), &result(900.0)), open(50.0), "the rate of a sweep");
        let unmeasured = TrialMeasurement::without_warm_up();
        assert_eq!(FullLoad::of(&capacity, None, &unmeasured), None);
        let latency = plan(Measure::LatencyCurve { rates_per_s: vec![10.0, 20.0], slo: None });
        assert_eq!(FullLoad::of(&latency, None, &result(3.0)), open(20.0), "not the p99");
        let one_by_one = plan(Measure::OneByOne { operations: 1 });
        assert_eq!(FullLoad::of(&one_by_one, None, &result(3.0)), None);
        let cpu = CpuTimePerOperation {
            rate_per_s: 70.0,
            cpu_s: 1.0,
            operations: 1,
            user_us: 1.0,
            system_us: 1.0,
            between_s: 0.0,
            slices_us: Vec::new(),
            stolen_s: 0.0,
            others_cores: None,
            parts: Vec::new(),
        };
        let of_cpu = TrialMeasurement { cpu_time: Some(cpu), ..result(3.0) };
        assert_eq!(FullLoad::of(&plan(Measure::CpuTime { rate_per_s: None }), None, &of_cpu), open(70.0));
    }

    #[test]
    fn only_the_full_load_of_a_closed_loop_is_closed() {
        let closed = FullLoad { per_s: 100.0, is_closed: true };
        assert!(matches!(closed.shape(1.0), Shape::Closed { .. }));
        assert!(matches!(closed.shape(0.5), Shape::Open { .. }));
        let open = FullLoad { is_closed: false, ..closed };
        assert!(matches!(open.shape(1.0), Shape::Open { .. }));
    }
}
