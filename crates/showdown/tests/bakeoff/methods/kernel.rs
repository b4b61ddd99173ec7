//! Kernel settings as variants, from end to end. The setting of these tests only changes how packets are filled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid};
use serde_json::Value;

use crate::home::{
    FEW_KEYS, TestHome, error_line, json, only_run, signal, skip, text, trials, while_settings_change,
};

const SETTING: &str = "net.ipv4.tcp_autocorking";

fn setting_now() -> String {
    let file = format!("/proc/sys/{}", SETTING.replace('.', "/"));
    fs::read_to_string(file).expect("the kernel has it").trim().to_owned()
}

/// The one line that a failing command prints, after a check of its exit code.
fn refused(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    error_line(output)
}

/// The value of the setting that the server of each variant found.
fn found(run: &Path) -> Vec<Value> {
    let facts = json(&run.join("facts.json"));
    let variants = facts["variants"].as_array().expect("a list");
    variants.iter().map(|variant| variant["knobs"][SETTING].clone()).collect()
}

#[test]
fn a_kernel_setting_is_compared_and_restored() {
    let _machine = while_settings_change();
    let home = TestHome::with_few_keys();
    let before = setting_now();
    let other = if before == "1" { "0" } else { "1" };
    let set = format!("memcached:{SETTING}={other}");
    let output = home.run(&["run", &home.small_plan(&[&set, "memcached", "--workload", FEW_KEYS])]);
    if !geteuid().is_root() {
        assert!(
            refused(&output, 1).contains("may only be set to"),
            "the message names the user who may set it"
        );
        return;
    }
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    assert_eq!(setting_now(), before, "the setting is restored");
    home.assert_nothing_runs();

    let run = only_run(&home);
    let trials = trials(&run);
    assert!(trials.len() >= 6, "every trial ran");
    for trial in trials {
        let record = json(&trial.join("trial.json"));
        assert!(record["turns"]["in_turns"].is_object(), "each has its setting while it is loaded: {record}");
    }
    let is = |value: &str| Value::from(value.parse::<i64>().expect("a number"));
    assert_eq!(found(&run), [is(other), is(&before)]);
    let verdict = json(&run.join("verdict.json")).to_string();
    assert!(
        verdict.contains("this is what the comparison is about")
            && verdict.contains("applies to the whole machine"),
        "{verdict}"
    );

    // This is no test of its own, because only one showdown at a time may have the journal of settings.
    let missing = home.run(&["compare", "memcached:net.ipv4.tcp_no_such=1", "memcached", "--quick"]);
    assert!(refused(&missing, 1).contains("cannot read net.ipv4.tcp_no_such"), "{}", text(&missing.stderr));
    only_run(&home);
}

#[test]
fn an_unusual_kernel_setting_needs_to_be_allowed() {
    let _machine = while_settings_change();
    let home = TestHome::new();
    let plan = home.small_plan(&["memcached:kernel.no_such=1", "memcached"]);
    let why = refused(&home.run(&["run", &plan]), 2);
    assert!(why.contains("pass --allow-kernel kernel.no_such"), "{why}");
    let allowed = home.run(&["run", &plan, "--allow-kernel", "kernel.no_such"]);
    let why = refused(&allowed, 1);
    // It does not exist, or another test changes settings.
    assert!(!why.contains("--allow-kernel"), "{why}");
}

#[test]
fn a_file_that_is_no_kernel_setting_is_refused() {
    let _machine = while_settings_change();
    let home = TestHome::new();
    let output = home.run(&["compare", "memcached:/etc/hostname=x", "memcached", "--quick"]);
    let why = refused(&output, 2);
    assert!(why.contains("is not a kernel setting: give a sysctl name"), "{why}");
}

/// Settings that `--quiet-host` may change, with their values now.
fn quiet_settings() -> Vec<(PathBuf, String)> {
    let files =
        ["/proc/sys/vm/compaction_proactiveness", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"];
    let read = |file: &str| Some((PathBuf::from(file), fs::read_to_string(file).ok()?));
    files.into_iter().filter_map(read).filter(|(_, value)| value.trim() != "0").collect()
}

#[test]
fn a_quiet_host_is_what_it_was_before_also_after_a_killed_run() {
    let _machine = while_settings_change();
    let before = quiet_settings();
    if !geteuid().is_root() || before.is_empty() {
        return skip("this user may not change a setting, or all of them are quiet");
    }
    let home = TestHome::with_few_keys();
    let plan = home.small_plan(&["memcached", "memcached", "--workload", FEW_KEYS, "--quiet-host"]);
    let text_of_plan = fs::read_to_string(home.path(&plan)).expect("a plan");
    assert!(text_of_plan.contains("quiet_host = true"), "{text_of_plan}");
    let mut child = home
        .showdown(&["run", &plan, "--progress", "none"])
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let wait = |what: &str, is_so: &dyn Fn(&str, &str) -> bool| {
        let deadline = Instant::now() + Duration::from_mins(5);
        let is_now = |(file, value): &(PathBuf, String)| {
            is_so(fs::read_to_string(file).expect("a setting").trim(), value.trim())
        };
        while !before.iter().all(is_now) {
            assert!(Instant::now() < deadline, "{what}: {before:?}");
            thread::sleep(Duration::from_millis(10));
        }
    };
    wait("the settings are not quiet", &|now, _| now == "0");
    // Facts are written when the settings have been tried.
    let has_fact = || {
        let mut runs = fs::read_dir(home.path("runs")).into_iter().flatten().flatten();
        runs.any(|run| {
            fs::read_to_string(run.path().join("facts.json"))
                .is_ok_and(|facts| facts.contains("\"quiet_host\""))
        })
    };
    let deadline = Instant::now() + Duration::from_mins(5);
    while !has_fact() {
        assert!(Instant::now() < deadline, "no fact");
        thread::sleep(Duration::from_millis(10));
    }
    signal(&child, Signal::KILL);
    child.wait().expect("it ends");
    wait("the settings are not restored", &|now, value| now == value);
    home.assert_nothing_runs();
}
