//! Runs whose servers cannot be up together: one method from the first trial to the last.

use std::sync::atomic::AtomicBool;

use archive::Run;
use archive::model::{Plan, RunKind, TrialTurns};

use super::{FinishedRun, resume_blocks, run_blocks};
use crate::event::Event;
use crate::plan::trial_order::{TrialOrder, up_together};
use crate::plan::variant_point::variant_points;
use crate::run::interrupted::InterruptedRun;
use crate::run::lab::Lab;
use crate::testing::plan::PLAN;
use crate::testing::scripted_lab::{RESTLESS, ScriptedLab};

type TestResult = Result<(), Box<dyn std::error::Error>>;

const TURNS: &str = "\n[turns]\nload = \"1s\"";

/// Whether each trial of a run had the machine to itself, for the reason of the restless server.
fn ran_one_at_a_time(run: &Run) -> Vec<bool> {
    let one_at_a_time = TrialTurns::OneAtATime { why: RESTLESS.to_owned() };
    run.trials.iter().map(|record| record.trial.turns.as_ref() == Some(&one_at_a_time)).collect()
}

/// Removes the verdict and the trials from this one on, as if the run had been killed.
fn cut(finished: &FinishedRun, from: u32) -> TestResult {
    for record in Run::open(&finished.dir)?.trials {
        if record.trial.number >= from {
            std::fs::remove_file(finished.dir.join(record.folder).join("trial.json"))?;
        }
    }
    Ok(std::fs::remove_file(finished.dir.join("verdict.json"))?)
}

#[test]
fn a_resumed_run_goes_on_one_at_a_time_for_the_reason_of_its_first_block() -> TestResult {
    let plan: Plan = format!("{PLAN}{TURNS}").parse()?;
    let (runs, never) = (tempfile::tempdir()?, AtomicBool::new(false));
    let mut lab = ScriptedLab { restless: Some(0), ..ScriptedLab::new([]) };
    let first = run_blocks(&plan, &mut lab, runs.path(), &never, &mut |_| {})?;
    cut(&first, 4)?;
    // Another process goes on, whose lab knows nothing of the first one and does not look again.
    let mut lab = ScriptedLab::new([]);
    let run = InterruptedRun::open(&first.dir)?;
    let resumed = resume_blocks(run, false, &mut lab, &never, &mut |_| {})?;
    assert_eq!(ran_one_at_a_time(&Run::open(&resumed.dir)?), [true; 8]);
    Ok(())
}

#[test]
fn a_run_that_keeps_no_trial_decides_anew_when_it_is_resumed() -> TestResult {
    let plan: Plan = format!("{PLAN}{TURNS}").parse()?;
    let (runs, never) = (tempfile::tempdir()?, AtomicBool::new(false));
    let mut restless = ScriptedLab { restless: Some(0), ..ScriptedLab::new([]) };
    let first = run_blocks(&plan, &mut restless, runs.path(), &never, &mut |_| {})?;
    cut(&first, 2)?;
    let run = InterruptedRun::open(&first.dir)?;
    let resumed = resume_blocks(run, false, &mut ScriptedLab::new([]), &never, &mut |_| {})?;
    assert_eq!(ran_one_at_a_time(&Run::open(&resumed.dir)?), [false; 8]);
    Ok(())
}

/// A sweep of two variants over nine points: a block has three groups of six servers that are up together.
fn sweep() -> Result<Plan, Box<dyn std::error::Error>> {
    let axis = r#"{ vary = "connections", values = [1, 2, 3, 4, 5, 6, 7, 8, 9] }"#;
    let plan: Plan = format!("{PLAN}sweep = [{axis}]{TURNS}").parse()?;
    Ok(Plan { kind: RunKind::Sweep, ..plan })
}

/// The server that comes first in each group of the first block, by its variant and point.
fn first_of_groups(plan: &Plan) -> Vec<usize> {
    let points = variant_points(plan);
    let block = TrialOrder::new(plan.seed).next_block(&(0..points.len()).collect::<Vec<_>>());
    up_together(plan, &points, &block).iter().map(|group| group[0].variant_point).collect()
}

/// Runs a plan; returns its record, and the numbers of the trials that began.
fn executed(plan: &Plan, lab: &mut dyn Lab) -> Result<(Run, Vec<u32>), Box<dyn std::error::Error>> {
    let runs = tempfile::tempdir()?;
    let mut begun = Vec::new();
    let finished = run_blocks(plan, lab, runs.path(), &AtomicBool::new(false), &mut |event| {
        if let Event::TrialBegins { number, .. } = event {
            begun.push(number);
        }
    })?;
    Ok((Run::open(&finished.dir)?, begun))
}

#[test]
fn a_sweep_begins_again_where_a_later_group_of_its_first_block_must_run_one_at_a_time() -> TestResult {
    let plan = sweep()?;
    let groups = first_of_groups(&plan);
    assert_eq!(groups.len(), 3);
    for (at, before) in [(0, 0), (1, 12), (2, 18)] {
        let mut lab = ScriptedLab { restless: Some(groups[at]), ..ScriptedLab::new([]) };
        let (run, begun) = executed(&plan, &mut lab)?;
        assert_eq!(ran_one_at_a_time(&run), vec![true; 4 * 18], "group {at}");
        let mut counted = begun[before..].to_vec();
        counted.sort_unstable();
        assert_eq!(counted, (1..=4 * 18).collect::<Vec<u32>>(), "group {at}: those before do not count");
    }
    let (run, begun) = executed(&plan, &mut ScriptedLab::new([]))?;
    assert_eq!(ran_one_at_a_time(&run), vec![false; 4 * 18]);
    assert_eq!(begun.len(), 4 * 18, "servers that leave each other alone are run once");
    Ok(())
}
