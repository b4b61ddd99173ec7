//! The record of a trial: its counts, its gates, its bottleneck, and its files.

use std::thread;
use std::time::{Duration, Instant};

use archive::ArchiveError;
use archive::model::{
    ConfigFile, CountCheck, Gate, GateOutcome, Measure, MeasuredValue, TrialStatus, TrialTurns,
};
use host::secrets;
use machine::{MachineError, SystemUnderTest};
use workload::OperationCount;

use super::{LoadEnd, ServerTrial};
use crate::bottleneck::{self, ResourceReadings};
use crate::gates::{self, Exposure, GateInput};
use crate::plan::fallback::{has_alternative, options_of_cpu_time};
use crate::trial::gate_inputs::{network_use, watched};
use crate::trial::measurement::TrialMeasurement;
use crate::trial::record::load_windows::LoadWindows;
use crate::trial::record::phases::ClientCounts;
use crate::trial::record::recorders::{MachineRecording, RecordedLoad};
use crate::trial::record::server_usage;
use crate::trial::setup::{FinishedTrial, TrialError, name_logs};
use crate::trial::watts::power_record;

impl ServerTrial<'_> {
    /// Compares counts, checks the gates, and finds the bottleneck.
    pub(super) fn evaluate(
        &mut self,
        end: LoadEnd,
        recorded: &RecordedLoad,
    ) -> Result<TrialMeasurement, TrialError> {
        let result = end.measured?;
        self.trial.counts = counts(self.before.take(), end.after?, &end.client_counts).into_iter().collect();
        let setup = self.setup;
        let windows = LoadWindows {
            trial_began: self.began,
            phases: &self.trial.phases,
            loaded: result.loaded.map(|loaded| (loaded.begin, loaded.end)),
            ended: end.ended,
        };
        let (server, clients) = watched(setup.machines, self.machine, recorded, &windows);
        let under_load = result.loaded.map(|loaded| loaded.under_load);
        let usage = server_usage::usage(server.telemetry, server.measured_us, under_load, &self.parts());
        let is_in_turns = matches!(self.trial.turns, Some(TrialTurns::InTurns { .. }));
        self.trial.warm_up.clone_from(&result.warm_up);
        self.trial.measured.clone_from(&result.measured);
        self.trial.cpu_time.clone_from(&result.cpu_time);
        self.trial.users.clone_from(&result.users);
        self.trial.gates = gates::check(&GateInput {
            client_reasons: (!self.makes_own_load).then_some(result.client_reasons.as_slice()),
            user_reasons: result.user_reasons.as_deref(),
            other_measure: has_alternative(setup.plan)
                .then(|| options_of_cpu_time(setup.plan, self.makes_own_load))
                .flatten(),
            why_no_warm_up: match setup.plan.measure {
                Measure::OneByOne { .. } if result.warm_up.is_none() => {
                    Some("operations are timed one at a time, after one that is not counted")
                }
                Measure::BreakingPoint => Some("each step of downloads is held until it is steady"),
                _ => None,
            },
            unsteady: result.unsteady.clone(),
            error_share: result.error_share,
            background: self.trial.background.as_ref(),
            counts: &self.trial.counts,
            network: &network_use(setup.machines, self.machine, &result, &server),
            machines: &[&server].into_iter().chain(&clients).collect::<Vec<_>>(),
            exposure: Exposure::of(setup.plan, self.trial.turns.as_ref()),
            verification: end.verified?,
            died: end.alive.err().map(|error| error.to_string()),
        });
        self.trial.saturated = Some(bottleneck::find(&ResourceReadings {
            telemetry: server.telemetry,
            window_us: server.measured_us,
            is_in_turns,
            server_cpus: &setup.machines.get(self.machine).server_cpus,
            server_cores: usage.as_ref().map_or(0.0, |usage| usage.cores),
            client_utilisation: (!self.makes_own_load).then_some(result.client_utilisation),
        }));
        self.trial.server = usage;
        self.trial.reasons.extend(result.reasons.iter().cloned());
        let failed = |gate: &&Gate| gate.outcome == GateOutcome::Failed;
        let failures = self.trial.gates.iter().filter(failed);
        let failures: Vec<String> = failures.map(|gate| format!("{}: {}", gate.id, gate.message)).collect();
        self.trial.status = match (&self.trial.measured, failures.is_empty()) {
            _ if end.is_interrupted => TrialStatus::Interrupted,
            (Some(MeasuredValue { .. }), true) => TrialStatus::Valid,
            _ => TrialStatus::Invalid,
        };
        self.trial.reasons.extend(failures);
        Ok(result)
    }

    /// Records the watts of the meters, also of a trial that failed.
    fn write_power(&mut self) -> Result<(), ArchiveError> {
        let Some(power) = self.meters() else { return Ok(()) };
        let (variant, host) = (self.variant_point.variant, self.trial.host.as_deref());
        let records = power.between(variant, host, self.began, Instant::now());
        self.trial.power = Some(power_record::power(&records, &self.levels, self.began));
        self.trial.files.power = Some(self.writer.power(&power_record::table(&records, self.began))?);
        Ok(())
    }

    fn write_telemetry(&mut self, recorded: &RecordedLoad) -> Result<(), ArchiveError> {
        let (writer, files) = (self.writer, &mut self.trial.files);
        let table = |recorded: &MachineRecording| {
            server_usage::table(&recorded.recording, recorded.began.duration_since(self.began))
        };
        files.telemetry = Some(writer.telemetry(&table(&recorded.server))?);
        for (index, client) in &recorded.clients {
            let host = self.setup.machines.get(*index).name.as_deref();
            let file = writer.client_telemetry(host, &table(client))?;
            match host {
                Some(host) => _ = files.clients_telemetry.insert(host.to_owned(), file),
                None => files.client_telemetry = Some(file),
            }
        }
        Ok(())
    }

    /// Writes the trial's other files. Of a trial that failed there may be a recording as well.
    pub(super) fn write(
        &mut self,
        recorded: Option<&RecordedLoad>,
        outcome: Result<TrialMeasurement, TrialError>,
    ) -> Result<FinishedTrial, ArchiveError> {
        self.write_power()?;
        recorded.map_or(Ok(()), |recorded| self.write_telemetry(recorded))?;
        let (trial, writer) = (&mut self.trial, self.writer);
        let mut response_time = None;
        for (name, text) in self.sut.configuration() {
            let text = secrets::mask_text(&text);
            let path = writer.write(&format!("{}/{name}", archive::layout::CONFIG), text.as_bytes())?;
            trial.files.config.push(path.clone());
            if let Some(facts) = &mut self.facts {
                facts.config.push(ConfigFile { name, file: path });
            }
        }
        for (name, log) in self.sut.logs() {
            trial.files.logs.push(writer.write(&name, log.text.as_bytes())?);
            trial.files.logs_left_out_bytes += log.left_out;
        }
        if let Some(steps) = &self.steps {
            trial.files.concurrency = Some(writer.concurrency(steps)?);
        }
        match outcome {
            Ok(result) => {
                if let Some(outcome) = &result.outcome {
                    let mut log = Vec::new();
                    if load::hlog::write(outcome, &mut log).is_ok() {
                        trial.files.load_log = Some(writer.write(archive::layout::LOAD_LOG, &log)?);
                    }
                }
                response_time = result.response_time;
                let of_end = format!("{}: ", gates::RESTARTS);
                let reason = trial.reasons.iter_mut().find(|reason| reason.starts_with(&of_end));
                name_logs(reason, &trial.files);
            }
            Err(error) => {
                trial.status = TrialStatus::Failed;
                trial.reasons.push(error.to_string());
                let longest = if self.makes_own_load { RUNNER_END } else { Duration::ZERO };
                let ending = ending(self.sut.as_ref(), longest);
                let has_ended = ending.as_ref().is_some_and(MachineError::is_of_server);
                trial.failed_elsewhere = !(error.is_of_server() || has_ended);
                // A lost machine has one line.
                let ending = ending.map(|error| error.to_string());
                trial.reasons.extend(ending.filter(|ending| *ending != error.to_string()));
                name_logs(trial.reasons.last_mut(), &trial.files);
            }
        }
        for reason in &mut trial.reasons {
            *reason = secrets::mask_text(reason);
        }
        Ok(FinishedTrial { trial: trial.clone(), response_time, facts: self.facts.take() })
    }
}

/// The counts of server and client: of operations, or of what the server's count names.
fn counts(
    before: Option<OperationCount>,
    after: Option<OperationCount>,
    client: &ClientCounts,
) -> Option<CountCheck> {
    let (before, after) = before.zip(after)?;
    let (client, unanswered) = match &before.client_counter {
        None => (client.operations, client.unanswered),
        // What a driver counts, it has seen in replies.
        Some(counter) => (client.counters.get(counter).copied().unwrap_or(0), 0),
    };
    let server = after.count.saturating_sub(before.count);
    Some(CountCheck { counter: before.what, client, unanswered, server })
}

/// A runner closes its output before it ends, which may take long on a busy machine. How it ended explains more.
const RUNNER_END: Duration = Duration::from_secs(5);

/// How the server ended, if it did or does so soon.
fn ending(sut: &dyn SystemUnderTest, longest: Duration) -> Option<MachineError> {
    let begin = Instant::now();
    loop {
        match sut.check_alive() {
            Err(error) => return Some(error),
            Ok(()) if begin.elapsed() >= longest => return None,
            Ok(()) => thread::sleep(Duration::from_millis(20)),
        }
    }
}
