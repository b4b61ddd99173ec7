//! Small real runs from the queue to the archive.

use std::fs;

use queue::EntryState;
use serde_json::json;

use crate::home::Home;

#[test]
fn a_plan_is_queued_watched_stored_and_compared() {
    let home = Home::start();
    let plan = home.plan(3);
    let id = home.submit(&plan);
    let watched = home.run(&["watch", &id.to_string()]);
    assert!(watched.status.success(), "{watched:?}");
    let text = String::from_utf8_lossy(&watched.stdout);
    let run = text.lines().last().expect("the id of the run").to_owned();
    assert!(home.runs().join(&run).join("verdict.json").is_file(), "{text}");
    assert!(text.contains(" begins: "), "what happened is told: {text}");

    let entry = home.entry(id);
    assert_eq!((entry.state, entry.attempt, entry.run.as_deref()), (EntryState::Done, 1, Some(run.as_str())));
    assert_eq!(home.call("GET", "hosts", &json!(null)).1["hosts"][0]["state"], "free");

    // It can be asked again, with what it repeats.
    let plan = fs::read_to_string(&plan).expect("a plan");
    let again = home.call("POST", "entries", &json!({ "plan": plan, "parent": id, "paused": true }));
    assert_eq!((again.0, &again.1["parent"]), (201, &json!(id)), "{again:?}");
    let listed = home.run(&["queue", "--all"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains(&run) && listed.contains("paused"), "{listed}");

    let other = archive::example::comparison(&home.runs(), 3).expect("a run");
    let path = format!("compare?runs={other},{run}&reference={run}/apache");
    let compared = home.call("GET", &path, &json!(null)).1;
    assert_eq!(compared["runs"], json!([other.as_str(), run]), "the order is kept");
    assert_eq!((&compared["rows"][3]["variant"], &compared["reference"]), (&json!("apache"), &json!(3)));

    let pulled = home.run(&["pull", &id.to_string()]);
    assert_eq!(String::from_utf8_lossy(&pulled.stdout).trim(), run);
}

#[test]
fn a_run_is_stopped_by_a_person_and_keeps_what_it_has_measured() {
    let home = Home::start();
    let id = home.submit(&home.plan(50));
    home.until(id, "it has a run", |entry| entry.run.is_some());
    let killed = home.run(&["kill", &id.to_string()]);
    assert!(killed.status.success(), "{killed:?}");
    let entry = home.until(id, "it is stopped", |entry| entry.state.is_ended());
    assert_eq!(entry.state, EntryState::Cancelled);
    assert_eq!(entry.reason.as_deref(), Some("stopped by alice"));
    assert!(home.runs().join(entry.run.expect("a run")).join("plan.toml").is_file());
    let watched = home.run(&["watch", &id.to_string()]);
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
}

#[test]
fn a_plan_that_cannot_run_says_why_and_the_queue_goes_on() {
    let home = Home::start();
    let plan = home.plan(3);
    let bad = fs::read_to_string(&plan)
        .expect("a plan")
        .replace("workload = \"static-web\"", "workload = \"nowhere\"");
    let submitted = home.call("POST", "entries", &json!({ "plan": bad }));
    let id = submitted.1["id"].as_u64().expect("a number");
    let entry = home.until(id, "it has failed", |entry| entry.state.is_ended());
    assert_eq!(entry.state, EntryState::Failed);
    assert!(entry.reason.as_ref().is_some_and(|why| why.contains("nowhere")), "{entry:?}");
    // The command line says it before it is queued.
    fs::write(home.dir.path().join("bad.toml"), bad).expect("a plan");
    let refused = home.run(&["submit", "bad.toml"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn a_missing_program_or_server_is_named_with_the_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let alone = dir.path().join("showdown");
    let program = crate::home::showdown();
    fs::hard_link(&program, &alone).or_else(|_| fs::copy(&program, &alone).map(drop)).expect("a copy");
    for (args, remedy) in
        [(["serve"], "copy it there from the package"), (["queue"], "run `showdown serve` there")]
    {
        let output =
            std::process::Command::new(&alone).args(args).current_dir(dir.path()).output().expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && message.lines().count() == 1 && message.contains(remedy),
            "{message}"
        );
    }
}

#[test]
fn plans_that_are_submitted_together_run_one_after_the_other() {
    let home = Home::without_controller();
    let plan = home.plan(3);
    let submitted = home.run(&["submit", &plan, &plan]);
    assert_eq!(String::from_utf8_lossy(&submitted.stdout), "1\n2\n", "{submitted:?}");
    assert_eq!((home.entry(1).next, home.entry(2).after), (Some(2), Some(1)));
    let killed = home.run(&["kill", "1"]);
    assert!(killed.status.success(), "{killed:?}");
    let second = home.entry(2);
    assert_eq!(second.state, EntryState::Cancelled);
    assert_eq!(second.reason.as_deref(), Some("entry 1 before it in its sequence is cancelled"));
}
