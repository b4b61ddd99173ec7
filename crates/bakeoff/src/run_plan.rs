//! Runs a plan: prepares the machine for its trials, runs or resumes them, and puts the machine's settings back.

use std::path::Path;

use archive::model::Plan;
use host::CpuSet;
use host::knobs::Knob;
use load::engine::RunContext;
use machine::{LocalMachine, Machine, MachineError};
use workload::{Catalogue, LookupError, ServerVariant};

use crate::event::{Event, Observer};
use crate::interrupted_run::InterruptedRun;
use crate::machine_lab::MachineLab;
use crate::plan_check::{check, check_kernel_settings};
use crate::plan_error::PlanError;
use crate::plan_variant::server_variant;
use crate::run::{FinishedRun, resume_blocks, run_blocks};
use crate::run_plan_error::RunPlanError;
use crate::variant_point::variant_points;

/// Runs the trials of a plan on this machine; the run directory is created in `root`. The plan may set the usual kernel
/// settings of comparisons and these `allowed` ones.
pub fn run_plan(
    plan: &Plan,
    allowed: &[Knob],
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    on_this_machine(plan, allowed, context, observe, |lab, observe| {
        run_blocks(plan, lab, root, &context.interrupted, observe)
    })
}

/// Goes on with a run that was interrupted. With `accept_changes`, also where the host, the workload or a server is not
/// the one of its first trials.
pub fn resume_run(
    run: InterruptedRun,
    accept_changes: bool,
    allowed: &[Knob],
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    let plan = run.plan().clone();
    on_this_machine(&plan, allowed, context, observe, |lab, observe| {
        resume_blocks(run, accept_changes, lab, &context.interrupted, observe)
    })
}

/// Prepares this machine for the trials of a plan, runs them, and puts its settings back.
fn on_this_machine(
    plan: &Plan,
    allowed: &[Knob],
    context: &RunContext,
    observe: &mut Observer<'_>,
    run: impl FnOnce(&mut MachineLab<'_>, &mut Observer<'_>) -> Result<FinishedRun, RunPlanError>,
) -> Result<FinishedRun, RunPlanError> {
    check(plan)?;
    check_kernel_settings(plan, allowed)?;
    let machine = LocalMachine::reserve(context).map_err(MachineError::from)?;
    let workload = Catalogue::default().find(&plan.workload).map_err(|e: LookupError| PlanError::from(e))?;
    let variants: Vec<ServerVariant> = variant_points(plan)
        .iter()
        .map(|variant_point| server_variant(&workload, &variant_point.variant(plan)))
        .collect::<Result<_, _>>()
        .map_err(PlanError::from)?;
    open_kernel_settings(&machine, &variants, observe)?;
    let servers: Vec<&str> = plan.variants.iter().map(|variant| variant.server.as_str()).collect();
    machine.ensure_servers(&workload, &servers)?;
    let cpus = |text: &String| text.parse::<CpuSet>().map_err(|_| PlanError::CpuList(text.clone()));
    let (server_cpus, client_cpus) = (cpus(&plan.cpus.server)?, cpus(&plan.cpus.client)?);
    // The engine's threads inherit these CPUs; servers are started on their own.
    client_cpus
        .pin_this_thread()
        .map_err(|source| RunPlanError::System { what: "use the client's CPUs", source })?;
    let mut lab = MachineLab {
        workload,
        machine: &machine,
        variants,
        context,
        server_cpus,
        client_cpus,
        one_at_a_time: None,
    };
    let finished = run(&mut lab, observe);
    let unrestored = machine.close_kernel_settings();
    for problem in &unrestored {
        observe(Event::KernelSettingNotRestored { problem: problem.clone() });
    }
    Ok(FinishedRun { unrestored, ..finished? })
}

/// Restores what a killed run left, and tries the settings of all variants.
fn open_kernel_settings(
    machine: &dyn Machine,
    variants: &[ServerVariant],
    observe: &mut Observer<'_>,
) -> Result<(), MachineError> {
    let left = machine.open_kernel_settings(variants)?;
    for change in left.restored {
        observe(Event::KernelSettingRestored { setting: change.knob.to_string(), value: change.to });
    }
    for problem in left.problems {
        observe(Event::KernelSettingNotRestored { problem });
    }
    machine.try_kernel_settings(variants)
}
