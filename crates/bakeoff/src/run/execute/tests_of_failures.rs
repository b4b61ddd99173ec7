//! Runs in which a server fails in some of its starts: the answer names them.

use std::sync::atomic::{AtomicBool, Ordering};

use archive::model::{ComparisonVerdict, InconclusiveReason, Plan, TrialStatus, Verdict};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{resume_blocks, run_blocks};
use crate::event::Event;
use crate::run::interrupted::InterruptedRun;
use crate::testing::plan::PLAN;
use crate::testing::scripted_lab::ScriptedLab;

fn plan(blocks: &str) -> Plan {
    PLAN.replace("blocks = 4\nspare_blocks = 2", blocks).parse().expect("a plan")
}

/// The verdict of a run in which the server of this variant fails in these blocks. Apache, the second, is twice as fast.
fn verdict_with(plan: &Plan, variant: usize, failing: Vec<u32>) -> Verdict {
    let runs = tempfile::tempdir().expect("a directory");
    let mut lab = ScriptedLab::new([]);
    lab.failing.insert(variant, failing);
    run_blocks(plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |_| {}).expect("a run").verdict
}

#[test]
fn a_server_that_refuses_in_a_fifth_of_its_starts_is_named_in_the_headline_of_each_of_twenty_comparisons() {
    let plan = plan("blocks = 20\nspare_blocks = 10\nlooks = [8, 12, 16]");
    let rng = &mut Pcg64::seed_from_u64(3);
    for comparison in 0..20 {
        let mut failing: Vec<u32> = (2..=30).filter(|_| rng.random_bool(0.2)).collect();
        failing.insert(0, if comparison % 5 == 0 { 1 } else { 2 });
        let (slower, faster) = (verdict_with(&plan, 0, failing.clone()), verdict_with(&plan, 1, failing));
        for (verdict, name) in [(slower, "nginx"), (faster, "apache")] {
            let named = format!("{name} failed in ");
            let of_variant = verdict.variants.iter().find(|variant| variant.name == name).expect("a variant");
            assert!(of_variant.failed_starts > 0);
            let said = format!("{named}{} of ", of_variant.failed_starts);
            assert!(verdict.sentence.contains(&said), "{}", verdict.sentence);
            assert!(verdict.comparisons[0].sentence.contains(&said), "{}", verdict.comparisons[0].sentence);
        }
    }
}

#[test]
fn three_failures_in_thirteen_starts_leave_it_open_who_is_faster_unless_it_is_the_slower_one() {
    let plan = plan("blocks = 10\nspare_blocks = 5");
    let faster = verdict_with(&plan, 1, vec![2, 5, 9]);
    let ComparisonVerdict::Inconclusive { reason: InconclusiveReason::ServerFailed { variants } } =
        &faster.comparisons[0].verdict
    else {
        panic!("{:?}", faster.comparisons)
    };
    assert_eq!(
        (variants.as_slice(), faster.comparisons[0].estimate.as_ref()),
        (&["apache".to_owned()][..], None)
    );
    assert_eq!(
        faster.sentence,
        "inconclusive: apache against nginx: apache failed in 3 of 13 starts; find out why it fails; nginx has at least 0.52 × \
         the value of apache"
    );
    let slower = verdict_with(&plan, 0, vec![2, 5, 9]);
    assert!(
        matches!(slower.comparisons[0].verdict, ComparisonVerdict::Difference { at_least, .. } if at_least > 0.5)
    );
    assert!(
        slower.sentence.starts_with("apache has at least 1.")
            && slower
                .sentence
                .ends_with("how much more is not known, because nginx failed in 3 of 13 starts"),
        "{}",
        slower.sentence
    );
}

#[test]
fn few_failures_of_many_starts_are_outliers_with_a_name() {
    let verdict = verdict_with(&plan("blocks = 20\nspare_blocks = 10"), 1, vec![4]);
    let estimate = verdict.comparisons[0].estimate.as_ref().expect("an estimate");
    assert_eq!(estimate.blocks, 21);
    assert!(
        verdict.sentence.ends_with("21 blocks); apache failed in 1 of 21 starts"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn few_blocks_refuse_a_verdict_on_a_server_that_fails() {
    let verdict = verdict_with(&plan("blocks = 4\nspare_blocks = 2"), 0, vec![2]);
    assert!(verdict.comparisons[0].verdict.is_inconclusive(), "{}", verdict.sentence);
    assert!(
        verdict.sentence.contains("nginx failed in 1 of 5 starts; so few blocks"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn an_extraordinary_start_is_named() {
    let plan = plan("blocks = 8\nspare_blocks = 0");
    let runs = tempfile::tempdir().expect("a directory");
    let mut lab = ScriptedLab { slow: Some(9), ..ScriptedLab::new([]) };
    let finished =
        run_blocks(&plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |_| {}).expect("a run");
    let sentence = finished.verdict.sentence;
    assert!(
        sentence.contains("; trial 9 of ") && sentence.contains(" was extraordinary: 2/s, with a median of "),
        "{sentence}"
    );
}

/// The verdict of a run that the user interrupts after so many trials, and that of its end.
fn interrupted(plan: &Plan, after: usize) -> (Plan, Verdict, Verdict) {
    let (runs, never, interrupted) =
        (tempfile::tempdir().expect("a directory"), AtomicBool::new(false), AtomicBool::new(false));
    let mut trials = 0;
    let first = run_blocks(plan, &mut ScriptedLab::new([]), runs.path(), &interrupted, &mut |event| {
        if let Event::TrialEnds { .. } = event {
            trials += 1;
            interrupted.store(trials >= after, Ordering::Relaxed);
        }
    })
    .expect("a run");
    let run = InterruptedRun::open(&first.dir).expect("a run to resume");
    let plan = run.plan().clone();
    let resumed = resume_blocks(run, false, &mut ScriptedLab::new([]), &never, &mut |_| {});
    (plan, first.verdict, resumed.expect("a run").verdict)
}

fn level(verdict: &Verdict) -> Option<f64> {
    verdict.comparisons[0].estimate.as_ref().map(|estimate| estimate.confidence)
}

#[test]
fn the_verdict_of_an_interrupted_run_is_a_look_that_the_rest_of_the_run_pays() {
    let plan = plan("blocks = 20\nspare_blocks = 10\nwithin = 1e-9");
    let (resumed, first, last) = interrupted(&plan, 20);
    assert_eq!(
        (plan.interrupted_looks.as_slice(), resumed.interrupted_looks.as_slice()),
        (&[][..], &[10][..])
    );
    assert!(level(&first).is_some_and(|level| level > 0.996), "half of the blocks: {:?}", level(&first));
    assert!(level(&last).is_some_and(|level| (0.9501..0.953).contains(&level)), "{:?}", level(&last));
    let (again, ..) = interrupted(&resumed, 28);
    assert_eq!(again.interrupted_looks, [14], "a plan that is run again has no looks of another run");
}

#[test]
fn a_run_that_is_interrupted_early_has_no_verdict_and_no_claim() {
    let plan = plan("blocks = 40\nspare_blocks = 20");
    let (resumed, first, last) = interrupted(&plan, 10);
    assert!(resumed.interrupted_looks.is_empty());
    let ComparisonVerdict::Inconclusive {
        reason: InconclusiveReason::NoVerdictYet { blocks: 5, needed: 40 },
    } = first.comparisons[0].verdict
    else {
        panic!("{:?}", first.comparisons)
    };
    assert!(
        first.sentence.starts_with(
            "no verdict yet on apache against nginx: stopped after 5 blocks, and the run decides after 40; so far apache / nginx is 1."
        ),
        "{}",
        first.sentence
    );
    assert_eq!(level(&first), None);
    assert!(
        level(&last).is_some_and(|level| (level - 0.95).abs() < 1e-9),
        "nothing was spent: {:?}",
        level(&last)
    );
}

#[test]
fn a_client_that_is_the_limit_gives_no_bound_before_the_first_look() {
    let (runs, interrupted) = (tempfile::tempdir().expect("a directory"), AtomicBool::new(false));
    let mut lab = ScriptedLab { limited: vec![1], ..ScriptedLab::new([]) };
    let mut trials = 0;
    let plan = plan("blocks = 40\nspare_blocks = 20");
    let first = run_blocks(&plan, &mut lab, runs.path(), &interrupted, &mut |event| {
        if let Event::TrialEnds { .. } = event {
            trials += 1;
            interrupted.store(trials >= 10, Ordering::Relaxed);
        }
    });
    let verdict = first.expect("a run").verdict;
    assert!(
        verdict.comparisons[0].verdict.is_inconclusive() && !verdict.sentence.contains("at least 1."),
        "{}",
        verdict.sentence
    );
}

#[test]
fn a_machine_that_fails_is_no_failure_of_a_server() {
    let verdict = verdict_with(&plan("blocks = 8\nspare_blocks = 4"), 0, Vec::new());
    assert!(!verdict.sentence.contains("failed in"));
    let runs = tempfile::tempdir().expect("a directory");
    let mut lab = ScriptedLab::new([(5, TrialStatus::Failed)]);
    lab.fails_elsewhere = true;
    let plan = plan("blocks = 8\nspare_blocks = 4");
    let finished =
        run_blocks(&plan, &mut lab, runs.path(), &AtomicBool::new(false), &mut |_| {}).expect("a run");
    assert!(!finished.verdict.sentence.contains("failed in"), "{}", finished.verdict.sentence);
    assert!(finished.verdict.variants.iter().all(|variant| variant.failed_starts == 0));
}
