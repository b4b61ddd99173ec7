//! Runs whose first block decides what is measured: with the lab of the other tests.

use std::sync::atomic::AtomicBool;

use archive::model::{FallbackMeasure, Measure, Plan, TrialStatus};
use archive::{Run, RunWriter};

use super::{FinishedRun, resume_blocks, run_blocks};
use crate::event::Event;
use crate::interrupted_run::{InterruptedRun, ResumeError};
use crate::testing::plan::PLAN;
use crate::testing::scripted_lab::ScriptedLab;

const FALLBACK: &str = r#"blocks = 4
fallback = "cpu_time""#;

fn plan_with(measure: &str) -> Plan {
    PLAN.replace("blocks = 4", FALLBACK)
        .replace(r#"{ metric = "max_throughput" }"#, measure)
        .parse()
        .expect("a plan")
}

struct Recorded {
    _runs: tempfile::TempDir,
    finished: FinishedRun,
    events: Vec<Event>,
    run: Run,
}

impl Recorded {
    fn plan(&self) -> &Plan {
        self.run.plan.as_ref().expect("a plan")
    }
}

fn recorded(plan: &Plan, client_is_limit: bool) -> Recorded {
    let runs = tempfile::tempdir().expect("a directory");
    let mut events = Vec::new();
    let mut lab = ScriptedLab::of_client(client_is_limit);
    let finished =
        run_blocks(plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |event| events.push(event));
    let finished = finished.expect("a run");
    let run = Run::open(&finished.dir).expect("a run directory");
    Recorded { _runs: runs, finished, events, run }
}

#[test]
fn a_run_whose_client_is_the_limit_begins_again_with_cpu_time() {
    let planned = plan_with(r#"{ metric = "capacity", slo = "p99<5ms" }"#);
    let recorded = recorded(&planned, true);
    let (plan, verdict) = (recorded.plan(), &recorded.finished.verdict);
    assert_eq!(plan.measure, Measure::CpuTime { rate_per_s: Some(20_000.0) });
    assert_eq!((plan.fallback, plan.seed), (None, planned.seed));
    let sentence = "CPU time an operation at 20,000/s was measured instead of capacity at p99 < 5 ms, because the client \
                    was the limit for nginx and apache: it needed 95 % of its cores";
    let told: Vec<&Event> =
        recorded.events.iter().filter(|event| matches!(event, Event::MeasureReplaced { .. })).collect();
    assert_eq!(told, [&Event::MeasureReplaced { sentence: sentence.to_owned() }]);
    assert_eq!(verdict.replaced.as_deref(), Some(sentence));
    assert!(verdict.sentence.contains("apache needs 1.9"), "{}", verdict.sentence);
    assert!(!verdict.higher_is_better && verdict.complete);
    assert_eq!(verdict.variants[0].cpu_time_us.map(|cpu| (cpu.user, cpu.system)), Some((40.0, 60.0)));
    let trials: Vec<_> = recorded.run.trials.iter().map(|record| &record.trial).collect();
    assert_eq!(trials.len(), 8, "the trials of the other measure are gone");
    assert!(trials.iter().all(|trial| trial.measured.as_ref().is_some_and(|m| m.unit == "µs")));
    assert_eq!(trials.iter().map(|trial| trial.number).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
}

#[test]
fn a_run_whose_client_is_not_the_limit_keeps_its_measure_for_good() {
    let recorded = recorded(&plan_with(r#"{ metric = "max_throughput" }"#), false);
    let plan = recorded.plan();
    assert_eq!((&plan.measure, plan.fallback, &plan.replaced), (&Measure::MaxThroughput, None, &None));
    assert_eq!(recorded.finished.verdict.replaced, None);
    assert_eq!(recorded.run.trials.len(), 8);
}

#[test]
fn a_measure_that_was_asked_for_is_not_replaced() {
    let explicit = Plan { fallback: None, ..plan_with(r#"{ metric = "max_throughput" }"#) };
    let recorded = recorded(&explicit, true);
    assert_eq!(recorded.plan().measure, Measure::MaxThroughput);
    assert_eq!(recorded.finished.verdict.replaced, None);
}

#[test]
fn a_rate_that_the_first_block_chose_is_in_the_plan() {
    let recorded = recorded(&Plan { fallback: None, ..plan_with(r#"{ metric = "cpu_time" }"#) }, true);
    assert_eq!(recorded.plan().measure, Measure::CpuTime { rate_per_s: Some(20_000.0) });
    assert_eq!(recorded.finished.verdict.metric, "CPU time an operation at 20,000/s");
    assert_eq!(recorded.run.trials.len(), 8);
}

/// Removes the verdict and these trials, as if the run had been killed, and writes this plan.
fn cut(recorded: &Recorded, from: u32, plan: &Plan) {
    let dir = &recorded.finished.dir;
    for record in &recorded.run.trials {
        if record.trial.number >= from {
            std::fs::remove_file(dir.join(&record.folder).join("trial.json")).expect("a trial");
        }
    }
    std::fs::remove_file(dir.join("verdict.json")).expect("a verdict");
    RunWriter::resume(dir).and_then(|writer| writer.plan(plan)).expect("a plan");
}

fn resumed(recorded: &Recorded, client_is_limit: bool) -> Run {
    let run = InterruptedRun::open(&recorded.finished.dir).expect("an interrupted run");
    let mut lab = ScriptedLab::of_client(client_is_limit);
    resume_blocks(run, false, &mut lab, &AtomicBool::new(false), &mut |_| {}).expect("a run");
    Run::open(&recorded.finished.dir).expect("a run directory")
}

#[test]
fn a_resumed_run_goes_on_with_the_measure_that_replaced_the_planned_one() {
    let recorded = recorded(&plan_with(r#"{ metric = "capacity", slo = "p99<5ms" }"#), true);
    cut(&recorded, 4, recorded.plan());
    let run = resumed(&recorded, true);
    assert_eq!(run.plan.as_ref(), Some(recorded.plan()));
    let comparisons = |run: &Run| run.verdict.as_ref().map(|verdict| verdict.comparisons.clone());
    assert_eq!(comparisons(&run), comparisons(&recorded.run));
    assert_eq!(run.verdict.and_then(|verdict| verdict.replaced), recorded.finished.verdict.replaced);
}

#[test]
fn a_run_that_was_killed_before_it_decided_decides_when_it_is_resumed() {
    let planned = plan_with(r#"{ metric = "capacity", slo = "p99<5ms" }"#);
    for (client_is_limit, metric) in
        [(true, "CPU time an operation at 20,000/s"), (false, "capacity at p99 < 5 ms")]
    {
        // The first block of the planned measure is complete, and nothing else.
        let all = Plan { fallback: None, ..planned.clone() };
        let recorded = recorded(&all, client_is_limit);
        cut(&recorded, 3, &planned);
        let run = resumed(&recorded, client_is_limit);
        let plan = run.plan.as_ref().expect("a plan");
        assert_eq!((plan.fallback, plan.replaced.is_some()), (None::<FallbackMeasure>, client_is_limit));
        assert!(run.trials.iter().all(|record| record.trial.status == TrialStatus::Valid));
        assert_eq!(run.verdict.expect("a verdict").metric, metric);
        assert_eq!(run.trials.len(), 8);
    }
}

#[test]
fn a_trial_of_another_measure_does_not_meet_the_others() {
    let planned = plan_with(r#"{ metric = "capacity", slo = "p99<5ms" }"#);
    let recorded = recorded(&planned, false);
    let other = Measure::CpuTime { rate_per_s: Some(20_000.0) };
    cut(&recorded, 5, &Plan { measure: other, fallback: None, ..planned });
    let error = InterruptedRun::open(&recorded.finished.dir).err();
    assert!(matches!(error, Some(ResumeError::Damaged { .. })), "{error:?}");
}
