//! Whether what disturbed the machine met one side of a comparison more than the other. Servers that are up one at a time meet it alike in
//! the mean of many blocks; in few blocks one of them may have had more of it, and a program that takes what a server leaves does so
//! each time. Then the ratio is also of the disturbance.

use archive::model::{Measure, Trial, TrialTurns};
use stats::describe::Sample;
use stats::one_sided::p_above;

use crate::gates::{MAX_OTHERS, OTHERS, STEAL};
use crate::verdict::input::FinishedTrials;

/// How sure it must be that one side met more, on each of two sides.
const SIGNIFICANCE: f64 = 0.025;

/// What was taken from each side in the mean of its trials: shares, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TakenShares {
    /// In trials of the numerator.
    pub a: f64,
    /// In trials of the denominator.
    pub b: f64,
}

/// What was taken from the CPUs of each side, where one side lost more than the other by more than the gates allow one trial to lose.
/// None where both met it alike, where they were loaded in turns ([`caveat`](super::caveat)), and of CPU time an operation, which is the
/// same on a contended CPU.
pub fn unequal(measure: &Measure, trials: &FinishedTrials, sides: (usize, usize)) -> Option<TakenShares> {
    if measure.is_cpu_time() {
        return None;
    }
    compare(trials, sides, taken_of_one_at_a_time).filter(|found| found.is_unequal).map(|found| found.shares)
}

/// Two sides that met something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedShares {
    /// What each of them met.
    pub shares: TakenShares,
    /// Whether one side met more of it, beyond the scatter over the blocks, and by more than the gates allow one trial to lose.
    pub is_unequal: bool,
}

/// Compares a share of each side within the blocks that have it of both; none where no block has.
pub fn compare(
    trials: &FinishedTrials,
    (a, b): (usize, usize),
    share: impl Fn(&Trial) -> Option<f64>,
) -> Option<ComparedShares> {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for block in trials.blocks() {
        if let Some(share_of_a) = trials.in_block(a, block).and_then(&share)
            && let Some(share_of_b) = trials.in_block(b, block).and_then(&share)
        {
            of_a.push(share_of_a);
            of_b.push(share_of_b);
        }
    }
    let more: Vec<f64> = of_a.iter().zip(&of_b).map(|(a, b)| a - b).collect();
    let less: Vec<f64> = more.iter().map(|more| -more).collect();
    let shares = TakenShares { a: Sample::new(&of_a).ok()?.mean(), b: Sample::new(&of_b).ok()?.mean() };
    let is_sure = p_above(&more, 0.0) < SIGNIFICANCE || p_above(&less, 0.0) < SIGNIFICANCE;
    Some(ComparedShares { shares, is_unequal: is_sure && (shares.a - shares.b).abs() > MAX_OTHERS })
}

/// The share of the CPUs that other programs and the hypervisor took from a valid trial whose server was up alone.
fn taken_of_one_at_a_time(trial: &Trial) -> Option<f64> {
    trial.valid_value()?;
    if matches!(trial.turns, Some(TrialTurns::InTurns { .. })) {
        return None;
    }
    let gates = trial.gates.iter().filter(|gate| [OTHERS, STEAL].contains(&&*gate.id));
    Some(gates.filter_map(|gate| gate.share).sum())
}

#[cfg(test)]
mod tests {
    use archive::model::{GateOutcome, MeasuredValue, Plan, TrialStatus};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;
    use crate::verdict::company::tests::gate_of_share;

    /// Blocks in which other programs took these shares from each of two servers.
    fn trials(shares: &[(f64, f64)], turns: Option<&TrialTurns>) -> FinishedTrials {
        let plan: Plan = PLAN.parse().expect("a plan");
        let mut trials = FinishedTrials::default();
        for (block, (a, b)) in (1..).zip(shares) {
            for (index, share) in [a, b].into_iter().enumerate() {
                let scheduled = ScheduledTrial { number: block, block, position: 1, variant_point: index };
                let measured = MeasuredValue {
                    metric: String::new(),
                    value: 100.0,
                    unit: "/s".to_owned(),
                    higher_is_better: true,
                };
                let trial = Trial {
                    status: TrialStatus::Valid,
                    measured: Some(measured),
                    gates: vec![gate_of_share(OTHERS, GateOutcome::Noted, *share)],
                    turns: turns.cloned(),
                    ..blank(&plan, &scheduled, &variant_points(&plan)[index])
                };
                trials.push(index, trial);
            }
        }
        trials
    }

    const ONE_SIDED: [(f64, f64); 5] = [(0.3, 0.1), (0.32, 0.1), (0.28, 0.12), (0.31, 0.09), (0.29, 0.11)];

    fn of(shares: &[(f64, f64)]) -> Option<TakenShares> {
        unequal(&Measure::MaxThroughput, &trials(shares, None), (0, 1))
    }

    #[test]
    fn programs_that_disturb_one_side_each_time_leave_no_ratio_of_throughput() {
        let TakenShares { a, b } = of(&ONE_SIDED).expect("one side met more");
        assert!((a - 0.3).abs() < 1e-9 && (b - 0.104).abs() < 1e-9, "{a} {b}");
        let cpu_time = Measure::CpuTime { rate_per_s: None };
        assert_eq!(unequal(&cpu_time, &trials(&ONE_SIDED, None), (0, 1)), None);
        let turns = TrialTurns::InTurns { trials: vec![1, 2], slice_s: 0.05, rounds: 9, idle_cores: None };
        assert_eq!(unequal(&Measure::MaxThroughput, &trials(&ONE_SIDED, Some(&turns)), (0, 1)), None);
    }

    #[test]
    fn programs_that_come_and_go_or_differ_by_little_scatter_the_ratio() {
        assert_eq!(of(&[(0.4, 0.1), (0.1, 0.3), (0.2, 0.45), (0.35, 0.2), (0.1, 0.15)]), None);
        assert_eq!(of(&ONE_SIDED.map(|(a, b)| (a / 20.0, b / 20.0))), None, "less than a gate allows");
        assert_eq!(of(&[]), None);
    }
}
