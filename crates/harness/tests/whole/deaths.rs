//! Each part is killed while a run measures. A measurement that has begun is never repeated without a person, and no run is lost.

use std::thread;
use std::time::Duration;

use queue::EntryState;
use serde_json::{Value, json};

use crate::home::Home;

/// An entry whose run measures.
fn running(home: &Home) -> u64 {
    let id = home.submit(&home.plan(50));
    home.until(id, "it has a run", |entry| entry.run.is_some() && entry.state == EntryState::Running);
    id
}

/// Stops an entry.
fn stop(home: &Home, id: u64) {
    let killed = home.run(&["kill", &id.to_string()]);
    assert!(killed.status.success(), "{killed:?}");
    home.until(id, "it is stopped", |entry| entry.state == EntryState::Cancelled);
}

fn host(home: &Home) -> Value {
    home.call("GET", "hosts", &json!(null)).1["hosts"][0].clone()
}

#[test]
fn a_killed_controller_leaves_a_lost_run_that_a_person_lets_go_on() {
    let home = Home::start();
    let id = running(&home);
    let next = home.submit(&home.plan(3));
    home.kill("showdown-harness controller");
    let entry = home.until(id, "it is lost", |entry| entry.state == EntryState::Lost);
    assert_eq!(entry.attempt, 1);
    // The run sees that nobody reads its progress, and ends. The next controller proves that the machine is clean; only then it takes
    // the next entry.
    home.until(next, "the queue goes on", |entry| entry.run.is_some());
    let host = host(&home);
    assert!(host["cleaned"].as_str().is_some_and(|why| why.contains("no showdown measures")), "{host}");
    assert_eq!(home.entry(id).state, EntryState::Lost, "nothing repeats it");
    stop(&home, next);
    let run = home.entry(id).run.expect("a run");
    assert_eq!(home.call("POST", &format!("entries/{id}/resume"), &json!({})).0, 200);
    let entry = home.until(id, "it goes on", |entry| entry.state == EntryState::Running);
    assert_eq!((entry.run.as_deref(), entry.attempt), (Some(run.as_str()), 1));
    stop(&home, id);
}

#[test]
fn a_killed_server_costs_no_measurement() {
    let mut home = Home::start();
    let id = running(&home);
    let run = home.entry(id).run;
    home.kill_server();
    thread::sleep(Duration::from_millis(500));
    home.start_server(&[]);
    let entry = home.entry(id);
    assert_eq!((entry.state, &entry.run, entry.attempt), (EntryState::Running, &run, 1), "it goes on");
    // The controller finds the new server, and tells what it has collected meanwhile.
    let counter = entry.counter;
    home.until(id, "its lease is renewed", |entry| entry.counter > counter + 1);
    home.run(&["kill", &id.to_string()]);
    let entry = home.until(id, "it is stopped", |entry| entry.state.is_ended());
    assert_eq!((entry.state, entry.attempt), (EntryState::Cancelled, 1));
}

#[test]
fn a_killed_run_has_failed_and_is_not_repeated() {
    let home = Home::start();
    let id = running(&home);
    home.kill("--progress-fd");
    let entry = home.until(id, "it has failed", |entry| entry.state.is_ended());
    assert_eq!((entry.state, entry.reason.as_deref()), (EntryState::Failed, Some("signal 9 ended it")));
    let next = home.submit(&home.plan(3));
    home.until(next, "the queue goes on", |entry| entry.run.is_some());
    assert_eq!(home.entry(id).attempt, 1);
}

#[test]
fn the_end_of_the_server_interrupts_the_run_and_leaves_nothing() {
    let mut home = Home::start();
    let id = running(&home);
    let run = home.entry(id).run.expect("a run");
    home.stop_server();
    home.until_nothing_runs();
    assert!(home.runs().join(&run).join("plan.toml").is_file());
    home.start_server(&["--no-controller"]);
    let entry = home.entry(id);
    assert_eq!(
        (entry.state, entry.reason.as_deref()),
        (EntryState::Cancelled, Some("its controller was stopped"))
    );
}
