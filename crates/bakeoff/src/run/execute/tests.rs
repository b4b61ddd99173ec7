//! Runs in a lab whose trials end as the test prescribes.

use std::sync::atomic::AtomicBool;

use archive::model::{
    Comparison, ComparisonSide, ComparisonVerdict, LookSpending, Plan, RunKind, TrialStatus,
};

use super::{resume_blocks, run_blocks};
use crate::event::Event;
use crate::run::error::RunPlanError;
use crate::run::interrupted::{InterruptedRun, ResumeError};
use crate::run::lab::FinishedRun;
use crate::testing::plan::{PLAN, planned_host};
use crate::testing::scripted_lab::{ScriptedLab, WAITING};

/// Runs the plan of a comparison; also returns its events.
fn run_scripted(outcomes: impl IntoIterator<Item = (u32, TrialStatus)>) -> (FinishedRun, Vec<Event>) {
    run_scripted_plan(&PLAN.parse().expect("a plan"), outcomes)
}

fn run_scripted_plan(
    plan: &Plan,
    outcomes: impl IntoIterator<Item = (u32, TrialStatus)>,
) -> (FinishedRun, Vec<Event>) {
    let runs = tempfile::tempdir().expect("a directory");
    let mut events = Vec::new();
    let mut lab = ScriptedLab::new(outcomes);
    let finished = run_blocks(plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |event| {
        events.push(event);
    });
    (finished.expect("a run"), events)
}

fn trials(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::TrialEnds { .. })).count()
}

#[test]
fn a_run_of_valid_trials_has_the_planned_blocks() {
    let (finished, events) = run_scripted([]);
    assert_eq!(trials(&events), 8);
    assert!(finished.verdict.complete && finished.stopped.is_none());
    assert_eq!(finished.verdict.interrupted, Some(false));
}

#[test]
fn a_spare_block_replaces_an_invalid_block() {
    let (_, events) = run_scripted([(3, TrialStatus::Invalid)]);
    assert_eq!(trials(&events), 10);
    let added = events.iter().find(|event| matches!(event, Event::BlockAdded { .. }));
    assert_eq!(added, Some(&Event::BlockAdded { block: 5, trials: 10 }));
}

#[test]
fn a_run_has_at_most_the_spare_blocks_of_its_plan() {
    let (finished, events) = run_scripted([1, 3, 9, 11].map(|number| (number, TrialStatus::Invalid)));
    assert_eq!(trials(&events), 12);
    assert!(finished.verdict.complete, "all planned trials have run");
}

#[test]
fn a_variant_that_fails_in_most_blocks_gets_no_spare_block() {
    let (_, events) = run_scripted([1, 3, 5].map(|number| (number, TrialStatus::Invalid)));
    assert_eq!(trials(&events), 8);
}

#[test]
fn a_run_ends_at_the_look_that_settles_it() {
    let plan: Plan = PLAN.replace("blocks = 4", "blocks = 20\nlooks = [8, 12, 16]").parse().expect("a plan");
    let (finished, events) = run_scripted_plan(&plan, []);
    assert_eq!(trials(&events), 8 * 2);
    assert!(finished.verdict.complete && finished.stopped.is_none());
    assert_eq!((finished.verdict.settled_after_blocks, finished.verdict.interrupted), (Some(8), Some(false)));
    let confidence = finished.verdict.comparisons[0].estimate.as_ref().map(|estimate| estimate.confidence);
    assert!(confidence.is_some_and(|level| level > 0.99), "an early look is strict: {confidence:?}");
    let told: Vec<Option<f64>> = events
        .iter()
        .filter_map(|event| match event {
            Event::Precision { expected_half_width, .. } => Some(*expected_half_width),
            _ => None,
        })
        .collect();
    assert!(told.len() >= 5, "progress tells the precision after each block that has one");
    assert!(told.iter().skip_while(|expected| expected.is_none()).all(Option::is_some), "{told:?}");
    assert!(told.last().is_some_and(Option::is_some), "and what it will be, once enough blocks tell");
}

/// The blocks and trials with which a run goes on, and what disturbs it; none for another event.
fn goes_on(event: &Event) -> Option<(u32, u32, Option<String>)> {
    match event {
        Event::GoesOn { blocks, trials, company, .. } => Some((*blocks, *trials, company.clone())),
        _ => None,
    }
}

#[test]
fn a_run_goes_on_where_its_early_look_settles_nothing() {
    let run = |extra: &str| {
        let blocks = format!("blocks = 14\nlooks = [7]\nspending = \"early\"\n{extra}");
        run_scripted_plan(&PLAN.replace("blocks = 4", &blocks).parse().expect("a plan"), [])
    };
    let (settled, events) = run("");
    assert_eq!((trials(&events), settled.verdict.settled_after_blocks), (7 * 2, Some(7)));
    assert!(
        matches!(events[0], Event::RunBegins { trials: 14, .. }) && events.iter().find_map(goes_on).is_none()
    );
    let (finished, events) = run("within = 1e-9");
    assert_eq!((trials(&events), finished.verdict.settled_after_blocks), (14 * 2, None));
    assert_eq!(events.iter().filter_map(goes_on).collect::<Vec<_>>(), [(14, 28, None)]);
    assert!(!events.iter().any(|event| matches!(event, Event::BlockAdded { .. })), "no trial is replaced");
}

#[test]
fn a_disturbed_run_goes_on_for_longer_and_its_plan_says_so() {
    let early = "blocks = 14\nlooks = [7]\nspending = \"early\"\nwithin = 1e-9";
    let plan: Plan = PLAN.replace("blocks = 4", early).parse().expect("a plan");
    let (runs, never) = (tempfile::tempdir().expect("a directory"), AtomicBool::new(false));
    let mut lab = ScriptedLab { others: Some(0.45), ..ScriptedLab::new([]) };
    let mut events = Vec::new();
    let finished = run_blocks(&plan, &mut lab, runs.path(), &never, &mut |event| events.push(event));
    let finished = finished.expect("a run");
    let others = Some("other programs used 45 % of the CPUs".to_owned());
    let told: Vec<_> = events.iter().filter_map(goes_on).collect();
    assert_eq!(told, [(28, 56, others.clone())], "once, after the look with which most runs end");
    assert_eq!((trials(&events), finished.verdict.settled_after_blocks), (28 * 2, None));
    let is_beside = |event: &&Event| matches!(event, Event::Precision { company, .. } if *company == others);
    assert!(events.iter().any(|event| is_beside(&event)), "and progress says what disturbs it");
    let plan = archive::Run::open(&finished.dir).expect("a run directory").plan.expect("a plan");
    assert_eq!((plan.blocks, plan.looks, plan.spending), (28, vec![7, 14, 21], LookSpending::Prolonged));
}

#[test]
fn a_look_waits_for_complete_blocks_and_for_the_precision_of_the_plan() {
    let plan: Plan =
        PLAN.replace("blocks = 4", "blocks = 12\nlooks = [8]\nwithin = 1e-9").parse().expect("a plan");
    let (finished, events) = run_scripted_plan(&plan, [(1, TrialStatus::Invalid)]);
    assert_eq!(trials(&events), 13 * 2, "no look settles it, and one block is replaced");
    let is_told = |event: &Event| matches!(event, Event::AimMissed { blocks: None, .. });
    assert_eq!(events.iter().filter(|event| is_told(event)).count(), 1, "the end says what is missing");
    assert_eq!(finished.verdict.settled_after_blocks, None);
    let confidence = finished.verdict.comparisons[0].estimate.as_ref().map(|estimate| estimate.confidence);
    assert!(confidence.is_some_and(|level| (0.950..0.957).contains(&level)), "{confidence:?}");
}

#[test]
fn a_run_without_a_valid_block_ends_early() {
    let plan: Plan = PLAN.replace("blocks = 4", "blocks = 20").parse().expect("a plan");
    let (finished, events) = run_scripted_plan(&plan, (1..=99).map(|number| (number, TrialStatus::Invalid)));
    assert_eq!(trials(&events), 6 * 2);
    assert!(!finished.verdict.complete);
    assert_eq!(finished.verdict.interrupted, Some(false), "no trial is left to resume");
    assert_eq!(
        finished.verdict.sentence,
        "inconclusive: nginx against apache: a ratio needs at least 3 complete blocks, and this run has 0; \
         12 of 12 trials are invalid; the most frequent reason (12 trials): the hypervisor took CPU time"
    );
}

/// The blocks of each pair's ratio in a comparison of three variants, and the number of trials.
fn three_variants(mut lab: ScriptedLab) -> ([Option<u32>; 3], usize) {
    let third = r#"}, { name = "h2o", server = "h2o", knobs = {} }]"#;
    let plan = PLAN.replace("blocks = 4", "blocks = 8").replace("}]\n", &format!("{third}\n"));
    let (runs, never) = (tempfile::tempdir().expect("a directory"), AtomicBool::new(false));
    let mut events = Vec::new();
    let plan = plan.parse().expect("a plan");
    let finished = run_blocks(&plan, &mut lab, runs.path(), &never, &mut |event| events.push(event));
    let comparisons = finished.expect("a run").verdict.comparisons;
    let of = |a: &str, b: &str| {
        let is_pair = |c: &&Comparison| [c.a.as_str(), c.b.as_str()].iter().all(|name| [a, b].contains(name));
        comparisons.iter().find(is_pair).expect("a pair").estimate.as_ref().map(|estimate| estimate.blocks)
    };
    ([of("apache", "nginx"), of("h2o", "apache"), of("h2o", "nginx")], trials(&events))
}

#[test]
fn a_variant_that_is_never_valid_does_not_take_the_ratio_of_the_others() {
    let lab = ScriptedLab { limited: vec![2], ..ScriptedLab::new([]) };
    assert_eq!(three_variants(lab), ([Some(8), None, None], 8 * 3), "and it gets no spare block");
}

#[test]
fn a_spare_block_of_one_variant_has_those_that_it_is_compared_with() {
    let (blocks, trials) = three_variants(ScriptedLab::new([(1, TrialStatus::Invalid)]));
    assert_eq!(trials, 9 * 3);
    assert!(blocks.iter().all(|blocks| blocks.is_some_and(|blocks| blocks >= 8)), "{blocks:?}");
}

#[test]
fn a_client_that_is_the_limit_for_the_faster_variant_only_shows_a_bound() {
    let verdict_of = |plan: Plan, limited| {
        let runs = tempfile::tempdir().expect("a directory");
        let mut lab = ScriptedLab { limited: vec![limited], ..ScriptedLab::new([]) };
        let finished = run_blocks(&plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |_| {});
        finished.expect("a run").verdict
    };
    let verdict = |limited| verdict_of(PLAN.parse().expect("a plan"), limited);
    let faster = verdict(1);
    let ComparisonVerdict::Difference { higher: ComparisonSide::A, at_least } = faster.comparisons[0].verdict
    else {
        panic!("{:?}", faster.comparisons)
    };
    let names = (faster.comparisons[0].a.as_str(), faster.comparisons[0].b.as_str());
    assert_eq!((names, faster.comparisons[0].estimate.as_ref()), (("apache", "nginx"), None));
    assert!((0.85..1.0).contains(&at_least), "{at_least}");
    assert!(faster.sentence.starts_with("apache has at least 1."), "{}", faster.sentence);
    assert!(faster.sentence.ends_with("because the client was the limit for apache"), "{}", faster.sentence);

    let slower = verdict(0);
    assert!(slower.comparisons[0].verdict.is_inconclusive());
    assert!(slower.sentence.contains("; nginx has at least 0.5"), "{}", slower.sentence);

    let mut plan: Plan = PLAN.parse().expect("a plan");
    for (name, variant) in ["old", "new"].into_iter().zip(&mut plan.variants) {
        plan.hosts.push(planned_host(name, "10.1.0.5"));
        variant.host = Some(name.to_owned());
    }
    let of_machines = verdict_of(plan, 1);
    assert!(of_machines.sentence.ends_with("; these two machines, not machines of their types"));
}

#[test]
fn a_variant_that_cannot_be_measured_ends_the_run() {
    let (finished, events) = run_scripted([(1, TrialStatus::Failed)]);
    assert_eq!(trials(&events), 1);
    assert!(finished.stopped.is_some() && !finished.verdict.complete);
    assert_eq!(finished.verdict.interrupted, Some(true));
    assert!(finished.verdict.sentence.contains("; 1 of 1 trial failed: "), "{}", finished.verdict.sentence);
}

#[test]
fn a_comparison_names_the_larger_first_and_a_sweep_follows_the_plan() {
    let pairs = |finished: &FinishedRun| {
        let comparisons = &finished.verdict.comparisons;
        comparisons.iter().map(|c| format!("{}/{} {:?}", c.a, c.b, c.point)).collect::<Vec<_>>()
    };
    let (compared, _) = run_scripted([]);
    assert_eq!(pairs(&compared), ["apache/nginx {}"]);

    let sweep = format!("{PLAN}sweep = [{{ vary = \"connections\", values = [1, 2] }}]");
    let plan: Plan = sweep.parse().expect("a plan");
    let (swept, events) =
        run_scripted_plan(&Plan { kind: RunKind::Sweep, ..plan }, [(2, TrialStatus::Invalid)]);
    let at = |n| format!("nginx/apache {{\"connections\": Integer({n})}}");
    assert_eq!(pairs(&swept), [at(1), at(2)]);
    assert_eq!(trials(&events), 4 * 4 + 2, "only the incomplete point gets a spare block");
}

#[test]
fn a_sweep_states_the_best_point_of_each_variant() {
    let swept = |axes: &str, outcomes: &[(u32, TrialStatus)]| {
        let plan: Plan = format!("{PLAN}sweep = [{axes}]").parse().expect("a plan");
        run_scripted_plan(&Plan { kind: RunKind::Sweep, ..plan }, outcomes.iter().copied()).0.verdict
    };
    let words = r#"{ vary = "mpm", values = ["event", "prefork"] }"#;
    let on_words = swept(words, &[]);
    assert!(on_words.curves.is_empty(), "an axis of words has no curve");
    for (variant, name) in ["nginx", "apache"].into_iter().enumerate() {
        let best = on_words.variants.iter().filter(|summary| summary.name == name);
        let best = best.max_by(|a, b| a.median.partial_cmp(&b.median).expect("medians")).expect("a best");
        let (at, median) = (&best.point["mpm"], best.median.expect("a median").round());
        let sentence = on_words.sentence.split("; ").nth(variant).expect("a part");
        assert_eq!(sentence, format!("{name}: best at mpm {at} ({median}/s)"));
    }
    let both = swept(&format!("{words}, {{ vary = \"connections\", values = [1, 2] }}"), &[]);
    assert_eq!(both.sentence.matches("best at connections ").count(), 2, "{}", both.sentence);
    let none: Vec<(u32, TrialStatus)> = (1..=99).map(|number| (number, TrialStatus::Invalid)).collect();
    assert_eq!(swept(words, &none).sentence, "inconclusive: no point has a valid trial");
}

#[test]
fn a_sweep_names_a_variant_that_has_no_valid_trial() -> Result<(), Box<dyn std::error::Error>> {
    let axis = r#"{ vary = "mpm", values = ["event", "prefork"] }"#;
    let plan: Plan = format!("{PLAN}sweep = [{axis}]").parse()?;
    let plan = Plan { kind: RunKind::Sweep, ..plan };
    let mut lab = ScriptedLab { limited: vec![1], ..ScriptedLab::new([]) };
    let runs = tempfile::tempdir()?;
    let finished = run_blocks(&plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |_| {})?;
    let sentence = finished.verdict.sentence;
    assert!(
        sentence.starts_with("nginx: best at ") && sentence.ends_with("; apache: no point has a valid trial"),
        "{sentence}"
    );
    Ok(())
}

#[test]
fn the_trial_after_one_with_steal_waits_for_the_cpus() {
    let (_, events) = run_scripted([(3, TrialStatus::Invalid)]);
    let waits_before = |number: u32| {
        let mut before = events.iter().take_while(
            |event| !matches!(event, Event::TrialBegins { number: begun, .. } if *begun == number),
        );
        before.any(|event| matches!(event, Event::Doing { what } if what == WAITING))
    };
    assert!(!waits_before(3) && waits_before(4));
    let waits = events.iter().filter(|event| matches!(event, Event::Doing { .. })).count();
    assert_eq!(waits, 1, "the other trials do not wait");
}

/// Runs the plan, cuts the run before this trial, as SIGKILL does, and resumes it. Returns the numbers of the trials
/// that ran then, and the finished run.
fn cut_and_resume(
    outcomes: &[(u32, TrialStatus)],
    cut: u32,
) -> Result<(Vec<u32>, FinishedRun), Box<dyn std::error::Error>> {
    let plan: Plan = PLAN.parse()?;
    let runs = tempfile::tempdir()?;
    let never = AtomicBool::new(false);
    let mut lab = ScriptedLab::new(outcomes.iter().copied());
    let first = run_blocks(&plan, &mut lab, runs.path(), &never, &mut |_| {})?;
    for record in archive::Run::open(&first.dir)?.trials {
        if record.trial.number >= cut {
            std::fs::remove_file(first.dir.join(record.folder).join("trial.json"))?;
        }
    }
    std::fs::remove_file(first.dir.join("verdict.json"))?;
    let mut begun = Vec::new();
    let run = InterruptedRun::open(&first.dir)?;
    let resumed = resume_blocks(run, false, &mut lab, &never, &mut |event| {
        if let Event::TrialBegins { number, .. } = event {
            begun.push(number);
        }
    })?;
    let comparisons = |run: &FinishedRun| format!("{:?}", run.verdict.comparisons);
    assert_eq!(comparisons(&resumed), comparisons(&first), "the same verdict as without an interruption");
    assert!(matches!(InterruptedRun::open(&first.dir), Err(ResumeError::Finished { .. })));
    Ok((begun, resumed))
}

#[test]
fn a_resumed_run_has_the_order_and_the_verdict_of_an_uninterrupted_one()
-> Result<(), Box<dyn std::error::Error>> {
    for (cut, first) in [(1, 1), (2, 1), (3, 3), (6, 5), (8, 7)] {
        let (begun, resumed) = cut_and_resume(&[], cut)?;
        assert_eq!(begun, (first..=8).collect::<Vec<_>>(), "cut before trial {cut}");
        assert!(resumed.verdict.complete);
    }
    // A spare block that was cut, and one that is only due because an earlier trial is invalid.
    for (cut, first) in [(10, 9), (8, 7)] {
        let (begun, _) = cut_and_resume(&[(3, TrialStatus::Invalid)], cut)?;
        assert_eq!(begun, (first..=10).collect::<Vec<_>>(), "cut before trial {cut}");
    }
    Ok(())
}

#[test]
fn a_run_that_a_failing_server_stopped_runs_that_block_again() -> Result<(), Box<dyn std::error::Error>> {
    let plan: Plan = PLAN.parse()?;
    let runs = tempfile::tempdir()?;
    let never = AtomicBool::new(false);
    let mut lab = ScriptedLab::new([(2, TrialStatus::Failed)]);
    let stopped = run_blocks(&plan, &mut lab, runs.path(), &never, &mut |_| {})?;
    assert!(stopped.stopped.is_some());
    lab.outcomes.clear();
    let resumed = resume_blocks(InterruptedRun::open(&stopped.dir)?, false, &mut lab, &never, &mut |_| {})?;
    assert!(resumed.stopped.is_none() && resumed.verdict.complete);
    let record = archive::Run::open(&resumed.dir)?;
    assert!(record.problems.is_empty() && record.trials.len() == 8);
    let resumption = &record.facts.ok_or("facts")?.resumed[0];
    assert_eq!((resumption.block, resumption.kept_trials, resumption.discarded_trials), (1, 0, 2));
    Ok(())
}

#[test]
fn a_disk_that_is_full_after_the_first_trial_of_a_block_leaves_that_one_its_record()
-> Result<(), Box<dyn std::error::Error>> {
    let plan: Plan = format!("{PLAN}\n[turns]\nload = \"1s\"").parse()?;
    let runs = tempfile::tempdir()?;
    let mut lab = ScriptedLab { full_at: Some(4), ..ScriptedLab::new([]) };
    let cut = run_blocks(&plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |_| {});
    let Err(RunPlanError::CutOff { dir, .. }) = cut else { panic!("the run goes on: {cut:?}") };
    let numbers: Vec<u32> =
        archive::Run::open(&dir)?.trials.iter().map(|record| record.trial.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    Ok(())
}
