//! How the servers of a run meet what disturbs their machine: other programs, the hypervisor, a frequency that changes. Servers that meet
//! a disturbance alike have scatter and no bias. What follows for a trial is left to [`check`](super::check), and whether one side met more of a disturbance
//! than the other to [`company`](crate::verdict::company).

use archive::model::{Plan, RunKind, TrialTurns};

use crate::plan::hosts::have_one_host;
use crate::plan::variant_point::variant_points;

/// How the servers of a run meet what disturbs their machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// They are up together and loaded in turns of some 50 ms: alike within a second.
    InTurns,
    /// They are up one at a time, in an order that a coin decides anew in each block: alike in the mean of the blocks.
    InRandomOrder,
    /// Each has a machine of its own, or there is nothing to compare it with.
    OfItsOwn,
}

impl Exposure {
    /// The exposure of a trial whose block has these turns; `turns` is none of a trial that is older than turns.
    pub fn of(plan: &Plan, turns: Option<&TrialTurns>) -> Self {
        let is_ordered_by_a_coin = matches!(plan.kind, RunKind::Compare | RunKind::Sweep);
        match turns {
            _ if !have_one_host(plan) => Self::OfItsOwn,
            Some(TrialTurns::InTurns { .. }) => Self::InTurns,
            _ if is_ordered_by_a_coin && variant_points(plan).len() > 1 => Self::InRandomOrder,
            _ => Self::OfItsOwn,
        }
    }

    /// Why a disturbed trial counts; none where a disturbance refuses the trial.
    pub fn why_it_counts(self) -> Option<&'static str> {
        match self {
            Self::InTurns => Some(
                "the servers of the block were loaded in turns, and a caveat says so if one met more of it",
            ),
            Self::InRandomOrder => {
                Some("a coin decides the order in each block, so all servers meet it alike")
            }
            Self::OfItsOwn => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::PLAN;

    #[test]
    fn servers_of_one_machine_meet_a_disturbance_alike_in_turns_or_by_a_coin() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let in_turns = TrialTurns::InTurns { trials: vec![1, 2], slice_s: 0.05, rounds: 9, idle_cores: None };
        let alone = TrialTurns::OneAtATime { why: "the plan has a background load".to_owned() };
        assert_eq!(Exposure::of(&plan, Some(&in_turns)), Exposure::InTurns);
        assert_eq!(Exposure::of(&plan, Some(&alone)), Exposure::InRandomOrder);
        assert_eq!(Exposure::of(&plan, None), Exposure::InRandomOrder);
        let one = Plan { variants: plan.variants[..1].to_vec(), ..plan.clone() };
        assert_eq!(Exposure::of(&one, Some(&alone)), Exposure::OfItsOwn, "nothing to compare it with");
        let explained = Plan { kind: RunKind::Explain, ..plan };
        assert_eq!(Exposure::of(&explained, None), Exposure::OfItsOwn);
    }
}
