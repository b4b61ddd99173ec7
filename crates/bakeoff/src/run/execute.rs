//! A run from its beginning, or from where it was interrupted. Its trials are left to [`RunProgress`].

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use archive::RunWriter;
use archive::model::{FORMAT, Facts, Plan, Resumption};

use crate::event::Observer;
use crate::plan::variant_point::variant_points;
use crate::run::changes;
use crate::run::error::RunPlanError;
use crate::run::first_block;
use crate::run::interrupted::FactCheck;
use crate::run::interrupted::InterruptedRun;
use crate::run::lab::{FinishedRun, Lab};
use crate::run::progress::RunProgress;
use crate::run::so_far::RunSoFar;

/// Runs the trials of a plan and computes the verdict.
pub fn run_blocks(
    plan: &Plan,
    lab: &mut dyn Lab,
    root: &Path,
    interrupted: &AtomicBool,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    // A machine that cannot be asked leaves no run directory.
    let facts = Facts { format: FORMAT, ..lab.facts(plan)? };
    // The plan of a run that was interrupted has no looks of another one.
    let plan = Plan { interrupted_looks: Vec::new(), ..plan.clone() };
    let writer = RunWriter::create(root, &plan, SystemTime::now())?;
    let variant_points = variant_points(&plan);
    let so_far = RunSoFar::of_new_run(&plan, &variant_points);
    let merged = vec![None; variant_points.len()];
    RunProgress::new(plan, &writer, facts, None, variant_points, so_far, merged).complete(
        lab,
        interrupted,
        observe,
    )
}

/// Runs the trials that an interrupted run does not have, and computes the verdict of all. Unless `accept_changes` is set,
/// the host, the workload and the servers must be those of its first trials.
pub fn resume_blocks(
    run: InterruptedRun,
    accept_changes: bool,
    lab: &mut dyn Lab,
    interrupted: &AtomicBool,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    let InterruptedRun { plan, writer, facts, variant_points, so_far, merged } = run;
    let now = Facts { format: FORMAT, ..lab.facts(&plan)? };
    let kept = so_far.kept.all().len() as u32;
    let mut resumption = Resumption {
        at_unix_ms: now.taken_unix_ms,
        block: so_far.next_block,
        kept_trials: kept,
        discarded_trials: so_far.discarded.len() as u32,
        changes: Vec::new(),
    };
    // A run that keeps no trial begins anew, with the facts of now.
    let (mut facts, check) = match facts {
        Some(before) if kept > 0 => {
            resumption.changes = changes::changes(&before, &now);
            let check =
                FactCheck { id: writer.id().clone(), accept_changes, is_sweep: !plan.sweep.is_empty() };
            check.accept(&resumption.changes, &before.resumed)?;
            (before, Some(check))
        }
        before => (Facts { resumed: before.map(|facts| facts.resumed).unwrap_or_default(), ..now }, None),
    };
    facts.format = FORMAT;
    facts.variants.retain(|variant| so_far.kept.all().any(|trial| trial.variant == variant.name));
    facts.resumed.push(resumption);
    // What the first block has decided holds for the run. Later blocks do not look again.
    if let Some(why) = first_block::one_at_a_time(so_far.kept.all()) {
        lab.run_one_at_a_time(why);
    }
    let cut_off = |source| RunPlanError::CutOff { dir: writer.dir().to_owned(), source };
    writer.discard(&so_far.discarded).map_err(cut_off)?;
    RunProgress::new(plan, &writer, facts, check, variant_points, so_far, merged).complete(
        lab,
        interrupted,
        observe,
    )
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_failures;
#[cfg(test)]
mod tests_of_measure;
#[cfg(test)]
mod tests_of_turns;
