//! Runs that end before their time: a person ends them, or they are killed. The candidate takes nothing afterwards, and what was left is
//! named and put back.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::site::{PROGRAM, Site, answer, eventually, send_signal};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn anybody_who_may_ends_a_run_and_a_second_one_beside_it_is_refused() {
    let site = Site::start(200);
    let _users = site.users();
    let run = site.start_run();
    let mut shown = String::new();
    eventually("the status has the weight of the first step", || {
        shown = text(&site.shift(&["--status"]).stdout);
        shown.contains("candidate        weight  16")
    });
    assert!(shown.starts_with("a run is in progress (pid "), "{shown}");

    let second = site.shift(&["--yes"]);
    let refused = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{refused}");
    assert!(refused.contains(&format!("is in use by pid {}", run.pid())), "{refused}");
    assert!(refused.contains("showdown shift PLAN --abort"), "{refused}");
    // Nor with another directory of runs, which knows nothing of the first.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let mut other = Command::new(PROGRAM);
    other.arg("shift").arg(&site.plan).args(["--yes", "--runs"]).arg(elsewhere.path()).stdin(Stdio::null());
    let other = other.output().expect("it runs");
    assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("is in use by pid"), "{}", text(&other.stderr));
    for option in ["--status", "--abort"] {
        let mut other = Command::new(PROGRAM);
        other.arg("shift").arg(&site.plan).args([option, "--runs"]).arg(elsewhere.path());
        let other = other.stdin(Stdio::null()).output().expect("it runs");
        let refused = text(&other.stderr);
        assert_eq!(other.status.code(), Some(2), "{option}: {}{refused}", text(&other.stdout));
        let named = format!("has no such run: pass --runs {}", site.runs().display());
        assert!(refused.contains(&named), "{refused}");
    }
    let weights = site.weights();
    assert!(weights.contains(&("candidate".to_owned(), "16".to_owned())), "the first goes on: {weights:?}");

    let listed = site.command(&["list", "--format", "json"]).output().expect("it runs");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id");
    let removed = site.command(&["rm", id]).output().expect("it runs");
    assert_eq!(removed.status.code(), Some(1), "{}", text(&removed.stdout));
    assert!(text(&removed.stderr).contains("goes on: end it first"), "{}", text(&removed.stderr));

    // A plan that was spoiled since then still finds the run.
    let plan = fs::read_to_string(&site.plan).expect("the plan");
    fs::write(&site.plan, plan.replace("log = \"127", "log = \"nowhere 127")).expect("a file");
    // And no plan is needed.
    for shown in [site.shift(&["--status"]), site.command(&["shift", "--status"]).output().expect("it runs")]
    {
        let shown = text(&shown.stdout);
        assert!(shown.starts_with("a run is in progress (pid "), "{shown}");
    }
    let abort = site.command(&["shift", "--abort"]).output().expect("it runs");
    assert_eq!(abort.status.code(), Some(0), "{}", text(&abort.stderr));
    assert!(text(&abort.stdout).contains("the run has taken its servers out"), "{}", text(&abort.stdout));
    let output = run.end();
    let answer = answer(&output);
    assert_eq!((output.status.code(), &answer["status"]), (Some(3), &"stopped".into()), "{answer}");
    let sentence = answer["answer"].as_str().expect("a sentence");
    assert!(sentence.contains("aborted by pid"), "{sentence}");
    site.assert_as_before();
    assert_eq!(text(&site.shift(&["--status"]).stdout), "no run at this balancer\n");
    for option in ["--status", "--abort"] {
        let none = site.command(&["shift", option]).output().expect("it runs");
        assert_eq!((none.status.code(), text(&none.stderr)), (Some(0), String::new()));
        assert_eq!(text(&none.stdout), format!("no run is open in {}\n", site.runs().display()));
    }
}

#[test]
fn a_start_that_is_refused_leaves_no_record() {
    let site = Site::start(200);
    let plan = fs::read_to_string(&site.plan).expect("the plan");
    let old = site.address_of("old1");
    let control =
        plan.split("name = \"control\"").nth(1).and_then(|rest| rest.split('"').nth(1)).expect("one");
    for (address, words) in [
        ("127.0.0.1:9".to_owned(), "does not accept connections at 127.0.0.1:9"),
        (old, "where b/old1 takes traffic: start control at an address of its own"),
    ] {
        fs::write(&site.plan, plan.replace(control, &address)).expect("a file");
        let refused = site.shift(&["--yes"]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && !said.contains("At stake"), "{said}");
    }
    let listed = site.command(&["list", "--format", "json"]).output().expect("it runs");
    assert_eq!(text(&listed.stdout).trim(), "[]");
    site.assert_as_before();
}

#[test]
fn ctrl_c_ends_a_run_and_keeps_its_record() {
    let site = Site::start(200);
    let _users = site.users();
    let run = site.start_run();
    run.signal(Signal::INT);
    let output = run.end();
    let answer = answer(&output);
    assert_eq!((output.status.code(), &answer["status"]), (Some(130), &"stopped".into()), "{answer}");
    assert!(answer["answer"].as_str().expect("a sentence").ends_with("stopped by Ctrl-C"), "{answer}");
    site.assert_as_before();

    let listed = site.command(&["list", "--format", "json"]).output().expect("it runs");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(
        (&listed[0]["state"], &listed[0]["kind"]),
        (&"interrupted".into(), &"shift".into()),
        "{listed}"
    );
    let id = listed[0]["id"].as_str().expect("an id");
    assert!(id.contains("-candidate-"), "{id}");
    for name in ["latest", id, "candidate"] {
        let shown = site.command(&["show", name]).output().expect("it runs");
        let shown = text(&shown.stdout);
        assert!(shown.contains("stopped by Ctrl-C") && shown.contains("/report.html"), "{name}: {shown}");
    }
    let export = site.command(&["export", id]).output().expect("it runs");
    let refused = text(&export.stderr);
    assert_eq!(export.status.code(), Some(2), "{refused}");
    assert!(refused.contains("is a run on live traffic, and has no export: pack its folder"), "{refused}");
    // A verb that knows nothing of such runs does not pretend that there is none.
    for verb in ["explain", "resume", "confirm", "cost"] {
        let other = site.command(&[verb, id]).output().expect("it runs");
        let refused = text(&other.stderr);
        assert_eq!(other.status.code(), Some(2), "{verb}: {refused}");
        assert!(refused.contains(&format!("{id} is a run on live traffic")), "{verb}: {refused}");
    }
    let missing = site.command(&["show", "nothing"]).output().expect("it runs");
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
    let removed = site.command(&["rm", id]).output().expect("it runs");
    assert_eq!(text(&removed.stdout), format!("removed {id}\n"), "{}", text(&removed.stderr));
    let listed = site.command(&["list", "--format", "json"]).output().expect("it runs");
    assert_eq!(text(&listed.stdout).trim(), "[]");
    let missing = site.command(&["rm", id]).output().expect("it runs");
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
}

#[test]
fn what_a_killed_run_has_left_is_named_and_put_back_by_the_next_one() {
    let site = Site::start(200);
    let users = site.users();
    let run = site.start_run();
    let lease = run.lease();
    eventually("a second of the step is recorded", || {
        let status = site.shift(&["--status", "--format", "json"]);
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
        let record = Path::new(status["run"]["record"].as_str().expect("a folder"));
        fs::metadata(record.join("windows.jsonl")).is_ok_and(|windows| windows.len() > 0)
    });
    // So that neither sees the other's end and puts anything back.
    run.signal(Signal::STOP);
    send_signal(lease, Signal::KILL);
    run.signal(Signal::KILL);
    let _ = run.end();
    drop(users);

    let shown = text(&site.shift(&["--status"]).stdout);
    for line in [
        "was killed and has left this; `--abort` puts it back, and so does the next run:\n",
        "  candidate        weight  16, added by the run, in service\n",
        "  control          weight  16, added by the run, in service\n",
        "  old1             weight  64, 10 before the run\n",
        "record: ",
    ] {
        assert!(shown.contains(line), "{shown} lacks {line}");
    }
    let json = site.shift(&["--status", "--format", "json"]);
    assert_status_is_documented(&serde_json::from_slice(&json.stdout).expect("JSON"));
    let listed = text(&site.command(&["list"]).output().expect("it runs").stdout);
    assert!(
        listed.contains("unfinished") && listed.contains("was killed before it had an answer"),
        "{listed}"
    );
    let page = site.command(&["report"]).output().expect("it runs");
    let page = fs::read_to_string(text(&page.stdout).trim()).expect("the page");
    assert!(page.contains("was killed before it had an answer") && page.contains("step 1, 10.0 %"), "{page}");

    // Without --yes, so that it begins nothing itself.
    let next = site.shift(&[]);
    let said = text(&next.stderr);
    assert_eq!(next.status.code(), Some(2), "{said}");
    for line in [
        "candidate has weight 0 and is out of service",
        "old1 has its weight 10 again",
        "candidate was removed",
    ] {
        assert!(said.contains(&format!("an earlier run had not ended: {line}")), "{said} lacks {line}");
    }
    site.assert_as_before();
    assert_eq!(text(&site.shift(&["--status"]).stdout), "no run at this balancer\n");
}

fn assert_status_is_documented(status: &serde_json::Value) {
    let page = include_str!("../../../../docs/LIVE-TRAFFIC.md");
    let run = &status["run"];
    let mut keys: Vec<&String> = run.as_object().expect("a run").keys().collect();
    for list in [&run["added"], &run["changed"], &run["last_second"]["servers"]] {
        keys.extend(list[0].as_object().expect("a server").keys());
    }
    keys.extend(run["last_second"].as_object().expect("a second").keys());
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "docs/LIVE-TRAFFIC.md lacks {key}");
    }
}
