//! Differences that do not matter, in simulated seconds: much traffic makes no small one a breach, and the probability of a false alarm
//! is that of a whole ramp.

use traffic::ramp::{MULTIPLES, Ramp, RampPhase, RampRules};
use traffic::rollout::{Answer, CanaryRules};
use traffic::weights::Participants;

use crate::simulated::{Backend, Behaviour, participants};
use crate::{HARD, LATE_AND_STALLS, Rollout, always, one_step};

/// How many of some rollouts of 1,000 requests/s a side were rolled back.
fn rolled_back(others: Behaviour, candidate: Behaviour, rollouts: u64, rules: &CanaryRules) -> usize {
    let mut rolled_back = 0;
    for seed in 0..rollouts {
        let backend = Backend::new(4000.0, others, always(candidate), seed);
        let (answer, _) = Rollout::start(rules.clone(), backend).finish();
        rolled_back += usize::from(matches!(answer, Answer::RolledBack { .. }));
    }
    rolled_back
}

#[test]
fn a_difference_within_the_margin_is_seldom_rolled_back_however_much_traffic_there_is() {
    let worse = Behaviour { late: 0.011, ..LATE_AND_STALLS };
    let found = rolled_back(LATE_AND_STALLS, worse, 12, &one_step(1500));
    assert!(found <= 1, "{found} of 12: 1.3 against 1.4 % of late answers, and the margin is 1.25");
}

#[test]
fn a_negligible_share_of_late_answers_is_seldom_rolled_back_whatever_the_ratio_is() {
    let others = Behaviour { late: 0.0005, ..Behaviour::default() };
    let worse = Behaviour { late: 0.0018, ..Behaviour::default() };
    let found = rolled_back(others, worse, 12, &one_step(1500));
    assert!(found <= 1, "{found} of 12: 0.18 % of late answers, and 0.2 % is negligible");
}

#[test]
fn the_steps_of_a_ramp_share_the_probability_of_a_false_alarm() {
    // Twice as many late answers as the objective allows, so that the first step breaches.
    let late = Behaviour { late: 0.02, ..Behaviour::default() };
    let breached_after = |multiples: &[f64]| {
        let mut backend = Backend::new(300.0, late, always(late), 1);
        let first = backend.window();
        let multiples = multiples.to_vec();
        let rules =
            RampRules { multiples, dwell_s: 600, longest_s: 600, quantile: 99.0, alpha: 0.01, hard: HARD };
        let without_control = Participants { control: None, ..participants() };
        let (mut ramp, actions) = Ramp::start(without_control, rules, &first);
        backend.apply(&actions);
        while ramp.phase() != RampPhase::Ended {
            let actions = ramp.take(&backend.window());
            backend.apply(&actions);
        }
        let answer = ramp.answer().unwrap();
        assert!(answer.to_string().contains("breached at 1 ×: p99"), "{answer}");
        answer.second
    };
    let (alone, one_of_seven) = (breached_after(&[1.0]), breached_after(&MULTIPLES));
    assert!(alone < one_of_seven, "{alone} s, and {one_of_seven} s with a seventh of α");
}
