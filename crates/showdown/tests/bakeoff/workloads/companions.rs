//! A service of several processes from end to end: nginx, an application, memcached. Each part has an account of its CPU time.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::{TestHome, error_line, json, only_run, signal, text, trials};

const PARTS: [&str; 3] = ["cache", "application", "web"];
const VARIANTS: [&str; 2] = ["shop:caching=off", "shop:caching=on"];

/// A home with the example.
fn home() -> TestHome {
    let home = TestHome::new();
    let output = home.run(&["workloads", "new", "shop", "--companions"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    home
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// The names of the parts in a list of theirs.
fn names(parts: &Value) -> Vec<&str> {
    list(parts).iter().filter_map(|part| part["part"].as_str()).collect()
}

#[test]
fn a_service_of_three_processes_has_its_cpu_time_by_part() {
    let home = home();
    let output = home.run(&["run", &home.small_plan(&VARIANTS)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let run = only_run(&home);
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let server = &record["server"];
        assert_eq!(names(&server["parts"]), PARTS, "{record}");
        let sum = |key: &str| list(&server["parts"]).iter().map(|part| number(&part[key])).sum::<f64>();
        let processes = [sum("processes"), number(&server["processes"])].map(|count| count as u64);
        assert_eq!(processes[0], processes[1], "all parts are the server: {server}");
        let cpu = &record["cpu_time"];
        if cpu.is_object() {
            assert_eq!(names(&cpu["parts"]), PARTS, "{cpu}");
            let each_us = number(&cpu["user_us"]) + number(&cpu["system_us"]);
            let parts_us: f64 = list(&cpu["parts"]).iter().map(|part| number(&part["each_us"])).sum();
            assert!((each_us - parts_us).abs() < 1e-6 * each_us, "{cpu}");
        }
        for log in ["companion-cache-server.log", "companion-application-server.log", "server.log"] {
            assert!(trial.join(log).is_file(), "{log} of {}", trial.display());
        }
        assert!(trial.join("config/companion-application-command").is_file());
    }
    let facts = json(&run.join("facts.json"));
    for variant in list(&facts["variants"]) {
        let fact = |name: &str| variant["facts"][format!("companion.{name}")].as_str().unwrap_or_default();
        assert!(fact("cache.executable").ends_with("/memcached"), "{variant}");
        assert!(!fact("cache.version").is_empty() && fact("application.version").starts_with("Python 3"));
    }
    let verdict = json(&run.join("verdict.json"));
    let unfair = verdict["fairness"].to_string();
    assert!(!unfair.contains("unexplained") || !unfair.contains("companion."), "{unfair}");
    let (answer, markdown) = (text(&output.stdout), home.run(&["report", "--format", "md"]).stdout);
    for variant in list(&verdict["variants"]).iter().filter(|variant| number(&variant["valid"]) > 0.0) {
        assert_eq!(names(&variant["parts"]), PARTS, "{variant}");
        let shares: f64 = list(&variant["parts"]).iter().map(|part| number(&part["cpu_share"])).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{variant}");
        let name = variant["name"].as_str().expect("a name");
        assert!(answer.contains(&format!("{name}: CPU by part: cache ")), "{answer}");
        assert!(text(&markdown).contains("| CPU by part |"), "{}", text(&markdown));
    }
}

/// The process IDs of programs of this home with this text in their command line.
fn pids(home: &TestHome, program: &str) -> Vec<i32> {
    let running = home.processes();
    let of_program =
        running.iter().filter(|line| line.split(' ').nth(1).is_some_and(|name| name.ends_with(program)));
    of_program.filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
}

/// Waits until a program of this home runs.
fn first_pid(home: &TestHome, program: &str) -> i32 {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(pid) = pids(home, program).first() {
            return *pid;
        }
        assert!(Instant::now() < until, "{program} does not run");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_companion_that_dies_under_load_is_named_with_its_log() {
    let home = home();
    let plan = home.longer_plan(&VARIANTS);
    let mut run = home.showdown(&["run", &plan, "--progress", "none"]);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("showdown runs");
    // nginx is the last process to start.
    first_pid(&home, "nginx:");
    let cache = first_pid(&home, "memcached");
    kill_process(Pid::from_raw(cache).expect("an id"), Signal::KILL).expect("it is there");
    child.wait().expect("it ends");
    home.assert_nothing_runs();
    let records: Vec<Value> =
        trials(&only_run(&home)).iter().map(|trial| json(&trial.join("trial.json"))).collect();
    let dead = format!("companion cache of shop (pid {cache}) was killed by SIGKILL");
    let record = records.iter().find(|record| record["reasons"].to_string().contains(&dead));
    let record = record.unwrap_or_else(|| panic!("{records:?}"));
    assert_ne!(record["status"], "valid");
    let reasons = record["reasons"].to_string();
    assert!(reasons.contains("its log") && reasons.contains("companion-cache-server.log"), "{reasons}");
}

#[test]
fn no_part_is_left_after_a_kill() {
    let home = home();
    let plan = home.longer_plan(&VARIANTS);
    for program in ["memcached", "nginx:"] {
        let mut run = home.showdown(&["run", &plan, "--progress", "none"]);
        let mut child = run.stdout(Stdio::null()).spawn().expect("showdown runs");
        first_pid(&home, program);
        signal(&child, Signal::KILL);
        child.wait().expect("it was killed");
        home.assert_nothing_runs();
    }
}

#[test]
fn a_companion_that_never_becomes_ready_fails_the_run_in_one_line() {
    let home = home();
    let file = home.path("workloads/shop/workload.toml");
    let text_of_file = fs::read_to_string(&file).expect("the workload");
    let broken = text_of_file.replacen(
        "name = \"cache\"",
        "name = \"cache\"\nready = { command = [\"false\"], within = \"200ms\" }",
        1,
    );
    fs::write(&file, broken).expect("the workload");
    let output = home.run(&["run", &home.small_plan(&VARIANTS)]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let line = error_line(&output);
    assert!(
        line.contains("companion cache of shop (pid ") && line.contains("false exited with status 1"),
        "{line}"
    );
    home.assert_nothing_runs();
}
