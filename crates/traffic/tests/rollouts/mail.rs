//! Rollouts before mail servers, in simulated seconds: what their logs say ends a run, or is in its bound.

use traffic::guard::Stop;
use traffic::observation::{MailWindow, Window};
use traffic::rollout::{Answer, CanaryRules, Phase};

use crate::simulated::{Backend, Behaviour};
use crate::{Rollout, always, rules};

/// What the logs of candidate and control say of a second with ten messages each.
fn plant_mail(window: &mut Window, candidate: MailWindow, control: MailWindow) {
    for (name, mail) in [("candidate", candidate), ("control", control)] {
        let server = window.servers.iter_mut().find(|server| server.server == name);
        server.expect("it is there").mail =
            Some(MailWindow { log_arrived: true, lines: 60, messages: 10, ..mail });
    }
}

fn mail_rollout(candidate: MailWindow, control: MailWindow) -> Rollout {
    let good = Behaviour::default();
    let backend = Backend::new(2000.0, good, always(good), 3);
    let mut rollout = Rollout::start(CanaryRules { is_mail: true, ..rules() }, backend);
    for _ in 0..4000 {
        if !matches!(rollout.canary.phase(), Phase::Step(_)) {
            break;
        }
        rollout.second_with(|window| plant_mail(window, candidate, control));
    }
    rollout
}

#[test]
fn mail_that_is_deferred_rejected_or_delivered_twice_is_rolled_back() {
    let none = MailWindow::default();
    for (candidate, words) in [
        (
            MailWindow { deferred: 2, ..none },
            "20.0 % of the candidate's messages were deferred, 0 % of the control's",
        ),
        (MailWindow { rejected: 3, ..none }, "30.0 % of the candidate's messages were rejected"),
        (
            MailWindow { delivered_twice: 1, ..none },
            "10.0 % of the candidate's messages were delivered twice",
        ),
        (
            MailWindow { deferred: 9, ..none },
            "messages were deferred within three seconds, more than the hard limit of 50.0 %",
        ),
        (
            MailWindow { overdue: 7, oldest_queued_s: 700, queued: 9, ..none },
            "7 messages in the queue of candidate are older than 600 s, the oldest 700 s",
        ),
    ] {
        let rollout = mail_rollout(candidate, none);
        let breach = rollout.breach().to_string();
        assert!(breach.contains(words), "{breach}");
    }
    let both = MailWindow { overdue: 7, ..none };
    assert!(matches!(mail_rollout(both, both).stop(), Stop::ControlFailed(_)));
}

#[test]
fn equal_mail_servers_end_with_a_bound_for_each_metric_once_their_queues_are_empty() {
    let usual = MailWindow { deferred: 1, rejected: 3, ..MailWindow::default() };
    let mut rollout = mail_rollout(usual, usual);
    let Some(Answer::NoWorse { bounds, .. }) = rollout.canary.answer() else {
        panic!("{:?}", rollout.canary.answer())
    };
    assert_eq!(bounds.len(), 5);
    let waiting = MailWindow { queued: 1, ..usual };
    for (candidate, phase) in [(waiting, Phase::Draining), (usual, Phase::Ended)] {
        for _ in 0..3 {
            rollout.second_with(|window| plant_mail(window, candidate, usual));
        }
        assert_eq!(rollout.canary.phase(), phase);
    }
}

#[test]
fn a_mail_log_that_is_missing_or_silent_is_a_breach() {
    let good = Behaviour::default();
    for (log_arrived, words) in [
        (false, "no mail log of control for three seconds"),
        (true, "the control failed: no line in the mail log of control for three seconds"),
    ] {
        let backend = Backend::new(2000.0, good, always(good), 3);
        let mut rollout = Rollout::start(CanaryRules { is_mail: true, ..rules() }, backend);
        for _ in 0..5 {
            rollout.second_with(|window| {
                plant_mail(window, MailWindow::default(), MailWindow::default());
                let control = window.servers.iter_mut().find(|server| server.server == "control");
                control.expect("it is there").mail =
                    Some(MailWindow { log_arrived, ..MailWindow::default() });
            });
        }
        let answer = rollout.canary.answer().expect("it has ended").to_string();
        assert!(answer.contains(words), "{answer}");
    }
}
