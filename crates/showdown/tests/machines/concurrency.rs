//! Downloads in progress from clients on other hosts to a server on another one, in the lab. Its machine may be busy, so nothing is
//! said of latencies, and a client may be the limit.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::lab::Lab;
use super::{SHOWDOWN, json, kill_those_with, nothing_is_left, run, stderr, wait_for};

/// Downloads from c1 by clients on c2 and c3.
fn downloads(lab: &Lab, options: &[&str]) -> Command {
    let path = |name: &str| lab.directory().join(name).display().to_string();
    let lock = format!("SHOWDOWN_LOCK={}", path("lock"));
    let words =
        ["env", &lock, SHOWDOWN, "concurrency", "nginx", "--on", "c1", "--hosts", &path("hosts.toml")];
    let usual = ["--runs", &path("runs"), "--finer", "0", "--format", "json"];
    let mut command = lab.exec(&[&words, options, &usual].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What the only run has kept.
fn kept(lab: &Lab) -> Option<Value> {
    let mut runs = std::fs::read_dir(lab.directory().join("runs")).ok()?.flatten();
    let text = std::fs::read_to_string(runs.next()?.path().join("concurrency.json")).ok()?;
    serde_json::from_str(&text).ok()
}

#[test]
fn downloads_are_spread_over_clients_behind_ssh() {
    let Some(lab) = Lab::up(3) else { return };
    let output = downloads(&lab, &["--clients", "c2,c3", "--from", "50", "--to", "100", "--hold", "1s"])
        .output()
        .expect("it runs");
    assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!((&found["processes"], &found["variant"]), (&2.into(), &"nginx@c1".into()));
    let first = &found["steps"][0];
    assert_eq!(first["transfers"], 50);
    assert!(first["in_progress"].as_u64().is_some_and(|count| count > 0 && count <= 50), "{first}");
    assert!(first["server_cpu_cores"].is_number(), "the agent on c1 watches the server: {first}");
    let limits = found["limits"].as_array().expect("limits");
    assert!(limits.iter().any(|limit| limit["name"] == "c1: memory"), "{limits:?}");
    assert!(limits.iter().all(|limit| limit["is_changed"] == false), "{limits:?}");
    assert_eq!(kept(&lab), Some(found));
    nothing_is_left(&lab, &["c1", "c2", "c3"]);
}

#[test]
fn a_client_that_is_lost_ends_the_run_which_keeps_its_steps() {
    let Some(lab) = Lab::up(3) else { return };
    let options = ["--clients", "c2,c3", "--from", "50", "--to", "60", "--hold", "1s", "--hold-last", "10m"];
    let run = downloads(&lab, &options).spawn().expect("it can be started");
    wait_for("the first step", || kept(&lab).filter(|found| found["steps"][0]["transfers"] == 50));
    kill_those_with(&lab, Some("c3"), "agent --stdio");
    let output = run.wait_with_output().expect("it ends");
    let lines = stderr(&output);
    // A client that was the limit in the first step has ended the run before.
    if output.status.code() != Some(3) {
        assert_eq!(output.status.code(), Some(1), "{lines}");
        assert!(lines.contains("c3") && lines.contains("what was measured until then is kept"), "{lines}");
    }
    let found = kept(&lab).expect("the steps");
    assert_eq!(found["steps"].as_array().map(Vec::len), Some(1), "{found}");
    nothing_is_left(&lab, &["c1", "c2", "c3"]);
}

#[test]
fn a_hosts_file_is_for_a_server_or_clients_on_a_host() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("hosts.toml");
    let text = "[host.a]\naddress = \"127.0.0.1\"\n[host.b]\nssh = \"b\"\naddress = \"10.77.0.2\"\n";
    std::fs::write(&file, text).expect("a file of this test");
    let file = file.display().to_string();
    let told = |words: &[&str]| {
        let words = [&[SHOWDOWN], words, &["--hosts", &file]].concat();
        let output = run(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        (output.status.code(), stderr(&output))
    };
    assert_eq!(told(&["plan", "concurrency", "nginx", "--on", "a"]), (Some(0), String::new()));
    let (code, line) = told(&["concurrency", "nginx"]);
    assert_eq!((code, line.contains("--hosts has no effect without a host")), (Some(2), true), "{line}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/file", listener.local_addr().expect("an address"));
    let (code, line) = told(&["concurrency", &url, "--clients", "b"]);
    assert_eq!(
        (code, line.contains("127.0.0.1 is another machine on each client")),
        (Some(2), true),
        "{line}"
    );
}

#[test]
fn what_cannot_be_spread_is_said_before_the_run() {
    let Some(lab) = Lab::up(1) else { return };
    let refusal = |options: &[&str], why: &str| {
        let output = downloads(&lab, options).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{options:?}: {}", stderr(&output));
    };
    refusal(&["--clients", "c9"], "there is no host \"c9\"");
    refusal(&["--clients", "c1,c1"], "client c1 is named twice");
    refusal(&["--clients", "c1", "--to", "10000000"], "transfers at once are too many: c1: ");
    assert!(kept(&lab).is_none(), "nothing was run");
    nothing_is_left(&lab, &["c1"]);
}
