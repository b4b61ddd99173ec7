//! Whole rollouts in simulated seconds: equal servers reach the last step, harm of each planted kind is rolled back, and whatever is
//! done by somebody else stops the run. No test has a clock.

#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

mod lacking;
mod mail;
mod margins;
mod runs;
mod simulated;

use simulated::{Backend, Behaviour, OBJECTIVE_MS, Planted, name, participants};
use traffic::guard::{Breach, HardLimits, Reason, StartError, Stop, check_log, check_start};
use traffic::observation::{Action, Alarm, Change, ServerState, ServerWindow, Window};
use traffic::ramp::{Ramp, RampEnd, RampRules, usual_multiples};
use traffic::rollout::{Answer, Bound, Canary, CanaryRules, Phase, WEIGHTS, usual_steps};

const HARD: HardLimits =
    HardLimits { failed: 0.02, late: 0.5, deferred: 0.5, queued_s: 600, objective_ms: OBJECTIVE_MS };
const LATE_AND_STALLS: Behaviour = Behaviour { late: 0.01, errors: 0.0, stalls: true, capacity: 0 };

fn rules() -> CanaryRules {
    CanaryRules {
        steps: usual_steps(&WEIGHTS, 1.25, 0.5, 2),
        left_out: Vec::new(),
        max_share: 0.5,
        dwell_s: 60,
        longest_s: 3600,
        margin: 1.25,
        negligible: 0.002,
        alpha: 0.01,
        is_mail: false,
        hard: HARD,
    }
}

/// One step with the full weight from the first second on, as the reference simulates it.
fn one_step(longest_s: u64) -> CanaryRules {
    CanaryRules { steps: usual_steps(&[64], 1.25, 0.5, 2), dwell_s: longest_s, longest_s, ..rules() }
}

fn always(behaviour: Behaviour) -> Planted {
    Box::new(move |_| behaviour)
}

/// A started canary and its backend.
struct Rollout {
    canary: Canary,
    backend: Backend,
}

impl Rollout {
    fn start(rules: CanaryRules, mut backend: Backend) -> Self {
        let first = backend.window();
        let (canary, actions) = Canary::start(participants(), rules, &first);
        backend.apply(&actions);
        Self { canary, backend }
    }

    /// A second, changed on its way by somebody else.
    fn second_with(&mut self, change: impl FnOnce(&mut Window)) -> Vec<Action> {
        let mut window = self.backend.window();
        change(&mut window);
        let actions = self.canary.take(&window);
        self.backend.apply(&actions);
        actions
    }

    /// Until the canary has ended; checks that weights only rise by steps.
    fn finish(mut self) -> (Answer, Backend) {
        while self.canary.phase() != Phase::Ended {
            self.second_with(|_| {});
        }
        (self.canary.answer().expect("an ended canary has an answer").clone(), self.backend)
    }

    fn stop(&self) -> &Stop {
        match self.canary.answer() {
            Some(Answer::Stopped { stop, .. }) => stop,
            other => panic!("the run should have stopped: {other:?}"),
        }
    }

    fn breach(&self) -> &Breach {
        match self.canary.answer() {
            Some(Answer::RolledBack { breach, .. }) => breach,
            other => panic!("the candidate should have been rolled back: {other:?}"),
        }
    }
}

fn assert_as_before(backend: &Backend) {
    let weights: Vec<u32> = ["old1", "old2", "control", "candidate"].map(|name| backend.weights[name]).into();
    assert_eq!(weights, [1, 1, 0, 0]);
}

#[test]
fn equal_servers_with_stalls_are_seldom_rolled_back() {
    let rolled_back = (0..200)
        .filter(|seed| {
            let backend = Backend::new(200.0, LATE_AND_STALLS, always(LATE_AND_STALLS), *seed);
            let (answer, backend) = Rollout::start(one_step(900), backend).finish();
            assert_as_before(&backend);
            matches!(answer, Answer::RolledBack { .. })
        })
        .count();
    assert!(rolled_back <= 6, "{rolled_back} of 200 at 1 %");
}

#[test]
fn a_good_candidate_reaches_the_last_step_with_a_bound_for_each_metric() {
    let good = Behaviour { late: 0.01, ..Behaviour::default() };
    let backend = Backend::new(2000.0, good, always(good), 1);
    let (answer, backend) = Rollout::start(rules(), backend).finish();
    assert_as_before(&backend);
    let Answer::NoWorse { bounds, share, requests, .. } = &answer else { panic!("{answer}") };
    assert!(matches!(bounds[0].1, Bound::Ratio(ratio) if ratio <= 1.25), "{answer}");
    assert!(matches!(bounds[1].1, Bound::Rate(rate) if rate < 0.002), "{answer}");
    assert!((share - 0.25).abs() < 1e-9 && *requests > 30_000, "{answer}");
    let text = answer.to_string();
    assert!(text.starts_with("the candidate is no worse than the control: late less than 1."), "{text}");
}

#[test]
fn twice_as_late_is_found_within_150_seconds_in_the_median() {
    let mut seconds: Vec<u64> = (0..41)
        .map(|seed| {
            let worse = Behaviour { late: 0.02, ..LATE_AND_STALLS };
            let backend = Backend::new(200.0, LATE_AND_STALLS, always(worse), seed);
            match Rollout::start(one_step(3600), backend).finish().0 {
                Answer::RolledBack {
                    second, breach: Breach::Evidence { metric: "were late", .. }, ..
                } => second,
                other => panic!("{other}"),
            }
        })
        .collect();
    seconds.sort_unstable();
    assert!(seconds[20] <= 150, "the median is {} s", seconds[20]);
}

#[test]
fn five_percent_of_errors_are_rolled_back_at_the_first_steps() {
    for seed in 0..20 {
        let bad = Behaviour { errors: 0.05, ..Behaviour::default() };
        let backend = Backend::new(2000.0, Behaviour::default(), always(bad), seed);
        let (answer, backend) = Rollout::start(rules(), backend).finish();
        assert_as_before(&backend);
        let Answer::RolledBack { breach, share, .. } = &answer else { panic!("{answer}") };
        assert!(matches!(breach, Breach::HardFailures { .. } | Breach::Evidence { metric: "failed", .. }));
        assert!(*share < 0.01, "{answer}");
    }
}

#[test]
fn a_candidate_that_answers_5xx_only_is_rolled_back_in_three_seconds() {
    let backend = Backend::new(
        1000.0,
        Behaviour::default(),
        always(Behaviour { errors: 1.0, ..Behaviour::default() }),
        7,
    );
    let mut rollout = Rollout::start(rules(), backend);
    for _ in 0..3 {
        rollout.second_with(|_| {});
    }
    assert!(matches!(rollout.breach(), Breach::HardFailures { .. }));
    assert_as_before(&rollout.backend);
    let text = rollout.canary.answer().unwrap().to_string();
    assert!(text.contains("× status 5xx") && text.starts_with("rolled back at 0.77 % after"), "{text}");
}

#[test]
fn a_leak_is_rolled_back_before_its_rollout_ends() {
    for seed in 0..5 {
        // From 1 to 5 % late over an hour.
        let leak: Planted =
            Box::new(|second| Behaviour { late: 0.01 + 0.04 * second as f64 / 3600.0, ..LATE_AND_STALLS });
        let backend = Backend::new(200.0, LATE_AND_STALLS, leak, seed);
        let (answer, _) = Rollout::start(one_step(3600), backend).finish();
        assert!(matches!(answer, Answer::RolledBack { second, .. } if second < 3000), "{answer}");
    }
}

#[test]
fn missing_data_for_three_seconds_is_a_breach_and_two_are_none() {
    let start = || {
        Rollout::start(rules(), Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3))
    };
    let silence =
        |window: &mut Window| window.servers.iter_mut().for_each(|server| server.log_arrived = false);
    let mut rollout = start();
    rollout.second_with(silence);
    rollout.second_with(silence);
    assert_eq!(rollout.canary.phase(), Phase::Step(0));
    rollout.second_with(silence);
    assert!(matches!(rollout.breach(), Breach::NoData { what: "log", .. }));
    assert_as_before(&rollout.backend);

    let mut rollout = start();
    for _ in 0..3 {
        // The socket does not answer.
        rollout.second_with(|window| {
            window.identity = None;
            for server in &mut window.servers {
                (server.weight, server.state, server.counters_arrived) = (None, None, false);
            }
        });
    }
    assert!(matches!(rollout.breach(), Breach::NoData { what: "counters", .. }));
}

#[test]
fn requests_without_any_answer_are_a_breach() {
    let backend = Backend::new(2000.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    for _ in 0..3 {
        rollout.second_with(|window| {
            let candidate = window.servers.iter_mut().find(|server| server.server == "candidate").unwrap();
            (candidate.log_lines, candidate.in_progress) = (0, 40);
            candidate.response_ms.clear();
        });
    }
    assert!(matches!(rollout.breach(), Breach::NoAnswers { .. }));
}

/// Users who wait for an answer ask for nothing more: then there are sessions in progress, and no requests.
#[test]
fn a_candidate_that_hangs_with_all_its_users_is_rolled_back_after_two_seconds() {
    let hangs = |window: &mut Window| {
        let candidate = window.servers.iter_mut().find(|server| server.server == "candidate").unwrap();
        (candidate.requests, candidate.log_lines, candidate.in_progress) = (0, 0, 40);
        candidate.response_ms.clear();
    };
    let start = || {
        let backend = Backend::new(20_000.0, Behaviour::default(), always(Behaviour::default()), 3);
        Rollout::start(rules(), backend)
    };
    let mut rollout = start();
    for _ in 0..20 {
        rollout.second_with(|_| {});
    }
    rollout.second_with(hangs);
    assert_eq!(rollout.canary.phase(), Phase::Step(0), "one second may be a pause");
    rollout.second_with(hangs);
    assert_eq!(rollout.breach(), &Breach::Hangs { in_progress: 40 });
    assert_as_before(&rollout.backend);

    // Sessions of minutes: nobody knows that an answer is due.
    let mut rollout = start();
    for _ in 0..20 {
        rollout.second_with(hangs);
    }
    assert!(!matches!(
        rollout.canary.answer(),
        Some(Answer::RolledBack { breach: Breach::Hangs { .. }, .. })
    ));
}

#[test]
fn a_control_that_fails_stops_the_run_and_does_not_praise_the_candidate() {
    let backend = Backend::new(1000.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    rollout.second_with(|window| {
        let control = window.servers.iter_mut().find(|server| server.server == "control").unwrap();
        control.state = Some(ServerState::Down);
    });
    assert!(matches!(rollout.stop(), Stop::ControlFailed(_)));
    assert!(rollout.stop().to_string().contains("says nothing of the candidate"));
    assert_as_before(&rollout.backend);
}

#[test]
fn a_candidate_that_is_down_is_rolled_back_at_once() {
    let backend = Backend::new(1000.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    rollout.second_with(|window| {
        let candidate = window.servers.iter_mut().find(|server| server.server == "candidate").unwrap();
        candidate.state = Some(ServerState::Down);
    });
    assert_eq!(rollout.breach(), &Breach::NotUp { server: name("candidate"), state: ServerState::Down });
}

#[test]
fn an_alarm_of_the_observing_part_stops_the_run_and_is_named() {
    let before = 812;
    let alarms = [
        (Alarm::Changed(Change::Restarted { before, now: 900 }), "pid 900 answers, and pid 812 has ended"),
        (
            Alarm::Changed(Change::Weight {
                backend: "b".to_owned(),
                server: "old1".to_owned(),
                expected: 64,
                now: 3,
            }),
            "the weight of old1 from 64 to 3",
        ),
        (
            Alarm::DoesNotWork { server: name("control"), reason: "connection refused".to_owned() },
            "the control failed: control does not work: connection refused. This says nothing of the candidate",
        ),
        (Alarm::LeaseLost("the process has ended".to_owned()), "the lease on the balancer is lost"),
        (Alarm::Aborted { by: "pid 7 of user ID 0".to_owned() }, "aborted by pid 7 of user ID 0"),
    ];
    for (alarm, text) in alarms {
        let backend = Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
        let mut rollout = Rollout::start(rules(), backend);
        rollout.second_with(|_| {});
        let actions = rollout.second_with(|window| window.alarms.push(alarm));
        assert!(rollout.stop().to_string().contains(text), "{} lacks {text}", rollout.stop());
        let first = Action::SetWeight { server: name("candidate"), weight: 0 };
        assert_eq!(actions[0], first, "the candidate is the first");
        assert_as_before(&rollout.backend);
    }
}

#[test]
fn a_candidate_that_does_not_work_is_rolled_back_unless_the_control_does_not_work_either() {
    let broken = |server| Alarm::DoesNotWork { server: name(server), reason: "refused".to_owned() };
    let backend = || Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend());
    rollout.second_with(|window| window.alarms.push(broken("candidate")));
    assert_eq!(rollout.breach().to_string(), "candidate does not work: refused");
    let mut rollout = Rollout::start(rules(), backend());
    rollout.second_with(|window| window.alarms.extend([broken("candidate"), broken("control")]));
    assert!(matches!(rollout.stop(), Stop::ControlFailed(_)));
}

#[test]
fn an_old_server_that_is_not_up_stops_the_run() {
    let backend = Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    rollout.second_with(|window| window.servers[0].state = Some(ServerState::Down));
    assert_eq!(rollout.stop().to_string(), "the old server old1 is down: repair it first");
}

#[test]
fn a_person_stops_the_run_once() {
    let backend = Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    let actions = rollout.canary.stop(Stop::Aborted("an operator".to_owned()));
    assert!(matches!(&actions[0], Action::SetWeight { weight: 0, server } if *server == name("candidate")));
    assert!(rollout.canary.stop(Stop::Aborted("an operator".to_owned())).is_empty(), "it is stopped already");
    assert_eq!(rollout.stop().to_string(), "stopped by an operator");
}

#[test]
fn traffic_that_is_not_divided_by_weights_or_that_ends_stops_the_run() {
    let backend = Backend::new(20_000.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    for _ in 0..4 {
        rollout.second_with(|window| {
            let candidate = window.servers.iter_mut().find(|server| server.server == "candidate").unwrap();
            candidate.requests = candidate.requests * 3 / 2;
            candidate.log_lines = candidate.requests;
        });
    }
    assert!(matches!(rollout.stop(), Stop::ShareOff { server, .. } if *server == name("candidate")));

    let mut rollout =
        Rollout::start(rules(), Backend::new(0.0, Behaviour::default(), always(Behaviour::default()), 3));
    for _ in 0..60 {
        rollout.second_with(|_| {});
    }
    assert_eq!(rollout.stop(), &Stop::NoTraffic { seconds: 60 });
}

#[test]
fn sessions_are_waited_for_after_a_rollback() {
    let backend = Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut rollout = Rollout::start(rules(), backend);
    let actions = rollout.canary.stop(Stop::Aborted("a test".to_owned()));
    rollout.backend.apply(&actions);
    for _ in 0..5 {
        let actions = rollout.second_with(|window| window.servers[3].in_progress = 1);
        assert!(actions.is_empty() && rollout.canary.phase() == Phase::Draining);
    }
    assert_eq!(rollout.second_with(|_| {}), [Action::Done]);
}

#[test]
fn a_backend_that_is_not_fit_is_refused_before_anything_is_changed() {
    type ChangeOf = fn(&mut Window);
    let changes: [(ChangeOf, StartError); 8] = [
        (|window| window.identity = None, StartError::NoAnswer),
        (|window| window.servers[0].weight = Some(2), StartError::UnequalOld("2, 1".to_owned())),
        (|window| window.servers[1].weight = Some(0), StartError::TakenOut(name("old2"))),
        (
            |window| window.servers[1].state = Some(ServerState::Maintenance),
            StartError::NotUp { server: name("old2"), state: ServerState::Maintenance },
        ),
        (|window| window.servers[2].weight = Some(1), StartError::Unknown("control".to_owned())),
        (|window| window.servers[0].is_backup = true, StartError::Backup(name("old1"))),
        (|window| drop(window.servers.remove(1)), StartError::Missing(name("old2"))),
        (
            |window| window.alarms.push(Alarm::NotDone("no".to_owned())),
            StartError::Alarm(Alarm::NotDone("no".to_owned())),
        ),
    ];
    for (change, error) in changes {
        let mut backend = Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
        let mut window = backend.window();
        assert_eq!(check_start(&participants(), std::slice::from_ref(&window)), Ok(()));
        change(&mut window);
        assert_eq!(check_start(&participants(), &[window]), Err(error));
    }
}

#[test]
fn servers_that_get_nothing_are_no_obstacle_until_they_come_back() {
    type ChangeOf = fn(&mut ServerWindow);
    let changes: [ChangeOf; 4] = [
        |server| server.state = Some(ServerState::Maintenance),
        |server| server.state = Some(ServerState::Down),
        |server| server.state = Some(ServerState::Draining),
        |server| server.is_backup = true,
    ];
    let spare = || ServerWindow {
        weight: Some(1),
        state: Some(ServerState::Up),
        counters_arrived: true,
        ..ServerWindow::nothing("spare")
    };
    for change in changes {
        let mut backend = Backend::new(500.0, Behaviour::default(), always(Behaviour::default()), 3);
        let mut window = backend.window();
        let mut idle = spare();
        change(&mut idle);
        window.servers.push(idle.clone());
        assert_eq!(check_start(&participants(), &[window]), Ok(()));
        let mut rollout = Rollout::start(rules(), backend);
        rollout.second_with(|window| window.servers.push(idle));
        assert_eq!(rollout.canary.phase(), Phase::Step(0));
        rollout.second_with(|window| window.servers.push(spare()));
        assert_eq!(rollout.stop(), &Stop::CameBack { server: "spare".to_owned() });
        assert_as_before(&rollout.backend);
    }
}

#[test]
fn a_log_that_does_not_arrive_is_refused_before_anything_is_changed() {
    let mut backend = Backend::new(9.0, Behaviour::default(), always(Behaviour::default()), 3);
    let mut windows = vec![backend.window(), backend.window()];
    assert_eq!(check_log(&windows), Ok(()));
    for server in windows.iter_mut().flat_map(|window| &mut window.servers) {
        server.log_lines = 0;
    }
    assert_eq!(check_log(&windows), Ok(()), "too few requests to tell");
    let mut third = backend.window();
    windows.push(third.clone());
    assert_eq!(check_log(&windows), Ok(()), "there are lines");
    third.servers[0].log_lines = 0;
    third.servers[1].log_lines = 0;
    windows[2] = third;
    let refused = check_log(&windows).unwrap_err().to_string();
    assert!(refused.starts_with("no line of the log about old1 has arrived"), "{refused}");
}

#[test]
fn a_ramp_of_a_known_capacity_breaches_beyond_it() {
    // 100 requests/s for each of two old servers; the candidate carries 2.6 times the share of one. With m times an old server's
    // weight, of 300 requests/s the candidate is sent 300 m / (2 + m).
    let candidate = Behaviour { capacity: 170, ..Behaviour::default() };
    let mut backend = Backend::new(300.0, Behaviour::default(), always(candidate), 5);
    let first = backend.window();
    let rules = RampRules {
        multiples: usual_multiples(0.8, 2),
        dwell_s: 20,
        longest_s: 120,
        quantile: 99.0,
        alpha: 0.01,
        hard: HARD,
    };
    let without_control = traffic::weights::Participants { control: None, ..participants() };
    let (mut ramp, actions) = Ramp::start(without_control, rules, &first);
    backend.apply(&actions);
    while !matches!(ramp.phase(), traffic::ramp::RampPhase::Ended) {
        let window = backend.window();
        let actions = ramp.take(&window);
        backend.apply(&actions);
    }
    assert_as_before(&backend);
    let answer = ramp.answer().unwrap();
    // 150 at 2 times, 180 at 3 times.
    assert_eq!((answer.carried, answer.ended_at), (Some(2.0), 3.0), "{answer}");
    assert!(matches!(answer.reason, Some(RampEnd::Reason(Reason::Breach(_)))), "{answer}");
    assert!(
        answer
            .to_string()
            .starts_with("the candidate carried 2 × the share of one old server, as fast as the old servers up to 2 ×; breached at 3 ×"),
        "{answer}"
    );
}
