//! `showdown explain` with real servers: what it finds, what it keeps, and what it refuses.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::{FEW_KEYS, SHORT, TestHome, error_line, json, only_run, text};

/// Runs a plan of an explanation with a short study, and returns what was found.
fn explained(home: &TestHome, args: &[&str]) -> Value {
    let plan = home.plan(&[&["explain"], args].concat(), SHORT);
    let output = home.run(&["run", &plan, "--format", "json", "--progress", "none"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The frames of a profile, waking up, a kernel that was not seen, and what is in no sample are the measured CPU time.
fn assert_adds_up(profile: &Value) {
    let frames = profile["frames"].as_array().expect("frames");
    let own: f64 = frames.iter().map(|frame| number(&frame["self_us"])).sum();
    let [waking, kernel] = ["waking_us", "kernel_us"].map(|name| profile[name].as_f64().unwrap_or_default());
    let rest = number(&profile["rest_us"]);
    let cpu = number(&profile["cpu_us"]);
    assert!(!frames.is_empty() && cpu > 0.0, "{profile}");
    let sum = own + waking + kernel + rest;
    assert!((sum - cpu).abs() < 1e-6 * cpu, "{own}, {waking}, {kernel} and {rest} are not {cpu}");
}

/// Places of waits are those within operations and then those for work, and sum to the times of the whole.
fn assert_waits(waits: &Value) {
    let places = waits["places"].as_array().expect("places");
    let sum = |is_idle: bool| -> f64 {
        let of_sort = places.iter().filter(|place| place["is_idle"] == is_idle);
        of_sort.map(|place| number(&place["us"])).sum()
    };
    let kinds: f64 = waits["kinds"].as_array().expect("kinds").iter().map(|kind| number(&kind["us"])).sum();
    assert!((sum(false) - kinds).abs() <= 1e-6 * (1.0 + kinds), "{waits}");
    assert!((sum(true) - number(&waits["idle_us"])).abs() <= 1e-6 * (1.0 + sum(true)), "{waits}");
    let first_idle = places.iter().position(|place| place["is_idle"] == true).unwrap_or(places.len());
    assert!(places[first_idle..].iter().all(|place| place["is_idle"] == true), "{waits}");
    assert!(number(&waits["operations"]) > 0.0 && number(&waits["length_s"]) > 0.0, "{waits}");
}

#[test]
fn a_plan_of_an_explanation_is_run_and_what_was_found_is_a_run() {
    let home = TestHome::new();
    let found = explained(&home, &["nginx", "--on-op", "get-1k", "--connections", "16", "--seed", "5"]);
    let server = &found["servers"][0];
    assert_eq!((&server["variant"], &server["held"]["connections"]), (&"nginx".into(), &16.into()));
    assert!(number(&server["held"]["throughput_per_s"]) > 0.0);
    let resources: Vec<&Value> = server["resources"].as_array().expect("resources").iter().collect();
    let busy =
        |id: &str| resources.iter().find(|resource| resource["id"] == id).map(|r| &r["utilisation"]["value"]);
    let share = number(busy("server_cpu").expect("the server's CPUs"));
    assert!((0.0..=1.0).contains(&share), "{share}");
    for resource in &resources {
        for kind in ["demand", "utilisation", "saturation"] {
            assert!(resource[kind].is_null() || resource[kind]["source"].is_string(), "{resource}");
        }
    }
    // What was tried has its pairs, and no word is stronger than its interval.
    for suspect in server["suspects"].as_array().expect("suspects").iter().filter(|s| s["word"] == "limits") {
        let tried = server["perturbations"].as_array().expect("perturbations");
        let own = tried.iter().find(|tried| tried["id"] == suspect["tried"]).expect("it was tried");
        assert!(number(&own["elasticity"]["low"]) > 0.5, "{own}");
    }
    assert_adds_up(&server["profile"]);
    let run = only_run(&home);
    assert_eq!(json(&run.join("explanation.json")), found);
    let kept = fs::read_to_string(run.join("plan.toml")).expect("a plan");
    assert!(kept.contains("kind = \"explain\"") && kept.contains("seed = 5\n"), "{kept}");
    let folded = fs::read_to_string(run.join("profiles/nginx.folded")).expect("stacks");
    let samples: u64 = folded
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(_, n)| n.parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(Value::from(samples), server["profile"]["samples"]);
    assert_waits(&server["waits"]);
    let waits = fs::read_to_string(run.join("profiles/nginx.waits.folded")).expect("stacks of waits");
    assert!(waits.lines().all(|line| line.starts_with("nginx") && line.contains(";<")), "{waits}");
    assert!(run.join("report.html").exists() && !run.join("verdict.json").exists());

    let listed = text(&home.run(&["list"]).stdout);
    assert!(listed.contains("finished") && listed.contains("nginx"), "{listed}");
    let shown = home.run(&["show", "latest"]);
    assert!(
        shown.status.success() && text(&shown.stdout).contains("CPU time of an operation"),
        "{}",
        text(&shown.stdout)
    );
    let resumed = home.run(&["resume", "latest"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", text(&resumed.stderr));

    // The record travels with its profile.
    assert!(home.run(&["export", "latest", "-o", "run.tar.gz"]).status.success());
    let imported = home.run(&["import", "run.tar.gz", "--runs", "other"]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    let id = run.file_name().expect("an id");
    let other = home.path("other").join(id);
    assert_eq!(fs::read_to_string(other.join("profiles/nginx.folded")).expect("stacks"), folded);
    home.assert_nothing_runs();
}

#[test]
fn two_servers_of_a_run_are_set_side_by_side() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx:sendfile=off", "--on-op", "get-1k"]);
    let compared = home.run(&["run", &plan]);
    assert!(matches!(compared.status.code(), Some(0 | 3)), "{}", text(&compared.stderr));
    let found = explained(&home, &["latest", "--runs", "runs"]);
    let servers = found["servers"].as_array().expect("servers");
    let names: Vec<&Value> = servers.iter().map(|server| &server["variant"]).collect();
    assert_eq!(names, ["nginx", "nginx:sendfile=off"]);
    for server in servers {
        assert_adds_up(&server["profile"]);
    }
    let difference = &found["difference"];
    for (side, server) in [("a_cpu_us", &servers[0]), ("b_cpu_us", &servers[1])] {
        assert!(number(&difference[side]) > 0.0, "{}", server["variant"]);
    }
    for frame in difference["frames"].as_array().expect("frames") {
        let difference = number(&frame["b_us"]) - number(&frame["a_us"]);
        let is_inside =
            number(&frame["low_us"]) <= difference + 1e-9 && difference <= number(&frame["high_us"]) + 1e-9;
        assert!(is_inside, "{frame}");
    }
    home.assert_nothing_runs();
}

#[test]
fn a_server_that_ends_is_a_failure_and_what_was_found_is_kept() {
    let home = TestHome::with_few_keys();
    let mut showdown =
        home.showdown(&["explain", "memcached", "--workload", FEW_KEYS, "--quick", "--progress", "json"]);
    let mut child = showdown.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("showdown runs");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut last = String::new();
    for line in stderr.lines() {
        last = line.expect("a line");
        if last.contains("slice 2 of") {
            let is_server =
                |line: &&String| line.split(' ').nth(1).is_some_and(|name| name.ends_with("memcached"));
            let running = home.processes();
            let server = running.iter().find(is_server).expect("the server runs");
            let pid: i32 = server.split(' ').next().and_then(|pid| pid.parse().ok()).expect("its id");
            kill_process(Pid::from_raw(pid).expect("an id"), Signal::KILL).expect("it is there");
        }
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{last}");
    assert!(last.contains("memcached ended while it was loaded") && last.contains("is kept in"), "{last}");
    let found = json(&only_run(&home).join("explanation.json"));
    assert!(number(&found["servers"][0]["held"]["throughput_per_s"]) > 0.0);
    home.assert_nothing_runs();
}

#[test]
fn what_cannot_be_explained_is_refused_in_one_line() {
    let home = TestHome::new();
    for (args, why) in [
        (&["nginx", "apache", "--format", "firefox"][..], "--format firefox is for one server"),
        (&["lmdb", "sqlite"], "has the machine to itself"),
        (&["nginx:vm.dirty_ratio=20", "nginx:vm.dirty_ratio=30"], "cannot be up together"),
        (&["ngnix"], "ngnix"),
        (&["20200101"], "20200101"),
    ] {
        let output = home.run(&[&["explain"], args].concat());
        let line = error_line(&output);
        assert!(output.status.code() != Some(0) && line.contains(why), "{args:?}: {line}");
    }
    let three = home.run(&["explain", "nginx", "apache", "caddy"]);
    assert_eq!(three.status.code(), Some(2), "{}", text(&three.stderr));
    assert!(!home.path("runs").exists(), "nothing was started");
}
