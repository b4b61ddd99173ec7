//! One trial: start the server, load its data, check its replies, warm it up, measure it, read its operation count, check
//! the gates, and stop it. A failure of the server becomes part of the trial's record.

mod background;
mod load_phases;
mod measure;
mod phases;
mod server_usage;
mod steadiness;

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::load::drivers::ProtocolSpec;
use ::load::engine::{RunContext, RunError};
use ::load::record::Micros;
use ::load::spec::LoadSpec;
use archive::TrialWriter;
use archive::model::{
    ConfigFile, CountCheck, FORMAT, Gate, GateOutcome, Measure, MeasuredValue, PhaseKind, Plan, Trial,
    TrialFiles, TrialPhase, TrialStatus, VariantFacts,
};
use host::telemetry::{Recording, SampledServer};
use host::{CpuSet, Host, secrets};

use crate::bottleneck::{self, ResourceReadings};
use crate::event::{Event, Observer};
use crate::gates::{self, GateInput};
use crate::preset::telemetry_period;
use crate::system_under_test::{SutError, SystemUnderTest};
use crate::trial_order::ScheduledTrial;
use crate::variant_point::VariantPoint;
use background::BackgroundLoad;
use load_phases::LoadPhases;
use phases::ClientCounts;
use workload::OperationCount;

/// A trial that has ended.
pub struct FinishedTrial {
    /// The trial's record.
    pub trial: Trial,
    /// Response times of its measurement; none if it ended before that.
    pub response_time: Option<Micros>,
    /// The variant's facts; none if its server did not start.
    pub facts: Option<VariantFacts>,
}

pub use phases::curve;

/// What all trials of a run have in common.
pub struct TrialSetup<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The machine to run on.
    pub host: &'a Host,
    /// The server's CPUs.
    pub server_cpus: &'a CpuSet,
    /// The client's CPUs.
    pub client_cpus: &'a CpuSet,
    /// The context of the engine.
    pub context: &'a RunContext,
}

/// Why a trial failed.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    SystemUnderTest(#[from] SutError),
    #[error(transparent)]
    Load(#[from] RunError),
    #[error("cannot record telemetry: {0}")]
    Telemetry(std::io::Error),
}

/// The record of a trial that has not begun. Its status is `Failed` until it has another.
pub fn blank(plan: &Plan, scheduled: &ScheduledTrial, variant_point: &VariantPoint) -> Trial {
    Trial {
        format: FORMAT,
        number: scheduled.number,
        block: scheduled.block,
        position: scheduled.position,
        variant: plan.variants[variant_point.variant].name.clone(),
        point: variant_point.point.clone(),
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

/// Runs one trial. `start` starts the server; `hint` is the value of an earlier trial of the same variant and point.
pub fn run(
    setup: &TrialSetup<'_>,
    scheduled: &ScheduledTrial,
    variant_point: &VariantPoint,
    start: impl FnOnce() -> Result<Box<dyn SystemUnderTest>, SutError>,
    hint: Option<f64>,
    writer: &TrialWriter,
    observe: &mut Observer<'_>,
) -> Result<FinishedTrial, archive::ArchiveError> {
    let began = Instant::now();
    let started_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    let blank = Trial { started_unix_ms, ..blank(setup.plan, scheduled, variant_point) };
    let mut finished = match start() {
        Ok(mut sut) => {
            let mut trial_run = TrialRun {
                setup,
                variant_point,
                began,
                sut: sut.as_mut(),
                trial: blank,
                facts: None,
                makes_own_load: false,
            };
            let outcome = trial_run.execute(hint, observe);
            let TrialRun { trial, facts, makes_own_load, .. } = trial_run;
            let longest = if makes_own_load { RUNNER_END } else { Duration::ZERO };
            let finished = finish(trial, facts, outcome, (sut.as_ref(), longest), writer)?;
            sut.stop();
            finished
        }
        Err(error) => FinishedTrial {
            trial: Trial { reasons: vec![error.to_string()], ..blank },
            response_time: None,
            facts: None,
        },
    };
    // A trial that failed because the user interrupted it is no failure of the server.
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
    variant_point: &'a VariantPoint,
    began: Instant,
    sut: &'a mut dyn SystemUnderTest,
    trial: Trial,
    facts: Option<VariantFacts>,
    /// Whether the program under test generates the load.
    makes_own_load: bool,
}

/// What a trial leaves for the run directory.
struct TrialOutcome {
    recording: Recording,
    /// From the start of the trial to that of the recording.
    lead: Duration,
    result: measure::TrialMeasurement,
}

impl TrialRun<'_> {
    fn execute(&mut self, hint: Option<f64>, observe: &mut Observer<'_>) -> Result<TrialOutcome, TrialError> {
        let plan = self.setup.plan;
        observe(Event::Doing { what: "loading data and checking replies".to_owned() });
        self.sut.prepare(self.setup.context)?;
        self.facts = Some(self.sut.facts());
        let before = self.sut.count()?;
        let servers = vec![SampledServer { name: server_usage::WATCH.to_owned(), trees: self.sut.trees() }];
        let sampler =
            self.setup.host.sample(servers, telemetry_period(plan.length)).map_err(TrialError::Telemetry)?;
        let sampled_from = sampler.started();
        let load_from = sampled_from.elapsed();

        let spec = self.spec()?;
        self.makes_own_load = matches!(spec.protocol, ProtocolSpec::Runner(_));
        let background = plan.background.map(|load| BackgroundLoad::start(&spec, load, self.setup.context));
        let background_from = self.began.elapsed();
        let mut loads = LoadPhases::new(spec, self.setup.context, self.began, observe);
        let measured = measure::measure(plan, self.variant_point.rate_per_s(), hint, &mut loads);
        let (phases, timeline, mut client_counts, interrupted) =
            (loads.phases, loads.time_line, loads.client_counts, loads.interrupted);
        let background = background.map(BackgroundLoad::stop);
        let window = (load_from, sampled_from.elapsed());
        let alive = self.sut.check_alive();
        let after = if alive.is_ok() { self.sut.count() } else { Ok(None) };
        let recording = sampler.stop();
        (self.trial.phases, self.trial.timeline) = (phases, timeline);
        let result = measured?;
        if let Some(outcome) = background.transpose()? {
            client_counts.add(&outcome);
            self.trial.background = Some(background::phase_of(&outcome, background_from));
        }
        self.trial.counts = counts(before, after?, &client_counts).into_iter().collect();
        self.evaluate(&result, &recording, window, alive);
        if interrupted {
            self.trial.status = TrialStatus::Interrupted;
        }
        let lead = sampled_from.duration_since(self.began);
        Ok(TrialOutcome { recording, lead, result })
    }

    /// The load of this trial, except for shape and length.
    fn spec(&self) -> Result<LoadSpec, TrialError> {
        let plan = self.setup.plan;
        let mut spec = self.sut.load_spec()?;
        spec.connections = self.variant_point.connections(plan);
        spec.workers = plan.load.threads.min(spec.connections);
        spec.seed = u64::from(plan.seed) << 32 | u64::from(self.trial.number) << 8;
        Ok(spec)
    }

    /// Checks the gates, and finds the bottleneck.
    fn evaluate(
        &mut self,
        result: &measure::TrialMeasurement,
        recording: &Recording,
        (from, to): (Duration, Duration),
        alive: Result<(), SutError>,
    ) {
        let setup = self.setup;
        let window_us = (from.as_micros() as u64, to.as_micros() as u64);
        let measured_us = measured_window(&self.trial.phases, window_us, self.began_us(from));
        let usage = server_usage::usage(recording, measured_us);
        self.trial.warm_up.clone_from(&result.warm_up);
        self.trial.measured.clone_from(&result.measured);
        self.trial.gates = gates::check(&GateInput {
            client_reasons: (!self.makes_own_load).then_some(result.client_reasons.as_slice()),
            has_warm_up: result.warm_up.is_some() || !matches!(setup.plan.measure, Measure::OneByOne { .. }),
            unsteady: result.unsteady.clone(),
            error_share: result.error_share,
            background: self.trial.background.as_ref(),
            counts: &self.trial.counts,
            telemetry: recording,
            cpus: &setup.server_cpus.iter().chain(setup.client_cpus.iter()).collect(),
            window_us,
            measured_us,
            died: alive.err().map(|error| error.to_string()),
        });
        self.trial.saturated = Some(bottleneck::find(&ResourceReadings {
            telemetry: recording,
            window_us: measured_us,
            server_cpus: setup.server_cpus,
            server_cores: usage.as_ref().map_or(0.0, |usage| usage.cores),
            client_utilisation: (!self.makes_own_load).then_some(result.client_utilisation),
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
            (Some(MeasuredValue { .. }), true) => TrialStatus::Valid,
            _ => TrialStatus::Invalid,
        };
        self.trial.reasons.extend(failures);
    }

    /// When the trial began, on the recording's time line; the load began `from` after the recording.
    fn began_us(&self, from: Duration) -> i64 {
        let first = self.trial.phases.first().map_or(0.0, |phase| phase.start_s);
        from.as_micros() as i64 - (first * 1e6) as i64
    }
}

/// The window of the recording in which the value was measured; the whole load where that is too short for two samples.
fn measured_window(phases: &[TrialPhase], whole: (u64, u64), began_us: i64) -> (u64, u64) {
    const SHORT_US: u64 = 2_000_000;
    let central = phases.iter().rev().find(|p| p.kind == PhaseKind::Measure).or(phases.last());
    let Some(phase) = central else { return whole };
    let at = |seconds: f64| (began_us + (seconds * 1e6) as i64).max(0).cast_unsigned();
    let (from, to) = (at(phase.start_s), at(phase.start_s + phase.length_s));
    if to.saturating_sub(from) < SHORT_US { whole } else { (from, to) }
}

/// The counts of server and client: of operations, or of what the server's count names.
fn counts(
    before: Option<OperationCount>,
    after: Option<OperationCount>,
    client: &ClientCounts,
) -> Option<CountCheck> {
    let (before, after) = before.zip(after)?;
    let client = match &before.client_counter {
        None => client.operations,
        Some(counter) => client.counters.get(counter).copied().unwrap_or(0),
    };
    Some(CountCheck { counter: before.what, client, server: after.count.saturating_sub(before.count) })
}

/// A runner closes its output before it ends, which may take long on a busy machine. How it ended explains more.
const RUNNER_END: Duration = Duration::from_secs(5);

/// How the server ended, if it did or does so soon.
fn ending(sut: &dyn SystemUnderTest, longest: Duration) -> Option<SutError> {
    let begin = Instant::now();
    loop {
        match sut.check_alive() {
            Err(error) => return Some(error),
            Ok(()) if begin.elapsed() >= longest => return None,
            Ok(()) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Writes the trial's other files, and completes its record. After a failure it waits at most `longest_end` for the server
/// to end.
fn finish(
    mut trial: Trial,
    mut facts: Option<VariantFacts>,
    outcome: Result<TrialOutcome, TrialError>,
    (sut, longest_end): (&dyn SystemUnderTest, Duration),
    writer: &TrialWriter,
) -> Result<FinishedTrial, archive::ArchiveError> {
    let mut response_time: Option<Micros> = None;
    for (name, text) in sut.configuration() {
        let text = secrets::mask_text(&text);
        let path = writer.write(&format!("{}/{name}", archive::layout::CONFIG), text.as_bytes())?;
        trial.files.config.push(path.clone());
        if let Some(facts) = &mut facts {
            facts.config.push(ConfigFile { name, file: path });
        }
    }
    for (name, log) in sut.logs() {
        trial.files.logs.push(writer.write(&name, &log.text)?);
        trial.files.logs_left_out_bytes += log.left_out;
    }
    match outcome {
        Ok(TrialOutcome { recording, lead, result }) => {
            trial.files.telemetry = Some(writer.telemetry(&server_usage::table(&recording, lead))?);
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
            trial.reasons.extend(ending(sut, longest_end).map(|error| error.to_string()));
        }
    }
    for reason in &mut trial.reasons {
        *reason = secrets::mask_text(reason);
    }
    Ok(FinishedTrial { trial, response_time, facts })
}
