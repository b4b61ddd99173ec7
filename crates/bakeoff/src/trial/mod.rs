//! One trial: a server is started, loaded with data, checked, warmed up, measured, asked what it counted, judged
//! and stopped. Whatever goes wrong with the server becomes part of the trial's record.

mod background;
mod evidence;
mod load_phases;
mod measure;
mod phases;
mod steadiness;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::load::drivers::ProtocolSpec;
use ::load::engine::RunContext;
use ::load::record::Micros;
use ::load::spec::LoadSpec;
use archive::TrialWriter;
use archive::model::{
    ConfigFile, CountCheck, FORMAT, Gate, GateOutcome, Measure, Measured, Phase, PhaseKind, Plan, Trial,
    TrialFiles, TrialStatus, VariantFacts,
};
use host::telemetry::{Recording, SampledServer};
use host::{CpuSet, Host};

use crate::bottleneck::{self, Situation};
use crate::cell::Cell;
use crate::event::{Event, Observer};
use crate::gates::{self, Evidence};
use crate::order::Slot;
use crate::preset::telemetry_period;
use crate::sut::{SutError, SystemUnderTest};
use background::BackgroundLoad;
use load_phases::{LoadError, LoadPhases};
use phases::Reached;
use workload::OperationCount;

/// What came of a trial.
pub struct FinishedTrial {
    /// The trial's record.
    pub trial: Trial,
    /// Response times of its measurement.
    pub response_time: Option<Micros>,
    /// The variant's facts, as its server showed them.
    pub facts: Option<VariantFacts>,
}

pub use phases::curve;

/// What surrounds a trial.
pub struct TrialSetup<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The machine.
    pub host: &'a Host,
    /// The server's CPUs.
    pub server_cpus: &'a CpuSet,
    /// The client's CPUs.
    pub client_cpus: &'a CpuSet,
    /// What surrounds the engine.
    pub context: &'a RunContext,
}

/// Why a trial failed: its server, or the load.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    SystemUnderTest(#[from] SutError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("telemetry cannot be taken: {0}")]
    Telemetry(std::io::Error),
}

/// A trial of which nothing is known but its place, and that has failed if nothing more becomes known.
pub fn blank(plan: &Plan, slot: &Slot, cell: &Cell) -> Trial {
    Trial {
        format: FORMAT,
        number: slot.number,
        block: slot.block,
        position: slot.position,
        variant: plan.variants[cell.variant].name.clone(),
        point: cell.point.clone(),
        started_unix_ms: 0,
        duration_s: 0.0,
        status: TrialStatus::Failed,
        reasons: Vec::new(),
        gates: Vec::new(),
        measured: None,
        phases: Vec::new(),
        background: None,
        warm_up: None,
        timeline: Vec::new(),
        counts: Vec::new(),
        server: None,
        saturated: None,
        files: TrialFiles::default(),
    }
}

/// Holds one trial. `start` starts the server; `hint` is the value of an earlier trial of the same cell.
pub fn run(
    setup: &TrialSetup<'_>,
    slot: &Slot,
    cell: &Cell,
    start: impl FnOnce() -> Result<Box<dyn SystemUnderTest>, SutError>,
    hint: Option<f64>,
    writer: &TrialWriter,
    observe: &mut Observer<'_>,
) -> Result<FinishedTrial, archive::ArchiveError> {
    let began = Instant::now();
    let started_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    let blank = Trial { started_unix_ms, ..blank(setup.plan, slot, cell) };
    let mut finished = match start() {
        Ok(mut sut) => {
            let mut bout =
                TrialRun { setup, cell, began, sut: sut.as_mut(), trial: blank, facts: None, is_own: false };
            let outcome = bout.execute(hint, observe);
            let (trial, facts) = (bout.trial, bout.facts);
            let finished = finish(trial, facts, outcome, sut.as_ref(), writer)?;
            sut.stop();
            finished
        }
        Err(error) => FinishedTrial {
            trial: Trial { reasons: vec![error.to_string()], ..blank },
            response_time: None,
            facts: None,
        },
    };
    // What fails because the user has had enough says nothing of the server.
    if finished.trial.status == TrialStatus::Failed && is_interrupted(setup) {
        finished.trial.status = TrialStatus::Interrupted;
    }
    finished.trial.duration_s = began.elapsed().as_secs_f64();
    Ok(finished)
}

fn is_interrupted(setup: &TrialSetup<'_>) -> bool {
    setup.context.interrupted.load(std::sync::atomic::Ordering::Relaxed)
}

/// A trial under way.
struct TrialRun<'a> {
    setup: &'a TrialSetup<'a>,
    cell: &'a Cell,
    began: Instant,
    sut: &'a mut dyn SystemUnderTest,
    trial: Trial,
    facts: Option<VariantFacts>,
    /// The contender makes its load by itself.
    is_own: bool,
}

/// What a bout leaves for the files.
struct TrialOutcome {
    recording: Recording,
    /// From the trial's start to the recording's.
    lead: Duration,
    result: measure::Result,
}

impl TrialRun<'_> {
    fn execute(&mut self, hint: Option<f64>, observe: &mut Observer<'_>) -> Result<TrialOutcome, TrialError> {
        let plan = self.setup.plan;
        observe(Event::Doing { what: "loading data and checking replies".to_owned() });
        self.sut.prepare(self.setup.context)?;
        self.facts = Some(self.sut.facts());
        let before = self.sut.count()?;
        let servers = vec![SampledServer { name: evidence::WATCH.to_owned(), trees: self.sut.trees() }];
        let sampler =
            self.setup.host.sample(servers, telemetry_period(plan.length)).map_err(TrialError::Telemetry)?;
        let sampled_from = sampler.started();
        let load_from = sampled_from.elapsed();

        let spec = self.spec()?;
        self.is_own = matches!(spec.protocol, ProtocolSpec::Runner(_));
        let background = plan.background.map(|load| BackgroundLoad::start(&spec, load, self.setup.context));
        let beside_from = self.began.elapsed();
        let mut loads = LoadPhases::new(spec, self.setup.context, self.began, observe);
        let measured = measure::measure(plan, self.cell.rate_per_s(), hint, &mut loads);
        let (phases, timeline, mut reached, interrupted) =
            (loads.phases, loads.time_line, loads.reached_server, loads.interrupted);
        let background = background.map(BackgroundLoad::stop);
        let window = (load_from, sampled_from.elapsed());
        let died = self.sut.check_alive();
        let after = if died.is_none() { self.sut.count() } else { Ok(None) };
        let recording = sampler.stop();
        (self.trial.phases, self.trial.timeline) = (phases, timeline);
        let result = measured?;
        if let Some(outcome) = background.transpose().map_err(LoadError::from)? {
            reached.add(&outcome).map_err(LoadError::from)?;
            self.trial.background = Some(background::record(&outcome, beside_from).map_err(LoadError::from)?);
        }
        self.trial.counts = counts(before, after?, &reached).into_iter().collect();
        self.evaluate(&result, &recording, window, died);
        if interrupted {
            self.trial.status = TrialStatus::Interrupted;
        }
        let lead = sampled_from.duration_since(self.began);
        Ok(TrialOutcome { recording, lead, result })
    }

    /// What the engine is to do, but for shape and length.
    fn spec(&self) -> Result<LoadSpec, TrialError> {
        let plan = self.setup.plan;
        let mut spec = self.sut.load_spec()?;
        spec.connections = self.cell.connections(plan);
        spec.workers = plan.load.threads.min(spec.connections);
        spec.seed = u64::from(plan.seed) << 32 | u64::from(self.trial.number) << 8;
        Ok(spec)
    }

    fn evaluate(
        &mut self,
        result: &measure::Result,
        recording: &Recording,
        (from, to): (Duration, Duration),
        died: Option<String>,
    ) {
        let setup = self.setup;
        let window_us = (from.as_micros() as u64, to.as_micros() as u64);
        let measured_us = measured_window(&self.trial.phases, window_us, self.began_us(from));
        let usage = evidence::usage(recording, measured_us);
        self.trial.warm_up.clone_from(&result.warm_up);
        self.trial.measured.clone_from(&result.measured);
        self.trial.gates = gates::check(&Evidence {
            client_reasons: (!self.is_own).then_some(result.client_reasons.as_slice()),
            is_watched: result.warm_up.is_some() || !matches!(setup.plan.measure, Measure::OneByOne { .. }),
            unsteady: result.unsteady.clone(),
            error_share: result.error_share,
            background: self.trial.background.as_ref(),
            counts: &self.trial.counts,
            telemetry: recording,
            cpus: &setup.server_cpus.iter().chain(setup.client_cpus.iter()).collect(),
            window_us,
            measured_us,
            restarted: died,
        });
        self.trial.saturated = Some(bottleneck::find(&Situation {
            telemetry: recording,
            window_us: measured_us,
            server_cpus: setup.server_cpus,
            server_cores: usage.as_ref().map_or(0.0, |usage| usage.cores),
            client_utilisation: (!self.is_own).then_some(result.client_utilisation),
        }));
        self.trial.server = usage;
        self.trial.reasons.extend(result.reasons.iter().cloned());
        let failed = |gate: &&Gate| gate.outcome == GateOutcome::Failed;
        let failures: Vec<String> = self
            .trial
            .gates
            .iter()
            .filter(failed)
            .map(|gate| format!("{}: {}", gate.id, gate.message))
            .collect();
        self.trial.status = match (&self.trial.measured, failures.is_empty()) {
            (Some(Measured { .. }), true) => TrialStatus::Valid,
            _ => TrialStatus::Invalid,
        };
        self.trial.reasons.extend(failures);
    }

    /// The trial's beginning on the recording's time line, which began `from` before the load did.
    fn began_us(&self, from: Duration) -> i64 {
        let first = self.trial.phases.first().map_or(0.0, |phase| phase.start_s);
        from.as_micros() as i64 - (first * 1e6) as i64
    }
}

/// The stretch of the recording in which the value was measured; the whole load where that was too short to
/// hold two samples.
fn measured_window(phases: &[Phase], whole: (u64, u64), began_us: i64) -> (u64, u64) {
    const SHORT_US: u64 = 2_000_000;
    let central = phases.iter().rev().find(|p| p.kind == PhaseKind::Measure).or(phases.last());
    let Some(phase) = central else { return whole };
    let at = |seconds: f64| (began_us + (seconds * 1e6) as i64).max(0).cast_unsigned();
    let (from, to) = (at(phase.start_s), at(phase.start_s + phase.length_s));
    if to.saturating_sub(from) < SHORT_US { whole } else { (from, to) }
}

/// Holds what the server has counted against what the client has: operations, or what it names.
fn counts(
    before: Option<OperationCount>,
    after: Option<OperationCount>,
    reached: &Reached,
) -> Option<CountCheck> {
    let (before, after) = before.zip(after)?;
    let client = match &before.client_counter {
        None => reached.operations,
        Some(counter) => reached.counters.get(counter).copied().unwrap_or(0),
    };
    Some(CountCheck { what: before.what, client, server: after.count.saturating_sub(before.count) })
}

/// Writes what lies beside the record, and closes the record.
fn finish(
    mut trial: Trial,
    mut facts: Option<VariantFacts>,
    outcome: Result<TrialOutcome, TrialError>,
    sut: &dyn SystemUnderTest,
    writer: &TrialWriter,
) -> Result<FinishedTrial, archive::ArchiveError> {
    let mut response_time: Option<Micros> = None;
    for (name, text) in sut.configuration() {
        let path = writer.write(&format!("{}/{name}", archive::layout::CONFIG), text.as_bytes())?;
        trial.files.config.push(path.clone());
        if let Some(facts) = &mut facts {
            facts.config.push(ConfigFile { name, file: path });
        }
    }
    for (name, log) in sut.logs() {
        trial.files.logs.push(writer.write(&name, &log)?);
    }
    match outcome {
        Ok(TrialOutcome { recording, lead, result }) => {
            trial.files.telemetry = Some(writer.telemetry(&evidence::table(&recording, lead))?);
            if let Some(outcome) = &result.outcome {
                let mut log = Vec::new();
                if ::load::hlog::write(outcome, &mut log).is_ok() {
                    trial.files.load_log = Some(writer.write(archive::layout::LOAD_LOG, &log)?);
                }
            }
            response_time = result.response_time;
        }
        Err(error) => {
            trial.status = TrialStatus::Failed;
            trial.reasons.push(error.to_string());
            trial.reasons.extend(sut.check_alive());
        }
    }
    Ok(FinishedTrial { trial, response_time, facts })
}
