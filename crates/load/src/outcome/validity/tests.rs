//! Outcomes that keep and break each rule.

use std::time::Duration;

use super::*;
use crate::clock::ClockDrift;
use crate::outcome::example::{SECOND_NS, outcome, outcome_of_clients};
use crate::record::{Interval, record};

/// The rules that an outcome breaks once it is changed.
fn broken(change: impl FnOnce(&mut LoadOutcome)) -> Vec<BrokenRule> {
    let mut outcome = outcome();
    change(&mut outcome);
    check(&outcome).reasons
}

/// Adds 200 waits of this length, 2 % of all.
fn be_late(waits: &mut Micros, us: u32) {
    (0..200).for_each(|_| record(waits, us));
}

#[test]
fn a_client_with_spare_cpu_and_on_time_is_valid() {
    assert_eq!(check(&outcome()), Validity::default());
}

#[test]
fn connections_that_never_had_a_reply_are_not_one_failure_each() {
    let silent = |silent: u64| {
        broken(|outcome| {
            outcome.spec.connections = 64;
            outcome.total.connections.silent = silent;
        })
    };
    assert_eq!(silent(0), []);
    let rule = BrokenRule::SilentConnections { silent: 48, wanted: 64 };
    assert!(rule.to_string().starts_with("48 of 64 connections never had a reply"), "{rule}");
    assert_eq!(silent(48), [rule]);
    let interrupted = broken(|outcome| {
        outcome.total.connections.silent = 48;
        outcome.interrupted = true;
    });
    assert_eq!(interrupted, [], "nobody waited for the replies");
}

#[test]
fn operations_waited_for_a_connection_only_where_some_did() {
    let note = |waits: u64| {
        let mut outcome = outcome();
        outcome.total.client.offered = 20_000;
        outcome.total.connections.wait.record_n(500, waits).expect("a time");
        for _ in 0..5_000 {
            record(&mut outcome.drain.operations[0].response_time, 1_000);
        }
        check(&outcome).notes.into_iter().find(|note| note.contains("did not keep up")).expect("a note")
    };
    assert!(note(4_000).ends_with("operations waited for a free connection"), "{}", note(4_000));
    assert!(note(3).ends_with("operations were in flight at the end"), "{}", note(3));
}

#[test]
fn a_client_without_spare_cpu_is_invalid() {
    let busy = |seconds: f64| {
        broken(|outcome| outcome.total.client.user_cpu_ns = (seconds * SECOND_NS as f64) as u64)
    };
    assert!(busy(9.0).is_empty());
    assert!(matches!(busy(9.1)[..], [BrokenRule::ClientCpu { .. }]));
    let spinning = broken(|outcome| {
        outcome.total.client.user_cpu_ns = 10 * SECOND_NS;
        outcome.total.client.spin_ns = 5 * SECOND_NS;
    });
    assert!(spinning.is_empty(), "spinning is not work");
}

#[test]
fn a_client_whose_clock_runs_away_is_invalid() {
    let drifted = |ns, error_ns| {
        let mut outcome = outcome_of_clients();
        for client in &mut outcome.clients {
            client.lost = None;
            client.outcome.spec.part.interval = Duration::from_secs(1);
        }
        outcome.clients[1].drift = Some(ClockDrift { ns, error_ns });
        check(&outcome).reasons
    };
    assert_eq!(drifted(100_000_000, 0), []);
    assert_eq!(drifted(-110_000_000, 10_000_000), [], "that may be the error of the comparison");
    let reasons = drifted(-111_000_000, 10_000_000);
    let rule = BrokenRule::ClockDrift { drift_us: -111_000.0, allowed_us: 100_000.0 };
    assert_eq!(reasons, [BrokenRule::OfClient { client: "c2".to_owned(), rule: Box::new(rule) }]);
    assert!(reasons[0].to_string().starts_with("client c2: its clock ran 111.0 ms slower than the one here"));
}

#[test]
fn a_client_that_waits_for_a_cpu_is_invalid_where_operations_notice() {
    let waiting = |ms: u64, added_us: u64| {
        broken(|outcome| {
            outcome.total.client.run_delay_ns = ms * SECOND_NS / 1_000;
            outcome.total.client.delay.record_n(added_us, 10_000).expect("a time");
        })
    };
    assert!(waiting(500, 50).is_empty());
    assert_eq!(waiting(1_000, 50), [BrokenRule::Starved { share: 0.1 }]);
    assert!(waiting(1_000, 5).is_empty(), "5 µs of 1 ms");
    let unstamped = broken(|outcome| {
        outcome.total.client.run_delay_ns = SECOND_NS;
        outcome.total.client.unstamped = 5_000;
    });
    assert_eq!(unstamped, [BrokenRule::Starved { share: 0.1 }], "what the client added is not known");
}

#[test]
fn delays_of_the_client_break_a_rule_where_they_are_a_visible_part_of_the_response_time() {
    let utilisation = outcome().utilisation();
    for us in [90, 100] {
        assert!(broken(|outcome| be_late(&mut outcome.total.client.lag, us)).is_empty(), "{us} µs of 1 ms");
    }
    let lag = broken(|outcome| be_late(&mut outcome.total.client.lag, 150));
    assert_eq!(lag, [BrokenRule::Lag { p99_us: 150, response_time_p50_us: 1_000, utilisation }]);
    let pickup = |unstamped| {
        broken(|outcome| {
            outcome.total.client.unstamped = unstamped;
            be_late(&mut outcome.total.client.pickup, 150);
        })
    };
    assert_eq!(pickup(200), [BrokenRule::Pickup { p99_us: 150, response_time_p50_us: 1_000, utilisation }]);
    assert!(pickup(100).is_empty(), "with the kernel's timestamps, pickup is not in the response times");
    let slow = broken(|outcome| {
        be_late(&mut outcome.total.client.lag, 150);
        outcome.total.operations[0].response_time.reset();
        (0..10_000).for_each(|_| record(&mut outcome.total.operations[0].response_time, 2_000));
    });
    assert!(slow.is_empty(), "150 µs are less than a tenth of 2 ms");
}

/// The notes on an outcome once it is changed.
fn notes(change: impl FnOnce(&mut LoadOutcome)) -> Vec<String> {
    let mut outcome = outcome();
    change(&mut outcome);
    check(&outcome).notes
}

/// Adds 30 operations to ten thousand that took 4 ms, of which the server took this long.
fn be_slow(outcome: &mut LoadOutcome, server_us: u64) {
    let operation = &mut outcome.total.operations[0];
    operation.response_time.record_n(4_000, 30).expect("a time");
    operation.server_time.record_n(server_us, 30).expect("a time");
}

#[test]
fn a_tail_from_late_sends_is_noted_with_its_length() {
    let late = notes(|outcome| be_slow(outcome, 1_000));
    assert!(late[0].contains("added 3001 µs to p99.9 (4001 µs), 3001 µs to p99.99"), "{late:?}");
}

#[test]
fn a_tail_of_the_server_is_not_noted() {
    assert_eq!(notes(|outcome| be_slow(outcome, 4_000)), [""; 0]);
    assert_eq!(notes(|outcome| be_slow(outcome, 3_985)), [""; 0], "15 µs are not visible");
}

#[test]
fn a_client_that_takes_longer_than_the_server_is_noted_in_a_closed_loop() {
    let slow = |think_ms| {
        notes(|outcome| {
            outcome.spec.part.shape = Shape::Closed { think: Duration::from_millis(think_ms) };
            outcome.total.client.delay.record_n(5_000, 10_000).expect("a time");
        })
    };
    assert!(slow(0)[0].contains("the throughput is more the client's"), "{:?}", slow(0));
    assert_eq!(slow(1), [""; 0]);
}

#[test]
fn operations_without_a_timestamp_are_noted() {
    assert_eq!(notes(|outcome| outcome.total.client.unstamped = 100), [""; 0]);
    let some = notes(|outcome| outcome.total.client.unstamped = 500);
    assert!(some[0].contains("5.0 % of the operations have no receive timestamp"), "{some:?}");
}

#[test]
fn more_than_one_error_in_a_hundred_breaks_a_rule() {
    let failing =
        |count| broken(|outcome| outcome.total.operations[0].errors.add(ErrorKind::Reset, count, "reset"));
    assert!(failing(100).is_empty());
    assert!(matches!(failing(110)[..], [BrokenRule::Errors { .. }]));
}

#[test]
fn a_run_without_success_breaks_no_rule_on_delays() {
    let reasons = broken(|outcome| {
        outcome.total.operations[0] = Interval::new(1, 0).operations.remove(0);
        outcome.total.operations[0].errors.add(ErrorKind::UnexpectedReply, 10_000, "404");
        outcome.total.client.unstamped = 10_000;
        be_late(&mut outcome.total.client.pickup, 5_000);
    });
    assert_eq!(reasons, [BrokenRule::NothingSucceeded, BrokenRule::Errors { share: 1.0 }]);
}

#[test]
fn the_offered_load_must_be_achieved_unless_the_server_was_the_limit() {
    let reasons = broken(|outcome| outcome.total.client.offered = 10_300);
    assert!(matches!(reasons[..], [BrokenRule::Achieved { .. }]), "{reasons:?}");
    assert!(broken(|outcome| outcome.total.client.offered = 10_200).is_empty());
    let mut slow = outcome();
    slow.total.client.offered = 20_000;
    slow.total.operations[0].response_time.reset();
    (0..10_000).for_each(|_| record(&mut slow.total.operations[0].response_time, 3_000_000));
    let checked = check(&slow);
    assert_eq!(checked.reasons, [], "operations waited for a connection, and the client did not delay them");
    assert!(checked.notes[0].contains("the server did not keep up: 1000/s of 2000/s"), "{:?}", checked.notes);
    for interval in [&mut slow.total, &mut slow.drain] {
        interval.connections.errors.add(ErrorKind::Unsent, 10_000, "no connection became free in time");
    }
    let notes = check(&slow).notes;
    assert_eq!(notes[0], checked.notes[0], "unsent operations do not change what was achieved");
    assert!(notes[1].contains("10000 operations got no connection"), "{notes:?}");
}

#[test]
fn a_closed_loop_with_fewer_connections_than_asked_for_is_invalid() {
    let refused = |asked_for, at_once| {
        broken(|outcome| {
            outcome.spec.connections = asked_for;
            outcome.spec.part.shape = Shape::closed();
            outcome.setup_errors.add(ErrorKind::Refused, 50, "too many connections");
            outcome.intervals[0].stats.connections.open_peak = at_once;
        })
    };
    assert_eq!(refused(200, 150), [BrokenRule::Connections { wanted: 200, open: 150 }]);
    assert_eq!(refused(200, 198), [], "those that failed at first were opened later");
}
