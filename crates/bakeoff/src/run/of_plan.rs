//! Runs a plan: prepares the machines for its trials, runs or resumes them, and puts the machines' settings back.

use std::path::Path;

use archive::model::{Measure, Plan};
use host::Host;
use host::knobs::{Knob, KnobValues};
use load::engine::RunContext;
use machine::{AgentAccess, LocalMachine, MachineError};
use workload::{ServerVariant, Workload};

use crate::event::{Event, Observer};
use crate::machines::load_clients::LoadClients;
use crate::machines::network_survey::{check_objective, measure_networks};
use crate::machines::of_run::{RunMachine, RunMachines};
use crate::machines::open::OtherMachines;
use crate::machines::power::{RunMeter, RunPower};
use crate::machines::prepared::PreparedMachines;
use crate::plan::check::{CheckedPlan, check};
use crate::plan::error::PlanError;
use crate::plan::kind::PlannedKind;
use crate::plan::preset::telemetry_period;
use crate::plan::variant_point::VariantPoint;
use crate::run::error::RunPlanError;
use crate::run::execute::{resume_blocks, run_blocks};
use crate::run::interrupted::InterruptedRun;
use crate::run::lab::FinishedRun;
use crate::run::machine_lab::MachineLab;
use crate::trial::BreakingPoint;

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
    match PlannedKind::of(plan)? {
        PlannedKind::Compare | PlannedKind::Sweep => {}
        PlannedKind::Explain(_) | PlannedKind::Concurrency(_) => return Err(PlanError::NoTrials.into()),
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

/// Prepares the machines of a plan for its servers, does something with them, and puts their settings back, however that ends.
/// Returns its result with the settings that could not be put back, one sentence each.
pub fn on_its_machines<T>(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
    run: impl FnOnce(&mut MachineLab<'_>, &mut Observer<'_>) -> Result<T, RunPlanError>,
) -> Result<(T, Vec<String>), RunPlanError> {
    let mut checked = check(plan)?;
    checked.check_kernel_settings(permissions.kernel)?;
    // This machine is reserved for the client, also where all servers are elsewhere.
    let here = LocalMachine::reserve(context).map_err(MachineError::from)?;
    fit_breaking_point(&mut checked, permissions.breaking_point)?;
    let CheckedPlan { hosts, cpus, .. } = &checked;
    let reach = AgentAccess::to(hosts.all(), permissions.programs)?.for_run(here.lock_owner());
    let others = OtherMachines::open(plan, hosts, &reach, context, observe)?;
    let clients = LoadClients::open(hosts, cpus, &others, &reach, context, observe)?;
    let context = &clients.context(context);
    let mut machines = machines(&checked, &here, &others);
    machines.paths = measure_networks(&checked, &others, observe)?;
    check_objective(&plan.measure, checked.objective.as_ref(), &machines.paths)?;
    let mut prepared = PreparedMachines::default();
    let result = on_prepared(&mut prepared, checked, machines, permissions, context, observe, run);
    let unrestored = prepared.close();
    for problem in &unrestored {
        observe(Event::KernelSettingNotRestored { problem: problem.clone() });
    }
    Ok((result?, unrestored))
}

/// Gives the variants of a plan of breaking points the settings that these need.
fn fit_breaking_point(
    checked: &mut CheckedPlan<'_>,
    breaking_point: Option<&dyn BreakingPoint>,
) -> Result<(), RunPlanError> {
    if let (Measure::BreakingPoint, Some(breaking_point)) = (&checked.plan.measure, breaking_point) {
        for variant in &mut checked.variants {
            breaking_point.fit(checked.plan, &checked.workload, variant, checked.cpus.server.len())?;
        }
    }
    Ok(())
}

/// Prepares machines, and does something with them. What is prepared is put back by the caller.
fn on_prepared<'m, T>(
    prepared: &mut PreparedMachines<'m>,
    checked: CheckedPlan<'_>,
    machines: RunMachines<'m>,
    permissions: RunPermissions<'m>,
    context: &'m RunContext,
    observe: &mut Observer<'_>,
    run: impl FnOnce(&mut MachineLab<'_>, &mut Observer<'_>) -> Result<T, RunPlanError>,
) -> Result<T, RunPlanError> {
    let CheckedPlan { plan, workload, objective, points, variants, .. } = checked;
    for (index, machine) in machines.iter() {
        let is_on_it = |(point, _): &(&VariantPoint, &ServerVariant)| machines.runs_on(point.variant, index);
        let own: Vec<ServerVariant> =
            points.iter().zip(&variants).filter(is_on_it).map(|(_, variant)| variant.clone()).collect();
        prepare(prepared, machine, &workload, &own, observe)?;
    }
    // The engine's threads inherit these CPUs; servers are started on their own.
    machines
        .client_cpus
        .pin_this_thread()
        .map_err(|source| RunPlanError::System { what: "use the client's CPUs", source })?;
    // The threads of the meters are on the client's CPUs, too.
    let power = RunPower::start(permissions.meters, telemetry_period(plan.length))?;
    let RunPermissions { breaking_point, .. } = permissions;
    let mut lab = MachineLab {
        workload,
        objective,
        machines,
        variants,
        context,
        power,
        breaking_point,
        // Where the kernel refuses it, the facts say so.
        shallow_idle: if plan.quiet_host { Host::local().shallow_idle().ok() } else { None },
        one_at_a_time: None,
    };
    run(&mut lab, observe)
}

/// The machines of a plan with their CPUs.
fn machines<'m>(
    checked: &CheckedPlan<'_>,
    here: &'m LocalMachine,
    others: &'m OtherMachines,
) -> RunMachines<'m> {
    let CheckedPlan { plan, hosts, cpus, .. } = checked;
    let here = RunMachine { name: None, machine: here, server_cpus: cpus.server.clone() };
    let others = others.0.iter().map(|(name, machine)| RunMachine {
        name: Some(name.clone()),
        machine,
        server_cpus: machine.cpus().clone(),
    });
    RunMachines::new(plan, hosts, here, others, cpus.client.clone())
}

/// Restores the kernel settings that a killed run left on a machine, tries those of its variants, and installs its servers.
fn prepare<'m>(
    prepared: &mut PreparedMachines<'m>,
    machine: &RunMachine<'m>,
    workload: &Workload,
    variants: &[ServerVariant],
    observe: &mut Observer<'_>,
) -> Result<(), MachineError> {
    let on = machine.name.as_ref().map_or_else(String::new, |name| format!(" on host {name}"));
    let settings: Vec<KnobValues> = variants.iter().map(|variant| variant.kernel.clone()).collect();
    let left = prepared.open(machine.machine, &settings)?;
    for change in left.restored {
        let setting = format!("{}{on}", change.knob);
        observe(Event::KernelSettingRestored { setting, value: change.to });
    }
    for problem in left.problems {
        let problem = machine.name.as_ref().map_or(problem.clone(), |name| format!("host {name}: {problem}"));
        observe(Event::KernelSettingNotRestored { problem });
    }
    machine.machine.try_kernel_settings(&settings)?;
    if variants.is_empty() { Ok(()) } else { machine.machine.ensure_servers(workload, variants) }
}
