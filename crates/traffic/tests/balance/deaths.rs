//! The death or the standstill of each part leaves no traffic at the candidate, and no way for the candidate to get any.

use std::net::TcpStream;

use rustix::process::Signal;
use traffic::control;
use traffic::lease::protocol::RECORD_NAME;
use traffic::observation::ServerState;

use crate::lab::{Lab, Run, eventually, signal};

/// Where the health check of a server goes, from HAProxy's own words.
fn beacon(lab: &Lab, server: &str) -> (String, u16) {
    let state = lab.ask("show servers state b");
    let header: Vec<&str> = state
        .lines()
        .find(|line| line.starts_with('#'))
        .expect("a header")
        .split_whitespace()
        .skip(1)
        .collect();
    let row = state.lines().find(|line| line.split_whitespace().nth(3) == Some(server)).expect("the server");
    let values: Vec<&str> = row.split_whitespace().collect();
    let value = |name: &str| values[header.iter().position(|field| *field == name).expect("a field")];
    (value("srv_check_addr").to_owned(), value("srv_check_port").parse().expect("a port"))
}

fn assert_no_traffic(lab: &Lab) {
    let answers = lab.send(40, "/");
    assert!(answers.keys().all(|name| name.starts_with("old")), "{answers:?}");
}

fn started() -> (Lab, Run) {
    let lab = Lab::start();
    let run = lab.start_run();
    eventually("the candidate has traffic", || lab.send(8, "/").contains_key("cand"));
    (lab, run)
}

#[test]
fn a_run_that_ends_in_order_leaves_nothing() {
    let (lab, mut run) = started();
    let said = run.end();
    assert_eq!(said.last().map(String::as_str), Some("done"), "{said:?}");
    assert!(lab.reading("cand").is_none() && lab.reading("control").is_none());
    eventually("its lease's process ends", || host::process::ProcessId::of(run.lease).is_none());
}

#[test]
fn a_killed_run_is_cleaned_up_and_its_beacon_closes_first() {
    let (lab, run) = started();
    let address = beacon(&lab, "cand");
    signal(run.pid(), Signal::KILL);
    eventually("the candidate is out", || {
        let is_lowered = lab.reading("cand").is_none_or(|reading| reading.weight == 0);
        // Whenever the weight is 0, the beacon was closed before.
        assert!(!is_lowered || TcpStream::connect(&address).is_err(), "the beacon answers");
        lab.is_out("cand") && lab.is_out("control")
    });
    assert_no_traffic(&lab);
    let record = run.directory.join(RECORD_NAME);
    eventually("the record is written", || record.exists());
    let status = control::status(&run.directory).unwrap().expect("a run");
    assert_eq!(status.lease.map(|lease| lease.lost), Some("the run has ended".to_owned()));
    assert!(!status.is_running);
    eventually("all is undone", || lab.reading("cand").is_none() && lab.reading("control").is_none());
    eventually("the lease's process ends", || host::process::ProcessId::of(run.lease).is_none());
    assert!(control::abort(&run.directory).unwrap().done.is_empty(), "nothing is left to be undone");
}

#[test]
fn a_run_that_stands_still_loses_its_lease_and_raises_nothing_after_it() {
    let (lab, run) = started();
    signal(run.pid(), Signal::STOP);
    eventually("the candidate is out", || lab.is_out("cand") && lab.is_out("control"));
    assert_no_traffic(&lab);
    signal(run.pid(), Signal::CONT);
    let alarm = run.next_line();
    assert!(alarm.contains("the lease on the balancer is lost"), "{alarm}");
    assert!(lab.is_out("cand"));
    assert_no_traffic(&lab);
}

#[test]
fn a_killed_lease_is_noticed_by_the_run_and_by_the_balancer() {
    let (lab, run) = started();
    signal(run.lease, Signal::KILL);
    let alarm = run.next_line();
    assert!(
        alarm.contains("the lease on the balancer is lost: the process of the lease has ended"),
        "{alarm}"
    );
    eventually("the balancer alone stops sending", || {
        lab.reading("cand").is_none_or(|reading| reading.state == ServerState::Down)
    });
    assert_no_traffic(&lab);
}

#[test]
fn without_run_and_lease_the_balancer_alone_stops_sending_until_somebody_undoes_the_rest() {
    for stops in [Signal::KILL, Signal::STOP] {
        let (lab, run) = started();
        // So that none of them sees the other's end.
        signal(run.pid(), Signal::STOP);
        signal(run.lease, stops);
        signal(run.pid(), stops);
        eventually("the balancer alone stops sending", || {
            ["cand", "control"]
                .iter()
                .all(|server| lab.reading(server).is_none_or(|reading| reading.state == ServerState::Down))
        });
        assert_no_traffic(&lab);
        let left = lab.reading("cand").expect("it is still there");
        assert!(left.weight > 0, "nobody was left to lower it");
        let recovered = control::abort(&run.directory).unwrap();
        assert!(recovered.is_complete(), "{recovered:?}");
        assert!(lab.is_out("cand") && lab.is_out("control"));
        assert_no_traffic(&lab);
    }
}

#[test]
fn a_killed_run_is_undone_by_the_next_one() {
    let (lab, run) = started();
    signal(run.lease, Signal::KILL);
    signal(run.pid(), Signal::KILL);
    eventually("the next run begins", || match lab.open() {
        Ok(live) => {
            assert!(live.recovered().is_complete());
            true
        }
        Err(_) => false,
    });
}

#[test]
fn anybody_who_may_ends_a_run() {
    let (lab, run) = started();
    let status = control::status(&run.directory).unwrap().expect("a run");
    assert!(status.is_running && status.pid == Some(run.pid()));
    // This run only says what it hears: it is undone past it.
    let recovered = control::abort(&run.directory).unwrap();
    assert!(recovered.is_complete(), "{recovered:?}");
    eventually("the candidate is out", || lab.is_out("cand") && lab.is_out("control"));
    let alarm = run.next_line();
    assert!(alarm.contains(&format!("aborted by pid {}", std::process::id())), "{alarm}");
    assert_no_traffic(&lab);
}

#[test]
fn a_reload_and_a_kill_of_the_balancer_leave_no_traffic_at_the_candidate() {
    let (mut lab, run) = started();
    lab.reload();
    assert!(lab.reading("cand").is_none());
    assert_no_traffic(&lab);
    let alarm = run.next_line();
    assert!(alarm.contains("HAProxy was re"), "{alarm}");
    lab.stop_haproxy();
    assert!(lab.send(1, "/").contains_key("no connection"));
}
