//! Comparisons of capacities of which a trial is no measurement: what all blocks together say of the others stays what is compared.

use archive::model::{
    Comparison, ComparisonSide, ComparisonVerdict, Facts, Measure, MeasuredValue, PhaseKind, Plan,
    SpentBound, SpentBudget, Trial, TrialPhase, TrialStatus,
};

use crate::plan::measure_names::wording;
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::variant_points;
use crate::run::first_block::tests::{client_gate, closed_loop};
use crate::testing::plan::PLAN;
use crate::trial::blank;
use crate::verdict::compute::comparisons_so_far;
use crate::verdict::input::{FinishedTrials, VerdictInput};

/// What a server spends of a budget of 100 at rates; its search alone says 22,000/s.
const STEADY: [(f64, f64); 3] = [(18_000.0, 5.0), (20_000.0, 100.0), (22_000.0, 900.0)];
/// The same in a block that has seen a pause, and in one that has not.
const PAUSE: [(f64, f64); 3] = [(18_000.0, 9_000.0), (20_000.0, 40.0), (22_000.0, 300.0)];
const NO_PAUSE: [(f64, f64); 3] = [(18_000.0, 2.0), (20_000.0, 40.0), (22_000.0, 300.0)];
const NOTHING_LATE: [(f64, f64); 3] = [(18_000.0, 0.0), (20_000.0, 0.0), (22_000.0, 0.0)];

/// How a trial ends.
#[derive(Clone, Copy)]
enum Ended {
    /// With a search whose levels spent this, and which found this capacity by itself.
    Valid([(f64, f64); 3], f64),
    ClientLimited,
    Failed,
}

fn trial(plan: &Plan, block: u32, index: usize, ended: Ended) -> Trial {
    let number = 2 * block + index as u32;
    let scheduled = ScheduledTrial { number, block, position: 1, variant_point: index };
    let blank = blank(plan, &scheduled, &variant_points(plan)[index]);
    let wording = wording(&plan.measure);
    let measured = |value| {
        let (metric, unit) = (wording.what, wording.unit.to_owned());
        Some(MeasuredValue { metric, value, unit, higher_is_better: wording.higher_is_better })
    };
    let level = |(rate_per_s, spent): (f64, f64)| TrialPhase {
        kind: PhaseKind::SearchStep,
        spent: Some(SpentBudget {
            rate_per_s,
            bounds: vec![SpentBound { spent, budget: 100.0 }],
            late_share: Some(spent / 1e4),
        }),
        ..closed_loop(1.0, 0.1)
    };
    match ended {
        Ended::Valid(levels, found) => {
            let phases = [closed_loop(30_000.0, 0.5)].into_iter().chain(levels.map(level)).collect();
            Trial { status: TrialStatus::Valid, measured: measured(found), phases, ..blank }
        }
        Ended::ClientLimited => Trial {
            status: TrialStatus::Invalid,
            gates: vec![client_gate()],
            measured: measured(20_000.0),
            ..blank
        },
        Ended::Failed => blank,
    }
}

/// Compares a server whose trials end like this with a steady one.
fn compared(ends: &[Ended]) -> Comparison {
    let plan: Plan = PLAN.parse().expect("a plan");
    let plan = Plan { measure: Measure::Capacity { slo: "p99<5ms".to_owned() }, ..plan };
    let (points, mut trials, facts) = (variant_points(&plan), FinishedTrials::default(), Facts::default());
    for (block, ended) in (1..).zip(ends) {
        trials.push(0, trial(&plan, block, 0, *ended));
        trials.push(1, trial(&plan, block, 1, Ended::Valid(STEADY, 20_000.0)));
    }
    let input = VerdictInput {
        plan: &plan,
        facts: &facts,
        variant_points: &points,
        trials: &trials,
        look: None,
        interrupted: false,
        curves: &[],
    };
    comparisons_so_far(&input).remove(0)
}

/// Whether the first variant of the plan was called ahead.
fn is_first_ahead(comparison: &Comparison) -> bool {
    let first = &PLAN.parse::<Plan>().expect("a plan").variants[0].name;
    let ahead = match comparison.verdict {
        ComparisonVerdict::Difference { higher: ComparisonSide::A, .. } => &comparison.a,
        ComparisonVerdict::Difference { higher: ComparisonSide::B, .. } => &comparison.b,
        _ => return false,
    };
    ahead == first
}

#[test]
fn a_pausing_server_is_not_ahead_because_one_trial_says_nothing_exact() {
    // One block in six has seen a pause, and the search of each other one alone finds more than the steady server carries.
    let pausing: Vec<Ended> = (0..18)
        .map(
            |block| {
                if block % 6 == 0 { Ended::Valid(PAUSE, 8_000.0) } else { Ended::Valid(NO_PAUSE, 21_000.0) }
            },
        )
        .collect();
    assert!(!is_first_ahead(&compared(&pausing)), "{}", compared(&pausing).sentence);
    for odd in [Ended::ClientLimited, Ended::Failed] {
        let found = compared(&[pausing.as_slice(), &[odd]].concat());
        assert!(!is_first_ahead(&found), "{}", found.sentence);
    }
}

#[test]
fn a_server_that_carries_all_that_is_offered_has_a_ratio_that_says_so() {
    let fast = compared(&[Ended::Valid(NOTHING_LATE, 22_000.0); 8]);
    assert!(is_first_ahead(&fast) && fast.estimate.is_some(), "{}", fast.sentence);
    assert!(fast.sentence.contains("carried all that was offered, about the throughput of its closed loop"));
}
