//! Searches of scripted servers: placebos are never kept, planted gains are, and everything that goes wrong has its words.

use std::time::Duration;

use super::scripted_lab::{ScriptedLab, candidate};
use super::*;
use crate::tuning::{Durability, Mechanism, Moves};

fn run(lab: &mut ScriptedLab, candidates: &[Candidate]) -> Found {
    let limits = SearchLimits::of(Duration::from_mins(20), 1e10);
    search(lab, &limits, &mut |_, _| (candidates.to_vec(), Vec::new())).unwrap()
}

fn with_outcome(found: &Found, outcome: Outcome) -> Vec<&str> {
    let all = found.tried.iter().filter(|tried| tried.outcome == outcome);
    all.map(|tried| tried.candidate.tuning.id.as_str()).collect()
}

fn why<'f>(found: &'f Found, id: &str) -> &'f str {
    &found.tried.iter().find(|tried| tried.candidate.tuning.id == id).unwrap().why
}

#[test]
fn placebos_are_never_kept_and_planted_gains_are() {
    let placebos: Vec<String> = (0..10).map(|at| format!("placebo-{at}")).collect();
    let names: Vec<&str> = placebos.iter().map(String::as_str).chain(["five", "ten"]).collect();
    let candidates: Vec<Candidate> = names.iter().map(|name| candidate(name)).collect();
    let (mut placebos_kept, mut planted, mut confirmed, mut covered) = (0, 0, 0, 0);
    let runs = 300;
    for seed in 0..runs {
        let mut lab = ScriptedLab::new(seed, &[("five", 0.05), ("ten", 0.10)]);
        let found = run(&mut lab, &candidates);
        let kept = with_outcome(&found, Outcome::Kept);
        placebos_kept += kept.iter().filter(|id| id.starts_with("placebo")).count();
        planted += kept.iter().filter(|id| !id.starts_with("placebo")).count();
        if let Some((confirmation, headline)) =
            found.confirmation.as_ref().and_then(|found| Some((found, found.headline.as_ref()?)))
        {
            confirmed += 1;
            let truth = lab.truth(&confirmation.settings);
            covered += i32::from(headline.estimate.low <= truth && truth <= headline.estimate.high);
        }
        assert!(lab.elapsed <= 20.0 * 60.0 * 1.02, "{} s", lab.elapsed);
    }
    // The bars of the issue: none in 20 runs, 90 % of the planted gains, 93 % of the headlines.
    assert!(placebos_kept <= 2, "{placebos_kept} placebos in {runs} runs");
    assert!(planted >= 2 * runs as usize * 9 / 10, "{planted} of {}", 2 * runs);
    assert!(confirmed > 0 && f64::from(covered) >= 0.93 * f64::from(confirmed), "{covered} of {confirmed}");
}

#[test]
fn candidates_are_chosen_by_what_trials_record_and_by_what_the_server_says_of_itself() {
    let mut lab = ScriptedLab::new(1, &[]);
    lab.watched =
        Some([("statistics.evictions".to_owned(), 7.0), ("server.cpu_per_op".to_owned(), 0.0)].into());
    let mut chosen_by = BTreeMap::new();
    let limits = SearchLimits::of(Duration::from_mins(20), 1e10);
    search(&mut lab, &limits, &mut |_, figures| {
        chosen_by = figures;
        (vec![candidate("x")], Vec::new())
    })
    .unwrap();
    assert_eq!(chosen_by["statistics.evictions"], 7.0);
    assert!(chosen_by["server.cpu_per_op"] > 0.0, "that of the trials: {chosen_by:?}");
}

#[test]
fn the_time_in_which_the_baseline_is_watched_makes_no_trial_dearer() {
    let candidates: Vec<Candidate> = (0..10).map(|at| candidate(&format!("c{at}"))).collect();
    let tried = |watching_s: f64, budget: Duration| {
        let mut lab = ScriptedLab::new(11, &[]);
        lab.watching_s = watching_s;
        let limits = SearchLimits::of(budget, 1e10);
        search(&mut lab, &limits, &mut |_, _| (candidates.clone(), Vec::new())).map(|found| found.tried.len())
    };
    let minutes = Duration::from_mins;
    assert!(tried(60.0, minutes(11)).unwrap() >= tried(0.0, minutes(10)).unwrap());
    assert!(tried(0.0, minutes(3)).unwrap() > 0);
    assert!(matches!(tried(100.0, minutes(3)), Err(SearchError::TooShort { needed_s: 253.., .. })));
}

#[test]
fn a_search_that_is_interrupted_while_it_watches_keeps_the_equal_servers() {
    let mut lab = ScriptedLab::new(1, &[("good", 0.2)]);
    lab.watched = None;
    let found = run(&mut lab, &[candidate("good")]);
    assert!(found.is_interrupted && found.tried.is_empty() && found.stages.len() == 1);
}

#[test]
fn there_is_no_headline_on_a_server_that_is_at_its_best() {
    let candidates: Vec<Candidate> = (0..12).map(|at| candidate(&format!("placebo-{at}"))).collect();
    let headlines = (0..100)
        .filter(|seed| {
            let found = run(&mut ScriptedLab::new(*seed, &[]), &candidates);
            found.confirmation.and_then(|found| found.headline).is_some_and(|headline| headline.holds())
        })
        .count();
    assert_eq!(headlines, 0);
}

#[test]
fn what_scatters_because_servers_run_one_at_a_time_does_not_hide_what_takes_turns() {
    let names = ["four", "a", "b", "c", "vm.dirty_ratio", "vm.swappiness", "vm.dirty_background_ratio"];
    let candidates: Vec<Candidate> = names.into_iter().map(candidate).collect();
    let (mut four, mut idle) = (0, 0);
    for seed in 0..100 {
        let mut lab = ScriptedLab::new(seed, &[("four", 0.04)]);
        (lab.noise, lab.noise_alone) = (0.012, 0.08);
        let found = run(&mut lab, &candidates);
        let kept = with_outcome(&found, Outcome::Kept);
        four += usize::from(kept.contains(&"four"));
        idle += kept.iter().filter(|id| **id != "four").count();
        assert!(lab.elapsed < 20.0 * 60.0 * 1.02, "{} s", lab.elapsed);
    }
    // They were 83 when the best came first, whatever it was (decision 0021).
    assert!(four >= 95 && idle <= 2, "{four}, {idle}");
}

#[test]
fn a_large_gain_of_servers_that_run_one_at_a_time_joins_those_that_take_turns() {
    let mut lab = ScriptedLab::new(1, &[("six", 0.06), ("vm.swappiness", 0.4)]);
    (lab.noise, lab.noise_alone) = (0.01, 0.05);
    let found = run(&mut lab, &["six", "vm.swappiness", "vm.dirty_ratio"].map(candidate));
    assert_eq!(with_outcome(&found, Outcome::Kept), ["six", "vm.swappiness"], "{:?}", lab.said);
}

#[test]
fn gains_of_a_measure_that_is_better_when_lower_are_found_too() {
    let mut lab = ScriptedLab::new(1, &[("good", 0.2), ("bad", -0.2)]);
    lab.higher_is_better = false;
    let found = run(&mut lab, &[candidate("bad"), candidate("good")]);
    assert_eq!(with_outcome(&found, Outcome::Kept), ["good"]);
    let headline = found.confirmation.unwrap().headline.unwrap();
    assert!((1.15..1.25).contains(&headline.estimate.ratio), "{headline:?}");
    assert!(
        why(&run(&mut ScriptedLab::new(1, &[("bad", -0.2)]), &[candidate("bad")]), "bad")
            .starts_with("it does not gain 1 %")
    );
}

#[test]
fn a_tuning_that_the_server_refuses_or_dies_with_is_dropped_and_says_so() {
    let mut lab = ScriptedLab::new(2, &[("good", 0.2)]);
    lab.deadly.insert("deadly".to_owned());
    lab.refused.insert("refused".to_owned());
    let found = run(&mut lab, &["deadly", "refused", "good", "other"].map(candidate));
    assert_eq!(with_outcome(&found, Outcome::Refused), ["deadly", "refused"]);
    assert_eq!(why(&found, "deadly"), "the server does not run with it: exit status 1");
    assert_eq!(why(&found, "refused"), "refused cannot be set");
    assert_eq!(with_outcome(&found, Outcome::Kept), ["good"]);
    let other = found.tried.iter().find(|tried| tried.candidate.tuning.id == "other").unwrap();
    assert!(other.gains.0.len() >= 3, "it is measured again without the one that ended all: {other:?}");
}

#[test]
fn a_tuning_with_which_the_server_dies_now_and_then_is_not_kept() {
    let mut lab = ScriptedLab::new(2, &[("fast", 0.3)]);
    lab.fragile.insert("fast".to_owned());
    let found = run(&mut lab, &[candidate("fast")]);
    assert!(with_outcome(&found, Outcome::Kept).is_empty());
    let why = why(&found, "fast");
    assert!(why.starts_with("the server fails with it in 3 of 10 trials: exit status 1"), "{why}");
}

#[test]
fn a_combination_that_does_not_run_costs_only_the_one_that_breaks_it() {
    let mut lab = ScriptedLab::new(3, &[("one", 0.3), ("two", 0.2), ("three", 0.1)]);
    lab.deadly_pair = Some(["one", "two"].map(str::to_owned));
    let found = run(&mut lab, &["one", "two", "three"].map(candidate));
    assert_eq!(with_outcome(&found, Outcome::Kept), ["one", "three"]);
    assert_eq!(why(&found, "two"), "the server does not run with it and those before: exit status 1");
}

#[test]
fn a_tuning_that_reaches_no_configuration_is_named_and_not_judged() {
    let mut lab = ScriptedLab::new(3, &[("good", 0.3)]);
    lab.without_effect.insert("typo".to_owned());
    let found = run(&mut lab, &["typo", "good"].map(candidate));
    assert_eq!(why(&found, "typo"), "it did not take effect: the server's configuration has no `typo`");
    assert_eq!(with_outcome(&found, Outcome::Kept), ["good"]);
}

#[test]
fn a_gain_that_pauses_pay_for_is_not_kept_though_a_closed_loop_does_not_see_them() {
    let mut kept = 0;
    for seed in 0..20 {
        let mut lab = ScriptedLab::new(seed, &[("greedy", 0.05)]);
        lab.pauses.insert("greedy".to_owned(), 20.0);
        let found = run(&mut lab, &[candidate("greedy")]);
        kept += with_outcome(&found, Outcome::Kept).len();
        if let Some(Confirmation { headline: Some(headline), open_loop: Some(open_loop), .. }) =
            found.confirmation
        {
            assert!(headline.is_gain && !headline.holds());
            assert!(
                (600.0..800.0).contains(&open_loop.rate_per_s),
                "70 % of the baseline's loop: {open_loop:?}"
            );
            let [p99, p99_9] = headline.worse.try_into().expect("both percentiles");
            assert!(p99.contains("operations/s, the 99th percentile of response time is "), "{p99}");
            assert!(p99_9.contains("the 99.9th percentile"), "{p99_9}");
        }
    }
    assert_eq!(kept, 0);
}

#[test]
fn equal_servers_that_differ_are_measured_again_and_ask_more_of_every_gain() {
    let mut lab = ScriptedLab::new(3, &[("small", 0.02)]);
    (lab.noise, lab.bias) = (0.002, 0.03);
    let found = run(&mut lab, &[candidate("small")]);
    let of_equal: Vec<&str> = found
        .stages
        .iter()
        .filter(|stage| stage.name == "equal servers")
        .map(|stage| stage.learnt.as_str())
        .collect();
    let [first, second] = of_equal[..] else { panic!("{of_equal:?}") };
    assert!(
        first.starts_with("two equal servers seem to differ: ") && first.ends_with("; measured again"),
        "{first}"
    );
    assert!(
        second.contains(" in 12 blocks. They differ on this machine, so a tuning counts only if"),
        "{second}"
    );
    assert!(
        found.equal.noise > 0.03 && with_outcome(&found, Outcome::Kept).is_empty(),
        "{:?}",
        found.equal.noise
    );
}

#[test]
fn what_cannot_be_combined_is_not_stacked() {
    let mut lab = ScriptedLab::new(4, &[("one", 0.2), ("two", 0.1)]);
    let mut one = candidate("one");
    one.tuning.conflicts = vec!["two".to_owned()];
    let found = run(&mut lab, &[one, candidate("two")]);
    assert_eq!(with_outcome(&found, Outcome::Kept), ["one"]);
    assert_eq!(why(&found, "two"), "it cannot be combined with one, which gained more");
}

#[test]
fn of_several_values_of_a_tuning_the_best_is_kept() {
    let mut lab = ScriptedLab::new(5, &[("a", 0.1), ("b", 0.3)]);
    let mut levels = [candidate("a"), candidate("b")];
    for level in &mut levels {
        level.tuning.id = "same".to_owned();
    }
    let found = run(&mut lab, &levels);
    assert_eq!(with_outcome(&found, Outcome::Kept), ["same"]);
    assert!(found.confirmation.unwrap().settings.contains_key("b"));
}

#[test]
fn what_weakens_is_in_a_table_of_its_own_and_never_kept() {
    let mut lab = ScriptedLab::new(6, &[("weak", 0.4), ("good", 0.1)]);
    let mut weak = candidate("weak");
    weak.tuning.durability = Durability::OsCrash;
    let found = run(&mut lab, &[weak, candidate("good")]);
    assert_eq!(with_outcome(&found, Outcome::Kept), ["good"]);
    assert!(!found.confirmation.unwrap().settings.contains_key("weak"));
    assert_eq!(found.weaker.len(), 1);
    assert!(found.weaker[0].why.starts_with("it gains, and is not kept"), "{}", found.weaker[0].why);
    assert!(found.weaker[0].own.as_ref().is_some_and(|own| own.low > 1.3));
}

#[test]
fn of_what_weakens_a_refusal_or_a_death_is_its_own() {
    let mut lab = ScriptedLab::new(6, &[("weak", 0.4)]);
    lab.deadly.insert("deadly".to_owned());
    lab.refused.insert("refused".to_owned());
    let weaker = ["refused", "deadly", "weak"].map(|name| {
        let mut weak = candidate(name);
        weak.tuning.durability = Durability::OsCrash;
        weak
    });
    let found = run(&mut lab, &weaker);
    let why: Vec<&str> = found.weaker.iter().map(|tried| tried.why.as_str()).collect();
    assert_eq!(why[..2], ["refused cannot be set", "the server does not run with it: exit status 1"]);
    assert!(why[2].starts_with("it gains, and is not kept"), "{why:?}");
}

#[test]
fn what_weakens_takes_no_time_from_the_first_candidate() {
    let limits = SearchLimits::of(Duration::from_secs(184), 1e10);
    let mut lab = ScriptedLab::new(12, &[("good", 0.3)]);
    let mut weak = candidate("weak");
    weak.tuning.durability = Durability::OsCrash;
    let found =
        search(&mut lab, &limits, &mut |_, _| (vec![weak.clone(), candidate("good")], Vec::new())).unwrap();
    assert_eq!(with_outcome(&found, Outcome::Kept), ["good"], "{:?}", lab.said);
    assert!(found.weaker.is_empty() && found.not_tried[0].tuning == "weak");
}

#[test]
fn a_gain_whose_mechanism_does_not_move_is_unexplained() {
    let mut lab = ScriptedLab::new(7, &[("good", 0.2)]);
    let mut good = candidate("good");
    good.tuning.mechanism = Some(Mechanism { figure: "server.cpu_per_op".to_owned(), moves: Moves::Up });
    let found = run(&mut lab, &[good]);
    assert!(
        why(&found, "good").ends_with("unexplained: server.cpu_per_op is not seen to move"),
        "{}",
        why(&found, "good")
    );
    let found = run(&mut lab, &[candidate("good")]);
    assert_eq!(why(&found, "good"), "its gain is confirmed on fresh blocks");
}

#[test]
fn an_interrupted_search_keeps_what_it_has_learnt() {
    let mut lab = ScriptedLab::new(8, &[("good", 0.2)]);
    lab.interrupted_at = Some(3);
    let found = run(&mut lab, &[candidate("good")]);
    assert!(found.is_interrupted && found.confirmation.is_none());
    assert!(!found.tried[0].gains.0.is_empty() && found.tried[0].outcome == Outcome::Dropped);
    assert_eq!(found.tried[0].why, "the search ended before it was decided");
}

#[test]
fn what_others_disturbed_is_measured_again() {
    let mut lab = ScriptedLab::new(12, &[("good", 0.1), ("fine", 0.1)]);
    lab.disturbed = 1;
    let found = run(&mut lab, &[candidate("good"), candidate("fine")]);
    assert_eq!(with_outcome(&found, Outcome::Kept), ["good", "fine"], "{:?}", lab.said);
    for name in ["equal servers", "screening", "stack", "drop one", "confirmation"] {
        let again = format!("{name} again, because too few trials are valid: other programs used CPU time");
        assert!(lab.said.contains(&again), "{:?}", lab.said);
    }
    let mut lab = ScriptedLab::new(12, &[("good", 0.1)]);
    lab.disturbed = usize::MAX;
    let limits = SearchLimits::of(Duration::from_hours(1), 1e10);
    let error = search(&mut lab, &limits, &mut |_, _| (Vec::new(), Vec::new())).unwrap_err();
    assert_eq!(error, SearchError::Invalid("other programs used CPU time".to_owned()));
    assert_eq!(lab.stages.len(), 3, "and not for an hour");
}

#[test]
fn a_budget_that_is_too_short_is_refused_with_what_it_takes() {
    let limits = SearchLimits::of(Duration::from_mins(1), 1e10);
    let mut lab = ScriptedLab::new(9, &[]);
    let error =
        search(&mut lab, &limits, &mut |_, _| (vec![candidate("x")], Vec::new())).unwrap_err().to_string();
    assert!(error.starts_with("60 s are too short") && error.contains("pass --for 177s"), "{error}");
    let mut lab = ScriptedLab::new(9, &[]);
    lab.deadly.insert("x".to_owned());
    let found = run(&mut lab, &[]);
    assert!(found.tried.is_empty() && found.confirmation.is_none());
}

#[test]
fn the_time_that_losers_leave_is_used_for_those_that_wait() {
    let limits = SearchLimits::of(Duration::from_secs(330), 1e10);
    let mut lab = ScriptedLab::new(11, &[("c9", 0.1)]);
    lab.noise = 0.002;
    let candidates: Vec<Candidate> = (0..10).map(|at| candidate(&format!("c{at}"))).collect();
    let found = search(&mut lab, &limits, &mut |_, _| (candidates.clone(), Vec::new())).unwrap();
    assert_eq!(with_outcome(&found, Outcome::Kept), ["c9"], "{:?}", lab.said);
    assert!(lab.elapsed < 330.0 * 1.05, "{}", lab.elapsed);
}

#[test]
fn the_time_of_a_race_in_vain_is_used_for_those_that_wait() {
    let candidates: Vec<Candidate> = (0..6).map(|at| candidate(&format!("c{at}"))).collect();
    let limits = SearchLimits::of(Duration::from_mins(5), 1e10);
    let finds_it = |seed: &u64| {
        let small = [("c0", 0.008), ("c1", 0.008), ("c2", 0.008)];
        let mut lab = ScriptedLab::new(*seed, &[&small[..], &[("c5", 0.3)]].concat());
        let found = search(&mut lab, &limits, &mut |_, _| (candidates.clone(), Vec::new())).unwrap();
        assert!(lab.elapsed < 5.0 * 60.0 * 1.05, "{}", lab.elapsed);
        with_outcome(&found, Outcome::Kept) == ["c5"]
    };
    let found = (0..60).filter(finds_it).count();
    assert!(found >= 20, "{found} of 60: it was 6 when a race ended the search");
}

#[test]
fn what_there_is_no_time_for_is_said() {
    let limits = SearchLimits::of(Duration::from_mins(4), 1e10);
    let mut lab = ScriptedLab::new(10, &[]);
    let candidates: Vec<Candidate> = (0..40).map(|at| candidate(&format!("c{at}"))).collect();
    let found = search(&mut lab, &limits, &mut |_, _| (candidates.clone(), Vec::new())).unwrap();
    assert!(!found.not_tried.is_empty() && found.not_tried[0].why.contains("pass a longer --for"));
    assert!(lab.elapsed < 4.0 * 60.0 * 1.05, "{}", lab.elapsed);
    assert!(lab.said.iter().any(|said| said.starts_with("screening: ")), "{:?}", lab.said);
}

#[test]
fn on_a_noisy_host_the_time_that_is_left_becomes_blocks() {
    let names: Vec<String> = (0..10).map(|at| format!("placebo-{at}")).collect();
    let names = names.iter().map(String::as_str).chain(["three", "fifteen"]);
    let candidates: Vec<Candidate> = names.map(candidate).collect();
    let (mut small, mut large, mut placebos) = (0, 0, 0);
    let runs = 100;
    for seed in 0..runs {
        let mut lab = ScriptedLab::new(seed, &[("three", 0.03), ("fifteen", 0.15)]);
        lab.noise = 0.03;
        let found = run(&mut lab, &candidates);
        let kept = with_outcome(&found, Outcome::Kept);
        small += usize::from(kept.contains(&"three"));
        large += usize::from(kept.contains(&"fifteen"));
        placebos += kept.iter().filter(|id| id.starts_with("placebo")).count();
        let blocks = found.confirmation.map_or(0, |found| found.trials.gains(1, 0).len());
        assert!(blocks > 10 || lab.elapsed > 19.0 * 60.0, "{blocks} blocks after {} s", lab.elapsed);
        assert!(lab.elapsed < 20.0 * 60.0 * 1.02, "{} s", lab.elapsed);
    }
    // With a fixed number of blocks it was 13 of 100 of the small gain (decision 0021).
    assert!(large == runs as usize && small >= 30 && placebos <= 1, "{large}, {small}, {placebos}");
}
