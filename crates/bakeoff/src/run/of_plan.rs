//! Runs a plan: prepares the machines for its trials, runs or resumes them, and puts the machines' settings back.

use std::path::Path;

use archive::model::{Measure, Plan};
use host::CpuSet;
use host::knobs::Knob;
use load::engine::RunContext;
use machine::{LocalMachine, MachineError, ReachOptions};
use workload::{Catalogue, LookupError, ServerVariant, Workload};

use crate::machines::lab::MachineLab;
use crate::machines::load_clients::LoadClients;
use crate::machines::network_survey::measure_networks;
use crate::machines::of_run::{RunMachine, RunMachines};
use crate::machines::open::OtherMachines;
use crate::machines::power::{RunMeter, RunPower};
use crate::plan;
use crate::plan::check::{check, check_kernel_settings};
use crate::plan::error::PlanError;
use crate::plan::preset::telemetry_period;
use crate::plan::variant::server_variant;
use crate::plan::variant_point::{VariantPoint, variant_points};
use crate::run::error::RunPlanError;
use crate::run::event::{Event, Observer};
use crate::run::execute::{resume_blocks, run_blocks};
use crate::run::interrupted::InterruptedRun;
use crate::run::lab::FinishedRun;
use crate::study::breaking_point::BreakingPoint;

/// What a user allows a plan, and gives it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunPermissions<'a> {
    /// Kernel settings that it may set beside the usual ones of comparisons.
    pub kernel: &'a [Knob],
    /// Builds of this program for hosts of other architectures, as `ARCHITECTURE=PATH`.
    pub programs: &'a [String],
    /// Meters, which are read beside the load.
    pub meters: &'a [RunMeter],
    /// What finds breaking points, in commands that measure them.
    pub breaking_point: Option<&'a dyn BreakingPoint>,
}

/// Runs the trials of a plan; the run directory is created in `root`.
pub fn run_plan(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    if !plan.kind.has_trials() {
        return Err(PlanError::NoTrials.into());
    }
    let (finished, unrestored) = on_its_machines(plan, permissions, context, observe, |lab, observe| {
        run_blocks(plan, lab, root, &context.interrupted, observe)
    })?;
    Ok(FinishedRun { unrestored, ..finished })
}

/// Goes on with a run that was interrupted. With `accept_changes`, also where a host, the workload or a server is not
/// the one of its first trials.
pub fn resume_run(
    run: InterruptedRun,
    accept_changes: bool,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    let plan = run.plan().clone();
    let (finished, unrestored) = on_its_machines(&plan, permissions, context, observe, |lab, observe| {
        resume_blocks(run, accept_changes, lab, &context.interrupted, observe)
    })?;
    Ok(FinishedRun { unrestored, ..finished })
}

/// Prepares the machines of a plan for its servers, does something with them, and puts their settings back. Returns its result
/// with the settings that could not be put back, one sentence each.
pub fn on_its_machines<T>(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
    run: impl FnOnce(&mut MachineLab<'_>, &mut Observer<'_>) -> Result<T, RunPlanError>,
) -> Result<(T, Vec<String>), RunPlanError> {
    check(plan)?;
    check_kernel_settings(plan, permissions.kernel)?;
    // This machine is reserved for the client, also where all servers are elsewhere.
    let here = LocalMachine::reserve(context).map_err(MachineError::from)?;
    let workload = Catalogue::default().find(&plan.workload).map_err(|e: LookupError| PlanError::from(e))?;
    let points = variant_points(plan);
    let mut variants: Vec<ServerVariant> = points
        .iter()
        .map(|variant_point| server_variant(&workload, &variant_point.variant(plan)))
        .collect::<Result<_, _>>()
        .map_err(PlanError::from)?;
    if let (Measure::BreakingPoint, Some(breaking_point)) = (&plan.measure, permissions.breaking_point) {
        let cpus: CpuSet =
            plan.cpus.server.parse().map_err(|_| PlanError::CpuList(plan.cpus.server.clone()))?;
        for variant in &mut variants {
            breaking_point.fit(plan, &workload, variant, cpus.len())?;
        }
    }
    let reach = ReachOptions::to(&plan::hosts::entries(plan)?, permissions.programs)?;
    let reach = reach.for_run(here.lock_owner());
    let others = OtherMachines::open(plan, &reach, context, observe)?;
    let clients = LoadClients::open(plan, &others, &reach, context, observe)?;
    let of_clients = clients.context(context);
    let mut machines = machines(plan, &here, &others)?;
    machines.paths = measure_networks(plan, &others, observe)?;
    let mut prepared = Vec::new();
    for (index, machine) in machines.iter() {
        // Its settings are put back if it, or a later one, cannot be prepared.
        prepared.push(index);
        let is_on_it = |(point, _): &(&VariantPoint, &ServerVariant)| machines.runs_on(point.variant, index);
        let own: Vec<ServerVariant> =
            points.iter().zip(&variants).filter(is_on_it).map(|(_, variant)| variant.clone()).collect();
        if let Err(error) = prepare(machine, &workload, &own, observe) {
            close_kernel_settings(&machines, &prepared, observe);
            return Err(error.into());
        }
    }
    // The engine's threads inherit these CPUs; servers are started on their own.
    machines
        .client_cpus
        .pin_this_thread()
        .map_err(|source| RunPlanError::System { what: "use the client's CPUs", source })?;
    // The threads of the meters are on the client's CPUs, too.
    let power = match RunPower::start(permissions.meters, telemetry_period(plan.length)) {
        Ok(power) => power,
        Err(error) => {
            close_kernel_settings(&machines, &prepared, observe);
            return Err(error.into());
        }
    };
    let context = &of_clients;
    let RunPermissions { breaking_point, .. } = permissions;
    let mut lab =
        MachineLab { workload, machines, variants, context, power, breaking_point, one_at_a_time: None };
    let result = run(&mut lab, observe);
    let unrestored = close_kernel_settings(&lab.machines, &prepared, observe);
    Ok((result?, unrestored))
}

/// The machines of a plan with their CPUs.
fn machines<'m>(
    plan: &Plan,
    here: &'m LocalMachine,
    others: &'m OtherMachines,
) -> Result<RunMachines<'m>, PlanError> {
    let cpus = |text: &String| text.parse::<CpuSet>().map_err(|_| PlanError::CpuList(text.clone()));
    let client_cpus = cpus(&plan.cpus.client)?;
    let has_servers_here = plan.variants.iter().any(|variant| plan.is_here(variant));
    let server_cpus = if has_servers_here { cpus(&plan.cpus.server)? } else { CpuSet::default() };
    let here = RunMachine { name: None, machine: here, server_cpus };
    let others = others.0.iter().map(|(name, machine)| RunMachine {
        name: Some(name.clone()),
        machine,
        server_cpus: machine.cpus().clone(),
    });
    Ok(RunMachines::new(plan, here, others, client_cpus))
}

/// Restores the kernel settings that a killed run left on a machine, tries those of its variants, and installs its servers.
fn prepare(
    machine: &RunMachine<'_>,
    workload: &Workload,
    variants: &[ServerVariant],
    observe: &mut Observer<'_>,
) -> Result<(), MachineError> {
    let on = machine.name.as_ref().map_or_else(String::new, |name| format!(" on host {name}"));
    let left = machine.machine.open_kernel_settings(variants)?;
    for change in left.restored {
        let setting = format!("{}{on}", change.knob);
        observe(Event::KernelSettingRestored { setting, value: change.to });
    }
    for problem in left.problems {
        let problem = machine.name.as_ref().map_or(problem.clone(), |name| format!("host {name}: {problem}"));
        observe(Event::KernelSettingNotRestored { problem });
    }
    machine.machine.try_kernel_settings(variants)?;
    if variants.is_empty() { Ok(()) } else { machine.machine.ensure_servers(workload, variants) }
}

/// Restores the kernel settings of these machines. Returns what could not be restored, one sentence each.
fn close_kernel_settings(
    machines: &RunMachines<'_>,
    prepared: &[usize],
    observe: &mut Observer<'_>,
) -> Vec<String> {
    let close = |index: &usize| machines.get(*index).machine.close_kernel_settings();
    let unrestored: Vec<String> = prepared.iter().flat_map(close).collect();
    for problem in &unrestored {
        observe(Event::KernelSettingNotRestored { problem: problem.clone() });
    }
    unrestored
}
