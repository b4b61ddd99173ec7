//! Hosts of the hosts file that are this machine, as with `ssh = "USER@127.0.0.1"`. A script in the place of ssh runs its command here.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::compare::shortened;
use super::{SHOWDOWN, json, script, stderr};

const HOSTS: &str = "[host.self]\nssh = \"me@localhost\"\naddress = \"127.0.0.1\"\n\
                     [host.again]\nssh = \"me@127.0.0.1\"\naddress = \"127.0.0.2\"\n";

/// Runs a command with this ssh, in a directory of its own with `hosts.toml`.
struct Here(tempfile::TempDir);

impl Here {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("bin")).expect("a directory");
        script::write(
            &directory.path().join("bin/ssh"),
            "#!/bin/sh\nfor last do :; done\nexec sh -c \"$last\"\n",
        );
        fs::write(directory.path().join("hosts.toml"), HOSTS).expect("a file");
        Self(directory)
    }

    fn command(&self, words: &[&str]) -> Command {
        let directory = self.0.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = super::command(
            &[SHOWDOWN].iter().chain(words).map(|word| (*word).to_owned()).collect::<Vec<_>>(),
        );
        command.current_dir(directory);
        command.env("PATH", format!("{}:{path}", directory.join("bin").display()));
        command.env("XDG_CACHE_HOME", directory.join("cache")).env("SHOWDOWN_LOCK", directory.join("lock"));
        command
    }
}

#[test]
fn a_run_shares_this_machine_with_hosts_that_are_this_machine_and_says_so() {
    let here = Here::new();
    let words =
        ["plan", "compare", "nginx", "nginx@self", "nginx@again", "--quick", "--blocks", "3", "-c", "2"];
    let words = [&words[..], &["--seed", "1", "--measure", "throughput"]].concat();
    let planned = here.command(&words).output().expect("it runs");
    assert!(planned.status.success(), "{}", stderr(&planned));
    let plan = shortened(&String::from_utf8_lossy(&planned.stdout));
    fs::write(here.0.path().join("plan.toml"), &plan).expect("a file");

    let run = ["run", "plan.toml", "--yes", "--runs", "runs"];
    let output = here.command(&run).output().expect("it runs");
    // 3: no trial was valid on a busy machine.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("this machine, again, self run on one kernel: they are one machine"), "{text}");

    let shown =
        here.command(&["show", "latest", "--runs", "runs", "--format", "json"]).output().expect("it runs");
    let verdict = json(&shown);
    let caveats =
        verdict["caveats"].as_array().or_else(|| verdict["verdict"]["caveats"].as_array()).expect("caveats");
    let has = |id: &str| caveats.iter().any(|caveat| caveat["id"] == id);
    assert!(has("one-kernel") && has("one-machine") && has("loopback"), "{caveats:?}");
    assert!(!has("these-machines") && !has("network"), "{caveats:?}");

    let run = fs::read_dir(here.0.path().join("runs")).expect("runs").flatten().map(|entry| entry.path());
    let run = run.into_iter().find(|path| path.join("plan.toml").exists()).expect("a run");
    let trials = fs::read_dir(run.join("trials")).expect("trials").flatten();
    for folder in trials {
        let text = fs::read_to_string(folder.path().join("trial.json")).expect("a trial");
        let trial: Value = serde_json::from_str(&text).expect("JSON");
        assert!(matches!(trial["status"].as_str(), Some("valid" | "invalid")), "{trial}");
        assert_eq!(trial["counts"][0]["client"], trial["counts"][0]["server"], "{trial}");
    }
    // As in a local run, servers and client have CPUs of their own where there are several.
    if std::thread::available_parallelism().map_or(1, usize::from) > 1 {
        assert!(!has("shared-cpus"), "{caveats:?}");
        let plan: toml::Table = plan.parse().expect("TOML");
        let cpus = |host: &toml::Value| host.get("cpus").cloned();
        let hosts = plan["hosts"].as_array().expect("hosts");
        assert!(hosts.iter().all(|host| cpus(host).as_ref() == plan["cpus"].get("server")), "{plan}");
    }
}

#[test]
fn hosts_says_that_ssh_leads_back() {
    let here = Here::new();
    let output = here.command(&["hosts", "--for", "20ms", "--format", "json"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let note = json(&output)["notes"][0].as_str().expect("a note").to_owned();
    assert!(note.starts_with("this machine, self, again run on one kernel"), "{note}");
}

#[test]
fn another_run_on_this_machine_is_still_refused() {
    let here = Here::new();
    let foreign = fs::File::create(here.0.path().join("lock")).expect("a file");
    foreign.lock().expect("nobody else knows it");
    let words = ["compare", "nginx@self", "nginx@again", "--quick", "--runs", "runs"];
    let output = here.command(&words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("another showdown is measuring on this machine"), "{}", stderr(&output));
}
