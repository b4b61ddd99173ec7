//! The plan of another session of a run.

use archive::model::Plan;

/// The plan of a run again, for another session: the same question with other random draws, as the run
/// began ([`Plan::as_begun`]). A run that confirms a confirmation
/// confirms the first run, too.
pub fn another_session(plan: &Plan, id: &str) -> Plan {
    // The same draws would repeat the errors of the first session.
    let drawn: u32 = rand::random();
    Plan {
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: ["showdown", "confirm", id].map(str::to_owned).to_vec(),
        seed: if drawn == plan.seed { drawn.wrapping_add(1) } else { drawn },
        confirms: Some(plan.confirms.clone().unwrap_or_else(|| id.to_owned())),
        ..plan.as_begun()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::PLAN;

    #[test]
    fn all_sessions_name_the_first_run_and_have_seeds_of_their_own() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let second = another_session(&plan, "first");
        assert_eq!(second.confirms.as_deref(), Some("first"));
        assert_ne!(second.seed, plan.seed);
        let third = another_session(&second, "second");
        assert_eq!(third.confirms.as_deref(), Some("first"));
        let same = |session: Plan| Plan { seed: 1, command: plan.command.clone(), confirms: None, ..session };
        assert_eq!((same(second), same(third)), (plan.clone(), plan.clone()));
    }
}
