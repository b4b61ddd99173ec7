//! The load of one trial: runs of the engine, one after the other, on the same server, with their record.

use std::time::{Duration, Instant};

use archive::model::{Phase, PhaseKind, Tick};
use load::capacity::{self, CapacityStep};
use load::engine::{self, Outcome, RunContext, RunError};
use load::inputs::rate::RateProfile;
use load::inputs::slo::Slo;
use load::record::PackError;
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;

use super::phases::{Reached, phase, time_line};
use crate::event::{Event, Observer};

/// Before each open loop of a trial, so that its connections are in use when it counts.
const LEAD: Duration = Duration::from_millis(50);

/// Interval at which operations of seconds are watched.
const WATCH: Duration = Duration::from_millis(100);

/// Why the load could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The engine failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An interval does not decode; a bug.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Everything that the engine did in a trial.
pub struct LoadPhases<'a> {
    spec: LoadSpec,
    context: &'a RunContext,
    began: Instant,
    observe: &'a mut Observer<'a>,
    /// The phases so far.
    pub phases: Vec<Phase>,
    /// The time line so far.
    pub time_line: Vec<Tick>,
    /// What reached the server.
    pub reached_server: Reached,
    /// The user has asked to stop.
    pub interrupted: bool,
}

impl<'a> LoadPhases<'a> {
    /// LoadPhases as `spec` says but for shape, length and interval; times count from `began`.
    pub fn new(
        spec: LoadSpec,
        context: &'a RunContext,
        began: Instant,
        observe: &'a mut Observer<'a>,
    ) -> Self {
        Self {
            spec,
            context,
            began,
            observe,
            phases: Vec::new(),
            time_line: Vec::new(),
            reached_server: Reached::default(),
            interrupted: false,
        }
    }

    /// Tells what is being done.
    pub fn doing(&mut self, what: String) {
        (self.observe)(Event::Doing { what });
    }

    /// A closed loop as fast as it goes.
    pub fn closed_loop(
        &mut self,
        length: Duration,
        interval: Duration,
    ) -> Result<(Outcome, Summary), LoadError> {
        let shape = Shape::Closed { think: Duration::ZERO };
        let start = self.began.elapsed();
        let (outcome, summary) =
            self.run(LoadSpec { shape, duration: Some(length), interval, ..self.spec.clone() })?;
        self.keep(PhaseKind::ClosedLoop, start, &outcome, &summary, None)?;
        Ok((outcome, summary))
    }

    /// As many operations as that, one after the other, however long they take.
    pub fn operations(&mut self, kind: PhaseKind, count: u64) -> Result<Outcome, LoadError> {
        let start = self.began.elapsed();
        let spec = LoadSpec {
            shape: Shape::Closed { think: Duration::ZERO },
            duration: None,
            requests: Some(count),
            interval: WATCH,
            ..self.spec.clone()
        };
        let (outcome, summary) = self.run(spec)?;
        self.keep(kind, start, &outcome, &summary, None)?;
        Ok(outcome)
    }

    /// An open loop at a rate, held against an objective if there is one.
    pub fn open_loop(
        &mut self,
        kind: PhaseKind,
        rate: f64,
        length: Duration,
        interval: Duration,
        slo: Option<&Slo>,
    ) -> Result<(Outcome, Option<CapacityStep>), LoadError> {
        let shape = Shape::Open { rate: RateProfile::constant(rate), arrivals: Arrivals::Poisson };
        let start = self.began.elapsed();
        let spec = LoadSpec { shape, duration: Some(length), warmup: LEAD, interval, ..self.spec.clone() };
        let (outcome, summary) = self.run(spec)?;
        let step = slo.map(|slo| capacity::evaluate(rate, slo, &outcome)).transpose()?;
        self.keep(kind, start + LEAD, &outcome, &summary, step.as_ref())?;
        Ok((outcome, step))
    }

    fn run(&mut self, mut spec: LoadSpec) -> Result<(Outcome, Summary), LoadError> {
        // Every run of a trial draws differently, and all of them follow from the plan's seed.
        self.spec.seed = self.spec.seed.wrapping_add(1);
        spec.seed = self.spec.seed;
        let workers = f64::from(spec.workers);
        let observe = &mut *self.observe;
        let outcome = engine::run(&spec, self.context, &mut |event| {
            if let engine::Event::Tick { stats, .. } = event {
                let response = stats.merged(|op| &op.response_time);
                let seconds = stats.client.wall_ns as f64 / 1e9 / workers;
                observe(Event::Tick {
                    throughput_per_s: stats.succeeded() as f64 / seconds.max(1e-3),
                    p50_us: response.value_at_quantile(0.5),
                    p99_us: response.value_at_quantile(0.99),
                    errors: stats.errors().total(),
                });
            }
        })?;
        self.interrupted |= outcome.interrupted;
        self.reached_server.add(&outcome)?;
        let summary = Summary::of(&outcome)?;
        Ok((outcome, summary))
    }

    fn keep(
        &mut self,
        kind: PhaseKind,
        start: Duration,
        outcome: &Outcome,
        summary: &Summary,
        step: Option<&CapacityStep>,
    ) -> Result<(), LoadError> {
        let mut phase = phase(kind, start, outcome, summary, step.map(|step| step.meets_slo));
        if let Some(step) = step {
            // FinishedTrial against the objective, as the search holds it.
            phase.valid = step.client_reasons.is_empty();
            phase.reasons.clone_from(&step.client_reasons);
        }
        self.phases.push(phase);
        self.time_line.extend(time_line(outcome, start)?);
        Ok(())
    }
}
