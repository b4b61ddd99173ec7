//! How long the closed loops of a warm-up are. A warm-up repeats its loop until the server is ready (`trial::warm_up`).

use std::time::Duration;

use archive::model::{PhaseKind, Plan, Trial, TrialTurns};

/// One block in this many has the lasting loop, the first one among them.
const LASTING_EACH: u32 = 3;
/// Length of the lasting loop, in loops of the plan, and at least. A server is started anew in each block, so it pauses only for what it
/// does in one block: a pause at each 200,000th reply of a server of 30,000/s needs 7 s.
const LASTING_LOOPS: u32 = 3;
const SHORTEST_LASTING: Duration = Duration::from_secs(8);

fn lasting_loop(closed_loop: Duration) -> Duration {
    (closed_loop * LASTING_LOOPS).max(SHORTEST_LASTING)
}

/// Time of lasting loops that a block has on average, with closed loops of this length.
pub fn lasting_in_each_block(closed_loop: Duration) -> Duration {
    lasting_loop(closed_loop) / LASTING_EACH
}

/// The closed loops of a warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUpLoops {
    /// Length of the loop that is repeated.
    pub each: Duration,
    /// Length of the lasting loop, which follows the repeated loops and looks for standstills of the server; none where no capacity is
    /// searched, and in other blocks.
    pub lasting: Option<Duration>,
}

impl WarmUpLoops {
    /// The loops in a block, counted from 1.
    pub fn in_block(plan: &Plan, block: u32, each: Duration) -> Self {
        let is_asked = plan.measure.is_capacity() && block % LASTING_EACH == 1;
        Self { each, lasting: is_asked.then(|| lasting_loop(plan.phases.closed_loop)) }
    }

    /// Nothing but the loop that is repeated.
    pub fn only(each: Duration) -> Self {
        Self { each, lasting: None }
    }
}

/// The loop that a plan asks for.
pub fn planned_loop(plan: &Plan) -> Duration {
    plan.phases.closed_loop.max(plan.warm_up.min)
}

/// The loop of the next trial in turns, after `earlier` trials of the same variant and point. Where a server was ready after
/// one loop, the next has half of it, and is repeated if it shows a drift. The time is worth more in the turns: the warm-ups
/// of two servers took a third of a quick block (decision 0009).
pub fn next_loop<'t>(plan: &Plan, earlier: impl IntoIterator<Item = &'t Trial>) -> Duration {
    let planned = planned_loop(plan);
    if earlier.into_iter().any(was_ready_at_once) {
        return (planned / 2).max(plan.warm_up.min);
    }
    planned
}

/// Whether a valid trial in turns has the record of a single loop.
fn was_ready_at_once(trial: &Trial) -> bool {
    let loops = trial.phases.iter().filter(|phase| phase.kind == PhaseKind::ClosedLoop).count();
    matches!(trial.turns, Some(TrialTurns::InTurns { .. })) && trial.valid_value().is_some() && loops == 1
}

#[cfg(test)]
mod tests {
    use archive::model::{Measure, MeasuredValue, TrialStatus};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::run::first_block::tests::closed_loop;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    /// A plan whose loops last two seconds and whose warm-ups may be shorter.
    fn plan(shortest: Duration) -> Plan {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        (plan.phases.closed_loop, plan.warm_up.min) = (Duration::from_secs(2), shortest);
        plan
    }

    fn lasting_of(plan: &Plan, block: u32) -> Option<Duration> {
        WarmUpLoops::in_block(plan, block, Duration::from_secs(2)).lasting
    }

    #[test]
    fn a_third_of_the_blocks_of_capacities_have_a_lasting_loop() {
        let of_throughput = plan(Duration::ZERO);
        let capacity = Measure::Capacity { slo: "p99<5ms".to_owned() };
        let of_capacities = Plan { measure: capacity, ..of_throughput.clone() };
        let blocks = (1..=7).filter(|block| lasting_of(&of_capacities, *block).is_some());
        assert_eq!(blocks.collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(lasting_of(&of_capacities, 1), Some(SHORTEST_LASTING));
        assert_eq!(lasting_of(&of_throughput, 1), None);
    }

    /// A valid trial in turns after this many loops.
    fn trial(loops: usize) -> Trial {
        let plan = plan(Duration::ZERO);
        let scheduled = ScheduledTrial { number: 1, block: 1, position: 1, variant_point: 0 };
        let (metric, unit) = ("throughput".to_owned(), "/s".to_owned());
        Trial {
            status: TrialStatus::Valid,
            measured: Some(MeasuredValue { metric, value: 800.0, unit, higher_is_better: true }),
            phases: vec![closed_loop(800.0, 0.3); loops],
            turns: Some(TrialTurns::InTurns { trials: vec![1], slice_s: 0.05, rounds: 9, idle_cores: None }),
            ..blank(&plan, &scheduled, &variant_points(&plan)[0])
        }
    }

    #[test]
    fn a_server_that_was_ready_at_once_gets_half_the_loop() {
        let second = Duration::from_secs(1);
        let plan = plan(second / 2);
        assert_eq!(next_loop(&plan, []), 2 * second, "nothing is known");
        assert_eq!(next_loop(&plan, [&trial(2)]), 2 * second, "it was not ready after one");
        assert_eq!(next_loop(&plan, [&trial(2), &trial(1)]), second, "the first one was disturbed");
        let refused = Trial { status: TrialStatus::Invalid, ..trial(1) };
        assert_eq!(next_loop(&plan, [&refused]), 2 * second);
        let alone = Trial { turns: None, ..trial(1) };
        assert_eq!(next_loop(&plan, [&alone]), 2 * second, "its loop is the measurement");
    }

    #[test]
    fn no_loop_is_shorter_than_the_plan_allows() {
        let allowed = Duration::from_millis(1_700);
        assert_eq!(next_loop(&plan(allowed), [&trial(1)]), allowed);
        assert_eq!(planned_loop(&plan(Duration::from_secs(5))), Duration::from_secs(5));
    }
}
