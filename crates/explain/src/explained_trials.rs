//! What probably limited the variants of a comparison, from what its trials have recorded anyway: nothing is loaded for it.
//!
//! Servers of a block share their machine, and its telemetry has all of them. In the closed loop that warms a server up, it alone
//! is loaded. So the telemetry of that time is evidence for this server, and for no other. Experiments are left to a study.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use archive::Run;
use archive::model::{
    ExplainedServer, Explanation, ExplanationBasis, PhaseKind, Plan, RunKind, Trial, TrialPhase, TrialStatus,
    Variant,
};
use archive::telemetry::{Column, Telemetry};
use bakeoff::plan_request;
use host::CpuSet;
use host::telemetry::{Recording, TelemetryColumn, TelemetrySample};

use crate::figures::{self, CPU_IN_KERNEL, CPU_PER_OPERATION};
use crate::perturbable_loop::{LoopFacts, SliceReading};
use crate::study::suspects_only;

/// The share of a closed loop at its beginning that is not evidence: the server is cold.
const COLD: f64 = 0.3;

/// The short form of an explanation for each variant of a comparison; none where no trial has loaded a server in a closed loop.
pub fn explain_trials(run: &Run) -> Option<Explanation> {
    let plan = run.plan.as_ref().filter(|plan| plan.kind == RunKind::Compare)?;
    let servers: Vec<ExplainedServer> =
        plan.variants.iter().filter_map(|variant| explained(run, plan, variant)).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    (!servers.is_empty()).then(|| Explanation {
        can_be_studied: Some(plan_request::explaining(plan, &[], false).is_ok()),
        ..Explanation::new(&plan.workload, ExplanationBasis::Trials, now, servers, None)
    })
}

/// The figures of a trial by name, as far as its own closed loop tells them, with the CPU time of its slices where that was
/// metered: servers in turns meet the same state of the machine, their closed loops one after the other do not.
pub fn trial_figures(run: &Run, trial: &Trial) -> BTreeMap<String, f64> {
    let mut figures = figures_of_closed_loop(run, trial);
    if let Some(cpu) = &trial.cpu_time {
        figures.insert(CPU_PER_OPERATION.to_owned(), cpu.each_us());
        figures.insert(CPU_IN_KERNEL.to_owned(), cpu.system_us / cpu.each_us());
    }
    figures
}

/// None are known of a trial that did not run a closed loop of its own.
fn figures_of_closed_loop(run: &Run, trial: &Trial) -> BTreeMap<String, f64> {
    let found = run.plan.as_ref().and_then(|plan| {
        let variant = plan.variants.iter().find(|variant| variant.name == trial.variant)?;
        let telemetry = run.telemetry(trial).ok().flatten();
        let reading = reading(trial, closed_loop(trial)?, telemetry.as_ref(), plan.load.connections);
        let server_cpus = server_cpus(plan, variant, &reading);
        let facts = LoopFacts::of_record(&variant.name, plan.load.connections, server_cpus);
        Some(figures::of_slices(&facts, &[reading]).values())
    });
    found.unwrap_or_default()
}

fn explained(run: &Run, plan: &Plan, variant: &Variant) -> Option<ExplainedServer> {
    let trials = run.trials.iter().map(|record| &record.trial).filter(|trial| trial.variant == variant.name);
    let loops: Vec<(&Trial, &TrialPhase)> =
        trials.filter_map(|trial| Some((trial, closed_loop(trial)?))).collect();
    // Trials that do not count tell more than nothing.
    let has_valid = loops.iter().any(|(trial, _)| trial.status == TrialStatus::Valid);
    let counted = loops.iter().filter(|(trial, _)| !has_valid || trial.status == TrialStatus::Valid);
    let connections = plan.load.connections;
    let readings: Vec<SliceReading> = counted
        .map(|(trial, phase)| {
            // Telemetry that cannot be read is a problem of the run, which its report names.
            let telemetry = run.telemetry(trial).ok().flatten();
            reading(trial, phase, telemetry.as_ref(), connections)
        })
        .collect();
    let server_cpus = server_cpus(plan, variant, readings.first()?);
    Some(suspects_only(&LoopFacts::of_record(&variant.name, connections, server_cpus), &readings))
}

/// The last closed loop in which no other server was loaded.
fn closed_loop(trial: &Trial) -> Option<&TrialPhase> {
    let is_alone = |phase: &&TrialPhase| {
        phase.kind == PhaseKind::ClosedLoop && phase.slices.is_none() && phase.length_s > 0.0
    };
    trial.phases.iter().rev().find(is_alone).filter(|phase| phase.requests > 0)
}

/// The CPUs of a variant: those of the plan, or all that the telemetry of its machine has.
fn server_cpus(plan: &Plan, variant: &Variant, reading: &SliceReading) -> CpuSet {
    let planned = match plan.host_of(variant) {
        // The machines of a kind differ in their CPUs.
        Some(_) if variant.kind().is_some() => None,
        Some(host) if !plan.is_here(variant) => host.cpus.as_ref(),
        _ => Some(&plan.cpus.server),
    };
    planned.and_then(|cpus| cpus.parse().ok()).unwrap_or_else(|| {
        let columns = reading.telemetry.columns.iter();
        let idle = columns.filter_map(|column| column.name.strip_prefix("cpu.")?.strip_suffix(".idle"));
        idle.filter_map(|cpu| cpu.parse().ok()).collect()
    })
}

/// A closed loop of a trial as a plain slice.
fn reading(
    trial: &Trial,
    phase: &TrialPhase,
    telemetry: Option<&Telemetry>,
    connections: u32,
) -> SliceReading {
    let telemetry = telemetry.map(|telemetry| steady_part(telemetry, phase)).unwrap_or_default();
    let failed: u64 = phase.errors.values().sum();
    let mean = |name: &str| telemetry.mean(name, 0..=u64::MAX);
    let in_trial = || trial.server.as_ref().map(|used| used.cores);
    let cores = mean("server.cpu.time").or_else(in_trial).unwrap_or_default();
    SliceReading {
        operations: phase.requests + failed,
        failed,
        length_s: phase.length_s,
        throughput_per_s: phase.throughput_per_s,
        mean_response_s: phase.response_time_us.mean / 1e6,
        connections,
        resource_left: 1.0,
        client_utilisation: Some(phase.client.utilisation),
        server_cpu_s: cores * phase.length_s,
        telemetry,
        statistics: BTreeMap::new(),
        statistics_problem: None,
        threads: None,
    }
}

/// The rows that are wholly within a closed loop, without its beginning. A rate is that of the time since the row before.
fn steady_part(telemetry: &Telemetry, phase: &TrialPhase) -> Recording {
    let end = phase.start_s + phase.length_s;
    let begin = phase.start_s + phase.length_s * COLD;
    let is_within = |row: &usize| *row > 0 && telemetry.t_s[row - 1] >= begin && telemetry.t_s[*row] <= end;
    let sample = |row: usize| TelemetrySample {
        t_us: (telemetry.t_s[row] * 1e6) as u64,
        unix_ms: telemetry.unix_ms.get(row).map_or(0, |ms| ms.cast_unsigned()),
        values: telemetry.columns.iter().map(|column| column.values.get(row).copied().flatten()).collect(),
    };
    let column = |column: &Column| TelemetryColumn {
        name: column.info.name.clone(),
        unit: column.info.unit.clone().into(),
        help: column.info.help.clone().into(),
    };
    Recording {
        columns: telemetry.columns.iter().map(column).collect(),
        samples: (0..telemetry.t_s.len()).filter(is_within).map(sample).collect(),
        ..Recording::default()
    }
}

#[cfg(test)]
mod tests;
