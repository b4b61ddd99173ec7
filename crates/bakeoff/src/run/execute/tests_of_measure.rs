//! Runs whose first block decides what is measured: with the lab of the other tests.

use std::sync::atomic::AtomicBool;

use archive::model::{FallbackMeasure, Measure, Plan, TrialStatus};
use archive::{Run, RunWriter};

use super::{FinishedRun, resume_blocks, run_blocks};
use crate::event::Event;
use crate::run::interrupted::{InterruptedRun, ResumeError};
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
    recorded_in(&mut ScriptedLab::of_client(client_is_limit), plan)
}

fn recorded_in(lab: &mut ScriptedLab, plan: &Plan) -> Recorded {
    let runs = tempfile::tempdir().expect("a directory");
    let mut events = Vec::new();
    let finished =
        run_blocks(plan, lab, runs.path(), &AtomicBool::new(false), &mut |event| events.push(event));
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

/// A quick run of capacities or closed loops in whose blocks with these numbers other programs keep the client from its CPUs.
fn starved_in(blocks: &[u32], looks: &str) -> Recorded {
    let text = PLAN.replace("blocks = 4", &format!("blocks = 6\n{looks}\nfallback = \"cpu_time\""));
    let mut lab = ScriptedLab { starved: blocks.to_vec(), ..ScriptedLab::new([]) };
    recorded_in(&mut lab, &text.parse().expect("a plan"))
}

#[test]
fn programs_that_begin_after_the_first_block_replace_the_measure_once_they_have_refused_two_blocks_in_a_row()
{
    let recorded = starved_in(&[2, 3], "looks = [4]");
    assert!(matches!(recorded.plan().measure, Measure::CpuTime { .. }));
    assert_eq!(
        recorded.finished.verdict.replaced.as_deref(),
        Some(
            "CPU time an operation at 20,000/s was measured instead of throughput in a closed loop, because other programs used 45 % of \
             the CPUs"
        )
    );
    assert!(recorded.run.trials.iter().all(|record| record.trial.status == TrialStatus::Valid));
    assert_eq!(recorded.plan().fallback, None);
}

#[test]
fn a_single_block_that_is_refused_replaces_no_measure_nor_do_any_after_the_first_look() {
    for (blocks, looks) in [(&[2, 4][..], "looks = [4]"), (&[3, 4], "looks = [3]"), (&[5, 6], "looks = [5]")]
    {
        let recorded = starved_in(blocks, looks);
        let plan = recorded.plan();
        assert_eq!((&plan.measure, plan.fallback), (&Measure::MaxThroughput, None), "{blocks:?}");
    }
}

/// A plan that leaves the rate of CPU time to its first block.
fn plan_without_rate() -> Plan {
    Plan { fallback: None, ..plan_with(r#"{ metric = "cpu_time" }"#) }
}

#[test]
fn a_rate_that_the_first_block_chose_is_in_the_plan() {
    let recorded = recorded(&plan_without_rate(), true);
    assert_eq!(recorded.plan().measure, Measure::CpuTime { rate_per_s: Some(20_000.0) });
    assert_eq!(recorded.finished.verdict.metric, "CPU time an operation at 20,000/s");
    assert_eq!((recorded.run.trials.len(), &recorded.plan().replaced), (8, &None));
}

/// The rates at which the trials of a run measured CPU time.
fn rates(run: &Run) -> Vec<f64> {
    run.trials.iter().filter_map(|record| Some(record.trial.cpu_time.as_ref()?.rate_per_s)).collect()
}

#[test]
fn a_rate_that_is_too_high_for_a_later_server_of_the_first_block_is_replaced() {
    // Servers that are up alone: the first one knows nothing of the second one. The seed says which of them is first.
    for closed_loops in [[90_000.0, 12_000.0, 0.0], [12_000.0, 90_000.0, 0.0]] {
        let mut lab = ScriptedLab { closed_loops, ..ScriptedLab::new([]) };
        let recorded = recorded_in(&mut lab, &plan_without_rate());
        assert_eq!(rates(&recorded.run), [4_000.0; 8]);
        assert_eq!(recorded.plan().measure, Measure::CpuTime { rate_per_s: Some(4_000.0) });
        let begun_again = recorded.events.iter().any(|event| matches!(event, Event::MeasureReplaced { .. }));
        assert_eq!(recorded.plan().replaced.is_some(), begun_again);
        if begun_again {
            let slower = if closed_loops[0] < closed_loops[1] { "nginx" } else { "apache" };
            assert_eq!(
                recorded.finished.verdict.replaced,
                Some(format!(
                    "CPU time an operation at 4,000/s was measured instead of CPU time an operation at 30,000/s, because \
                     {slower} carries only 12,000/s in a closed loop"
                ))
            );
        }
    }
}

#[test]
fn a_later_server_that_carries_twice_the_rate_keeps_it() {
    let mut lab = ScriptedLab { closed_loops: [60_000.0, 41_000.0, 0.0], ..ScriptedLab::new([]) };
    let recorded = recorded_in(&mut lab, &plan_without_rate());
    let kept = rates(&recorded.run);
    assert!(kept == [20_000.0; 8] || kept == [13_000.0; 8], "the rate of the first trial: {kept:?}");
    assert_eq!(recorded.plan().replaced, None);
}

#[test]
fn a_run_without_rate_that_was_killed_after_its_first_block_chooses_it_when_it_is_resumed() {
    let mut lab = ScriptedLab { closed_loops: [90_000.0, 12_000.0, 0.0], ..ScriptedLab::new([]) };
    // The first block before the decision: all at the rate of nginx, which was first.
    let rate_per_s = Some(30_000.0);
    let first_block = Plan { measure: Measure::CpuTime { rate_per_s }, blocks: 1, ..plan_without_rate() };
    let recorded = recorded_in(&mut lab, &first_block);
    assert_eq!(rates(&recorded.run), [30_000.0; 2]);
    cut(&recorded, 3, &plan_without_rate());
    let run = InterruptedRun::open(&recorded.finished.dir).expect("an interrupted run");
    resume_blocks(run, false, &mut lab, &AtomicBool::new(false), &mut |_| {}).expect("a run");
    let run = Run::open(&recorded.finished.dir).expect("a run directory");
    assert_eq!(rates(&run), [4_000.0; 8]);
    assert!(run.plan.is_some_and(|plan| plan.replaced.is_some()));
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
