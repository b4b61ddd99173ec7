//! What a step still lacks, what an answer needs, and what a plan leaves out or cannot reach.

use traffic::ramp::usual_multiples;
use traffic::rollout::{Answer, Bound, CanaryRules, Outlook, WEIGHTS, usual_steps, weights_left_out};
use traffic::shift::Question;

use crate::simulated::{Backend, Behaviour, participants};
use crate::{LATE_AND_STALLS, Rollout, always, assert_as_before, one_step, rules};

#[test]
fn a_step_that_shows_too_little_ends_without_an_answer() {
    let few = Behaviour { late: 0.01, ..Behaviour::default() };
    let backend = Backend::new(20.0, few, always(few), 3);
    let rules = CanaryRules { longest_s: 60, dwell_s: 10, ..rules() };
    let (answer, backend) = Rollout::start(rules, backend).finish();
    let Answer::NotShown { proofs, .. } = &answer else { panic!("{answer}") };
    assert!(proofs.iter().all(|proof| !proof.is_shown), "{answer}");
    assert_as_before(&backend);
}

/// As 12 rollouts of the bench: 18 requests/s of each side without a failure, and stalls.
#[test]
fn an_answer_names_the_metric_that_lacks_proof_and_what_it_needs() {
    let backend = Backend::new(70.0, LATE_AND_STALLS, always(LATE_AND_STALLS), 4);
    let (answer, _) = Rollout::start(CanaryRules { max_share: 0.25, ..one_step(590) }, backend).finish();
    let Answer::NotShown { proofs, needs_s: Some(needs_s), requests, .. } = &answer else {
        panic!("{answer}")
    };
    let [late, failed] = proofs.as_slice() else { panic!("{answer}") };
    assert!(failed.is_shown && matches!(failed.bound, Bound::Rate(rate) if rate < 0.002), "{answer}");
    let Some(more) = late.more_requests else { panic!("{answer}") };
    assert!(!late.is_shown && *needs_s > 590, "{answer}");
    let text = answer.to_string();
    assert!(text.contains(" more requests of the candidate); shown: failed less than 0.1"), "{text}");
    assert!(text.contains("if both servers are equal, a `longest` of about "), "{text}");

    // By and by, the same servers pass.
    let backend = Backend::new(70.0, LATE_AND_STALLS, always(LATE_AND_STALLS), 4);
    let enough = one_step(590 * (requests + 3 * more) / requests);
    let (answer, _) = Rollout::start(CanaryRules { dwell_s: 60, ..enough }, backend).finish();
    assert!(matches!(answer, Answer::NoWorse { .. }), "{answer}");
}

#[test]
fn a_step_says_what_it_still_lacks() {
    let good = Behaviour { late: 0.01, ..Behaviour::default() };
    let mut rollout = Rollout::start(rules(), Backend::new(2000.0, good, always(good), 1));
    for _ in 0..10 {
        rollout.second_with(|_| {});
    }
    let lacks = rollout.canary.lacks().unwrap();
    assert_eq!((lacks.dwell_left_s, lacks.longest_left_s), (50, 3590));
    assert!(lacks.seconds_left.is_some_and(|left| left >= 50), "{lacks}");
    let text = lacks.to_string();
    assert!(text.contains("late E ") && text.contains(" of 200"), "{text}");
    assert!(text.contains("failed E 1.00 of 200, less than "), "{text}");
}

#[test]
fn a_plan_whose_first_step_cannot_end_is_seen_before_it_begins() {
    let rules = CanaryRules { dwell_s: 300, ..rules() };
    // 64 of each old server, and 1 of candidate and control: 0.38 of 50 requests/s.
    let outlook = Outlook::of(&rules, 2, 50.0);
    let too_long = outlook.too_long.expect("more than an hour");
    assert_eq!((too_long.step, too_long.weight), (0, Some(2)));
    assert!((1_900..2_200).contains(&too_long.needed) && (5_000.0..5_600.0).contains(&too_long.seconds));
    let mut at_two = rules.clone();
    at_two.steps[0].weight = 2;
    assert_eq!(Outlook::of(&at_two, 2, 50.0).too_long, None);
    let hour_and_a_half = CanaryRules { longest_s: 5_600, ..rules.clone() };
    assert_eq!(Outlook::of(&hour_and_a_half, 2, 50.0).too_long, None);
    // With ten times the traffic, the dwell time is longer than what the data need.
    let outlook = Outlook::of(&rules, 2, 2_000.0);
    assert!(outlook.too_long.is_none() && outlook.steps.iter().all(|step| step.seconds >= 300.0));
    assert!(Outlook::of(&rules, 2, 0.0).too_long.is_some_and(|too_long| too_long.weight.is_none()));
    let question = Question::Canary(participants(), rules);
    let warning = question.stake(50.0).warning.expect("a warning");
    assert!(
        warning.contains("Set `longest` to more than 8") && warning.contains("(`steps`) to 2"),
        "{warning}"
    );
}

#[test]
fn what_a_plan_leaves_out_is_named() {
    assert_eq!(
        traffic::ramp::left_out(&usual_multiples(0.5, 2)).unwrap(),
        "3, 4, 6, 8 × left out by `max_share`"
    );
    assert_eq!(traffic::ramp::left_out(&usual_multiples(0.9, 2)), None);
    // Two old servers of 64: 64 of 256 is 25 %.
    let why = rules().why_no_more(2).unwrap();
    assert_eq!(
        why,
        "the largest weight is 64, and 2 × 64 of old servers and 64 of the control are beside it"
    );
    let at_ten_percent = CanaryRules {
        steps: usual_steps(&WEIGHTS, 1.25, 0.1, 2),
        left_out: weights_left_out(&WEIGHTS, 0.1, 2),
        max_share: 0.1,
        ..rules()
    };
    assert_eq!(at_ten_percent.why_no_more(2).unwrap(), "`max_share` leaves out weight 32, 64");
    assert_eq!(CanaryRules { max_share: 0.25, ..rules() }.why_no_more(2), None);
}
