//! Simulated runs of equal servers, with the looks, the spare blocks and the verdicts of real ones.

use archive::model::{
    ComparisonVerdict, Facts, Gate, GateOutcome, LookSpending, MeasuredValue, Plan, Trial, TrialStatus,
};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use crate::plan::measure_names::wording;
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::{VariantPoint, variant_points};
use crate::run::first_block::tests::client_gate;
use crate::run::stopping::due;
use crate::testing::plan::PLAN;
use crate::trial::blank;
use crate::verdict::compute::comparisons_so_far;
use crate::verdict::input::{FinishedTrials, VerdictInput};
use crate::verdict::interim_looks;

/// How a simulated trial ends.
#[derive(Clone, Copy)]
enum Ended {
    Valid(f64),
    /// The client was the limit at this value.
    Limited(f64),
    /// It was disturbed.
    Disturbed,
    /// Its server failed.
    Failed,
}

fn steal() -> Gate {
    Gate { id: crate::gates::STEAL.to_owned(), outcome: GateOutcome::Failed, ..client_gate() }
}

fn trial(plan: &Plan, points: &[VariantPoint], block: u32, index: usize, ended: Ended) -> Trial {
    let scheduled =
        ScheduledTrial { number: 2 * block + index as u32, block, position: 1, variant_point: index };
    let blank = blank(plan, &scheduled, &points[index]);
    let wording = wording(&plan.measure);
    let (metric, unit) = (wording.what, wording.unit.to_owned());
    let measured = |value| MeasuredValue { metric, value, unit, higher_is_better: wording.higher_is_better };
    match ended {
        Ended::Valid(value) => Trial { status: TrialStatus::Valid, measured: Some(measured(value)), ..blank },
        Ended::Limited(value) => Trial {
            status: TrialStatus::Invalid,
            gates: vec![client_gate()],
            measured: Some(measured(value)),
            ..blank
        },
        Ended::Disturbed => Trial { status: TrialStatus::Invalid, gates: vec![steal()], ..blank },
        Ended::Failed => blank,
    }
}

/// The verdict of a run whose trials end as `end` says for each variant.
fn run(plan: &Plan, mut end: impl FnMut(usize) -> Ended) -> ComparisonVerdict {
    let points = variant_points(plan);
    let mut trials = FinishedTrials::default();
    let facts = Facts::default();
    let compared = |trials: &FinishedTrials, look| {
        let input = VerdictInput {
            plan,
            facts: &facts,
            variant_points: &points,
            trials,
            look,
            interrupted: false,
            curves: &[],
        };
        comparisons_so_far(&input)
    };
    for block in 1.. {
        let due = due(block, plan, &points, &trials);
        if due.is_empty() || block > plan.blocks + plan.spare_blocks {
            break;
        }
        if let Some(look) = interim_looks::due(plan, block - 1, &points, &trials) {
            let comparisons = compared(&trials, Some(look));
            if interim_looks::is_settled(plan, &comparisons) {
                return comparisons[0].verdict.clone();
            }
        }
        for index in due {
            trials.push(index, trial(plan, &points, block, index, end(index)));
        }
    }
    compared(&trials, None)[0].verdict.clone()
}

fn default_plan() -> Plan {
    let looks = "blocks = 20\nspare_blocks = 10\nlooks = [8, 12, 16]";
    PLAN.replace("blocks = 4\nspare_blocks = 2", looks).parse().expect("a plan")
}

/// The share of runs of equal servers with a false verdict: a difference.
fn false_verdicts(plan: &Plan, runs: u32, mut end: impl FnMut(usize, &mut Pcg64) -> Ended) -> f64 {
    let rng = &mut Pcg64::seed_from_u64(5);
    let is_false =
        |_: &u32| matches!(run(plan, |index| end(index, rng)), ComparisonVerdict::Difference { .. });
    f64::from((0..runs).filter(is_false).count() as u32) / f64::from(runs)
}

/// A value of a server whose trials scatter by this share.
fn value(sd: f64, rng: &mut Pcg64) -> f64 {
    let z: f64 = StandardNormal.sample(rng);
    100.0 * (1.0 + sd * z)
}

/// The false verdicts where trials of the first server are valid up to a limit only. `limited` says what the others are.
fn with_limit(sd: f64, limit: f64, runs: u32, limited: fn(f64) -> Ended) -> f64 {
    false_verdicts(&default_plan(), runs, |index, rng| {
        let limit = 100.0 * (1.0 + sd * limit);
        let value = value(sd, rng);
        if index == 0 && value > limit { limited(limit) } else { Ended::Valid(value) }
    })
}

#[test]
fn a_client_that_refuses_the_best_trials_of_a_server_does_not_make_it_the_slower_one() {
    // Of the first server's trials, 60 and 45 % are below the limit.
    for limit in [0.253, -0.126] {
        for sd in [0.01, 0.02, 0.03] {
            let share = with_limit(sd, limit, 100, Ended::Limited);
            assert!(share <= 0.05, "sd {sd}, limit {limit}: {share}");
        }
    }
    let without_bounds = with_limit(0.03, -0.126, 50, |_| Ended::Disturbed);
    assert!(without_bounds > 0.2, "so much is wrong if such trials are left out: {without_bounds}");
}

#[test]
fn all_looks_and_the_end_together_keep_the_error_rate() {
    let late = default_plan();
    let early =
        Plan { blocks: 14, spare_blocks: 7, looks: vec![7], spending: LookSpending::Early, ..late.clone() };
    let prolonged = interim_looks::prolonged(&early).expect("a longer plan");
    for (plan, runs) in [(late, 150), (early, 150), (prolonged, 150)] {
        let share = false_verdicts(&plan, runs, |_, rng| Ended::Valid(value(0.05, rng)));
        let (blocks, error) = (plan.blocks, (0.05 * 0.95 / f64::from(runs)).sqrt());
        assert!(share <= 0.05 + 2.0 * error, "{blocks} blocks: {share}");
    }
}

#[test]
fn servers_that_fail_alike_are_not_called_different() {
    let share = false_verdicts(&default_plan(), 100, |_, rng| {
        let value = value(0.02, rng);
        if rng.random_bool(0.15) { Ended::Failed } else { Ended::Valid(value) }
    });
    assert!(share <= 0.05, "{share}");
}

#[test]
fn a_server_that_fails_in_a_fifth_of_its_starts_is_seldom_called_ahead_for_the_others() {
    let rng = &mut Pcg64::seed_from_u64(6);
    let plan = default_plan();
    let ahead = (0..50).filter(|_| {
        let verdict = run(&plan, |index| {
            let value = value(0.02, rng) * if index == 0 { 1.5 } else { 1.0 };
            if index == 0 && rng.random_bool(0.2) { Ended::Failed } else { Ended::Valid(value) }
        });
        matches!(verdict, ComparisonVerdict::Difference { .. })
    });
    // With few failures among its starts they are outliers, and the sentence names them.
    assert!(ahead.count() < 40);
}
