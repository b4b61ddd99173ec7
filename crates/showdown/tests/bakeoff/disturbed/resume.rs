//! Runs that are interrupted and resumed, from end to end: complete blocks stay as they are, and the rest is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid};
use serde_json::Value;

use crate::home::{
    FEW_KEYS, TestHome, error_line, json, only_run, signal, skip, text, trials, while_settings_stay,
};

/// The variants of these tests: two of a server that starts at once.
const VARIANTS: [&str; 4] = ["memcached:threads=1", "memcached:threads=2", "--workload", FEW_KEYS];

/// Every file of a trial with its bytes.
fn files_of(trial: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(trial).expect("a trial").flatten().filter(|entry| entry.path().is_file()) {
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            fs::read(entry.path()).expect("a file"),
        );
    }
    files
}

fn begin(home: &TestHome, plan: &str) -> Child {
    home.showdown(&["run", plan]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("showdown runs")
}

/// Waits until the trial with this number is under way.
fn wait_for_trial(home: &TestHome, number: usize) {
    let deadline = Instant::now() + Duration::from_mins(3);
    let is_under_way = || {
        let run = fs::read_dir(home.path("runs")).into_iter().flatten().flatten();
        let mut run = run.map(|entry| entry.path()).filter(|path| path.join("plan.toml").is_file());
        run.next().is_some_and(|run| trials(&run).len() >= number)
    };
    while !is_under_way() {
        assert!(Instant::now() < deadline, "trial {number} does not begin");
        thread::sleep(Duration::from_millis(20));
    }
}

fn has_ended(trial: &Path) -> bool {
    trial.join("trial.json").is_file()
}

/// Resumes the only run; returns its verdict and its facts.
fn resume(home: &TestHome) -> (Value, Value) {
    let output = home.run(&["resume", "latest"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("resumed 20"), "{}", text(&output.stdout));
    home.assert_nothing_runs();
    let run = only_run(home);
    assert!(run.join("report.html").is_file());
    (json(&run.join("verdict.json")), json(&run.join("facts.json")))
}

/// The number of trials that the verdict has of each variant.
fn counted(verdict: &Value) -> Vec<u64> {
    let variants = verdict["variants"].as_array().expect("variants").iter();
    variants
        .map(|variant| variant["valid"].as_u64().unwrap_or(0) + variant["invalid"].as_u64().unwrap_or(0))
        .collect()
}

#[test]
fn a_killed_run_is_resumed_with_the_blocks_that_it_has() {
    let _machine = while_settings_stay();
    let home = TestHome::with_few_keys();
    let plan = home.small_plan(&VARIANTS);
    let mut child = begin(&home, &plan);
    wait_for_trial(&home, 4);
    signal(&child, Signal::KILL);
    child.wait().expect("it ended");
    home.assert_nothing_runs();

    let run = only_run(&home);
    let id = run.file_name().expect("a name").to_string_lossy().into_owned();
    for verb in [&["show"][..], &["list"]] {
        let shown = home.run(verb);
        let shown = text(&shown.stdout);
        assert!(shown.contains("showdown resume") && shown.contains("unfinished"), "{shown}");
    }
    let page = home.run(&["report", "latest", "--format", "md"]);
    assert!(text(&page.stdout).contains(&format!("showdown resume {id}")), "{}", text(&page.stdout));

    // The first block is complete; trial 3 is of the block that was cut.
    let before: Vec<_> = trials(&run)[..2].iter().map(|trial| files_of(trial)).collect();
    assert!(before.iter().all(|files| files.contains_key("trial.json")));
    let (verdict, facts) = resume(&home);
    let after: Vec<_> = trials(&run)[..2].iter().map(|trial| files_of(trial)).collect();
    assert!(before == after, "the trials of the first block are untouched");
    assert_eq!(verdict["complete"], true);
    assert!(counted(&verdict).iter().all(|trials| *trials >= 3), "{verdict}");
    assert!(verdict["caveats"].to_string().contains("resumed"), "{}", verdict["caveats"]);
    assert_eq!(facts["resumed"][0]["block"], 2);
    assert_eq!(facts["resumed"][0]["kept_trials"], 2);
    assert!(facts["workload"].to_string().contains("few-keys/workload.toml"), "{}", facts["workload"]);
    let shown = home.run(&["show", &id]);
    assert!(text(&shown.stdout).contains(" with block 2 after 2 kept trials"), "{}", text(&shown.stdout));

    let again = home.run(&["resume", &id]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        error_line(&again).contains("is finished, so nothing is left to resume"),
        "{}",
        error_line(&again)
    );
}

#[test]
fn a_run_that_is_resumed_obeys_the_condition_of_its_plan() {
    let _machine = while_settings_stay();
    let home = TestHome::with_few_keys();
    let plan = home.small_plan(&[&VARIANTS[..], &["--fail-if", "worse:3%"]].concat());
    let text_of_plan = fs::read_to_string(&plan).expect("a plan");
    assert!(text_of_plan.contains("fail_if = \"worse:3%\""), "{text_of_plan}");
    let mut child = begin(&home, &plan);
    wait_for_trial(&home, 3);
    signal(&child, Signal::KILL);
    child.wait().expect("it ended");
    home.assert_nothing_runs();
    let output = home.run(&["resume", "latest"]);
    let verdict = json(&only_run(&home).join("verdict.json"));
    let comparison = &verdict["comparisons"][0]["verdict"];
    // Which variant is the faster one is this machine's; what follows from it is not.
    let first_is_a = verdict["comparisons"][0]["a"] == verdict["variants"][0]["name"];
    let is_worse = comparison["higher"] == if first_is_a { "a" } else { "b" }
        && comparison["at_least"].as_f64().is_some_and(|at_least| at_least > 0.03);
    let is_inconclusive = comparison["outcome"] == "inconclusive";
    let expected = if is_worse {
        4
    } else if is_inconclusive {
        3
    } else {
        0
    };
    assert_eq!(output.status.code(), Some(expected), "{comparison} {}", text(&output.stderr));
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_says_what_becomes_of_the_rest() {
    let home = TestHome::with_few_keys();
    let child = begin(&home, &home.small_plan(&VARIANTS));
    wait_for_trial(&home, 1);
    // Two different ones: of two equal ones the kernel may deliver one.
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let line = error_line(&output);
    assert!(line.contains("interrupted again: it ends at once"), "{line}");
    home.assert_nothing_runs();
}

#[test]
fn a_run_interrupted_by_ctrl_c_is_resumed() {
    let _machine = while_settings_stay();
    let home = TestHome::with_few_keys();
    let plan = home.small_plan(&VARIANTS);
    let child = begin(&home, &plan);
    wait_for_trial(&home, 3);
    let too_early = home.run(&["resume", "latest"]);
    assert_eq!(too_early.status.code(), Some(1));
    assert!(error_line(&too_early).contains("is still running"), "{}", error_line(&too_early));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let run = only_run(&home);
    let id = run.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(
        text(&output.stderr).contains(&format!("interrupted: `showdown resume {id}` goes on")),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(json(&run.join("verdict.json"))["complete"], false);
    let command = format!("showdown resume {id}");
    for arguments in [&["list"][..], &["list", "--state", "interrupted"]] {
        let listed = text(&home.run(arguments).stdout);
        assert!(listed.contains("interrupted") && !listed.contains("finished"), "{listed}");
        assert!(listed.contains(&command), "{listed}");
    }
    assert!(!text(&home.run(&["list", "--state", "finished"]).stdout).contains(&id));
    let page = text(&home.run(&["report", &id, "--format", "md"]).stdout);
    assert!(page.contains(&command), "{page}");
    let (verdict, _) = resume(&home);
    assert_eq!(verdict["complete"], true);
    assert!(counted(&verdict).iter().all(|trials| *trials >= 3), "{verdict}");
    for trial in trials(&run) {
        assert!(json(&trial.join("trial.json"))["status"] != "interrupted", "{}", trial.display());
    }
}

/// Changes a value in the facts of the only run.
fn change_facts(home: &TestHome, change: impl FnOnce(&mut Value)) {
    let path = only_run(home).join("facts.json");
    let mut facts = json(&path);
    change(&mut facts);
    fs::write(path, facts.to_string()).expect("facts");
}

/// All of it on one measurement, which takes much longer than what is asserted of it.
#[test]
fn a_run_without_its_end_is_resumed_where_nothing_has_changed() {
    let _machine = while_settings_stay();
    let home = TestHome::with_few_keys();
    let output = home.run(&["run", &home.small_plan(&VARIANTS)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    a_run_that_has_all_trials_gets_the_same_verdict(&home);
    cut(&home);
    what_has_changed_since_the_beginning_is_named_and_can_be_accepted(&home);
    cut(&home);
    a_run_that_cannot_be_resumed_says_why(&home);
}

fn a_run_that_has_all_trials_gets_the_same_verdict(home: &TestHome) {
    let run = only_run(home);
    let mut before = json(&run.join("verdict.json"));
    // As if it had been killed before the last file.
    fs::remove_file(run.join("verdict.json")).expect("a verdict");
    let (mut after, _) = resume(home);
    for verdict in [&mut before, &mut after] {
        let verdict = verdict.as_object_mut().expect("an object");
        verdict.remove("reached_unix_ms");
        verdict.remove("caveats");
    }
    assert_eq!(before, after, "also the curves, which come from the load logs");
}

/// Cuts the last block of the only run.
fn cut(home: &TestHome) {
    let run = only_run(home);
    fs::remove_file(run.join("verdict.json")).expect("a verdict");
    let last = trials(&run).pop().expect("trials");
    fs::remove_dir_all(last).expect("a trial");
}

fn what_has_changed_since_the_beginning_is_named_and_can_be_accepted(home: &TestHome) {
    let original = fs::read(only_run(home).join("facts.json")).expect("facts");
    let refused = |home: &TestHome| -> String {
        let output = home.run(&["resume", "latest"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        error_line(&output)
    };
    change_facts(home, |facts| facts["host"]["kernel.release"] = "2.6.32".into());
    let why = refused(home);
    assert!(
        why.contains("host kernel.release was 2.6.32, now ") && why.contains("--accept-changes"),
        "{why}"
    );
    fs::write(only_run(home).join("facts.json"), &original).expect("facts");
    change_facts(home, |facts| facts["workload"]["few-keys/workload.toml"] = "0".into());
    assert!(refused(home).contains("workload file few-keys/workload.toml is not the same"));
    fs::write(only_run(home).join("facts.json"), &original).expect("facts");
    // A server is asked when its first trial has run; that trial does not count.
    change_facts(home, |facts| {
        for variant in facts["variants"].as_array_mut().expect("variants") {
            variant["version"] = "0.1".into();
        }
    });
    let why = refused(home);
    assert!(why.contains("memcached:threads=") && why.contains("version was 0.1, now 1."), "{why}");
    assert!(trials(&only_run(home)).iter().filter(|trial| has_ended(trial)).count() < 6);
    home.assert_nothing_runs();

    let output = home.run(&["resume", "latest", "--accept-changes"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let facts = json(&only_run(home).join("facts.json"));
    assert!(facts["resumed"].to_string().contains("version"), "{}", facts["resumed"]);
    let page = text(&home.run(&["report", "latest", "--format", "md"]).stdout);
    assert!(page.contains("version was 0.1, now 1."), "{page}");
}

fn a_run_that_cannot_be_resumed_says_why(home: &TestHome) {
    let none = home.run(&["resume", "20200101"]);
    assert!(error_line(&none).contains("no run matches"), "{}", error_line(&none));
    let run = only_run(home);
    let refused = |home: &TestHome, about: &str| {
        let output = home.run(&["resume", "latest"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(error_line(&output).contains(about), "{}", error_line(&output));
    };
    // The run of somebody else is code of somebody else.
    assert!(home.run(&["export", "latest", "-o", "run.tar.gz"]).status.success());
    assert!(home.run(&["import", "run.tar.gz", "--runs", "theirs"]).status.success());
    let imported = home.run(&["resume", "latest", "--runs", "theirs"]);
    assert_eq!(imported.status.code(), Some(2));
    let why = error_line(&imported);
    assert!(why.contains("the run was imported") && why.contains("pass --yes"), "{why}");

    let plan = fs::read_to_string(run.join("plan.toml")).expect("a plan");
    let first = trials(&run).remove(0);
    fs::write(run.join("plan.toml"), &plan[..plan.len() / 2]).expect("a plan");
    refused(home, "plan.toml");
    fs::write(run.join("plan.toml"), &plan).expect("a plan");
    let record = fs::read(first.join("trial.json")).expect("a record");
    fs::write(first.join("trial.json"), &record[..record.len() / 2]).expect("a record");
    refused(home, "trial.json: cut short");
    fs::remove_dir_all(&first).expect("a trial");
    refused(home, "an earlier trial is missing");
}

#[test]
fn an_answer_does_not_need_a_report() {
    let _machine = while_settings_stay();
    let home = TestHome::with_few_keys();
    let plan = home.small_plan(&VARIANTS);
    let running = home.showdown(&["run", &plan]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = running.expect("showdown runs");
    wait_for_trial(&home, 1);
    let in_the_way = only_run(&home).join("report.html");
    fs::create_dir(&in_the_way).expect("a folder where the report goes");
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(error_line(&output).contains("cannot write the report (the run is kept in"), "{output:?}");
    let answered = text(&output.stdout);
    assert!(answered.contains("valid trials") || answered.contains("\"comparisons\""), "{answered}");
}

/// Runs a script as root of a name space of its own in which `runs` is a disk of 300 KB.
fn on_small_disk(home: &TestHome, script: &str) -> Option<Output> {
    let disk = home.path("runs");
    fs::create_dir_all(&disk).expect("a directory");
    let sh = |script: &str| {
        let mut command = Command::new("unshare");
        home.at_home(command.args(["--mount", "sh", "-c", script])).output()
    };
    let mount = format!("mount -t tmpfs -o size=300k disk {}", disk.display());
    // A container may forbid mounts.
    sh(&mount).ok().filter(|output| output.status.success())?;
    Some(sh(&format!("{mount} && {script}")).expect("a shell"))
}

#[test]
fn a_run_that_filled_the_disk_is_resumed_after_room_is_made() {
    let _machine = while_settings_stay();
    if !geteuid().is_root() {
        return skip("only root may mount a small disk on which servers start");
    }
    let home = TestHome::with_few_keys();
    home.small_plan(&VARIANTS);
    let (showdown, runs) = (env!("CARGO_BIN_EXE_showdown"), home.path("runs"));
    let script = format!(
        "{showdown} run plan.toml --progress none > first 2>&1; echo $? >> first; \
         mount -o remount,size=64m {runs}; {showdown} resume latest --progress none > second 2>&1; echo $? >> second; \
         cp -r {runs} copy",
        runs = runs.display()
    );
    if on_small_disk(&home, &script).is_none() {
        return skip("this container forbids mounts");
    }
    let read = |name: &str| fs::read_to_string(home.path(name)).expect("output");
    let first = read("first");
    assert!(first.ends_with("\n1\n") && first.contains("the disk is full: free some space"), "{first}");
    assert!(first.contains("; then `showdown resume 20"), "{first}");
    let second = read("second");
    assert!(second.ends_with("\n0\n") || second.ends_with("\n3\n"), "{second}");
    let copy = fs::read_dir(home.path("copy")).expect("a copy").flatten().map(|entry| entry.path());
    let run = copy.into_iter().find(|path| path.join("plan.toml").is_file()).expect("a run");
    assert!(counted(&json(&run.join("verdict.json"))).iter().all(|trials| *trials >= 3));
}
