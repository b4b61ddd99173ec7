//! Short comparisons of the embedded key-value stores.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

use crate::home::{SHORT, TestHome, json, only_run, records_of_runners, text, trials};

const SMALL: &str = "threads=4,records=1000";

#[test]
fn stores_are_compared() {
    let home = TestHome::new();
    let variants = ["sqlite", "lmdb", "rocksdb", "je"].map(|store| format!("{store}:{SMALL}"));
    // Each store commits some updates, also on a busy disk.
    let output = home.run(&["run", &home.longer_plan(&variants.each_ref().map(String::as_str))]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let facts = json(&run.join("facts.json"));
    for (at, version) in
        ["SQLite 3.", "LMDB 0.9.", "RocksDB ", "Berkeley DB Java Edition 18.3.12, openjdk"].iter().enumerate()
    {
        let message = facts["variants"][at]["version"].as_str().expect("a version");
        assert!(message.starts_with(version), "{message}");
        // The directory differs between trials, which is no difference between the variants.
        assert_eq!(facts["variants"][at]["knobs"]["directory"], "{{ dir }}");
        assert_eq!(facts["variants"][at]["knobs"]["threads"], 4);
    }
    for record in records_of_runners(&run) {
        let phase = &record["phases"][0];
        for (at, name) in ["search", "update"].into_iter().enumerate() {
            assert_eq!(phase["operations"][at]["name"], name);
            assert!(phase["operations"][at]["requests"].as_u64().is_some_and(|count| count > 0), "{phase}");
        }
        assert_eq!(phase["errors"], serde_json::json!({}));
        // How many it had when it was looked at: on a busy machine not yet all, or not any more.
        assert!(record["server"]["threads"].as_u64().is_some_and(|threads| threads > 0), "{record}");
    }
}

#[test]
fn the_data_of_a_store_is_removed_after_its_trial() {
    let home = TestHome::new();
    let elsewhere = home.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let variant = |store: &str| format!("{store}:{SMALL},directory={}", elsewhere.display());
    let plan = home.small_plan(&[&variant("sqlite"), &variant("lmdb"), "--on-op", "search"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

#[test]
fn a_sweep_over_threads_has_a_scalability_curve() {
    let home = TestHome::new();
    let sweep = ["sweep", "lmdb:records=1000", "--vary", "threads=1..8", "--on-op", "search"];
    let plan = home.plan(&[&sweep[..], &["--blocks", "1"]].concat(), SHORT);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let verdict = json(&only_run(&home).join("verdict.json"));
    let points = verdict["variants"].as_array().expect("a list");
    assert_eq!(points.len(), 4);
    // On a busy machine no short trial may reach the steady state, and then there is no curve.
    let law = &verdict["curves"][0]["usl"]["outcome"];
    let is_drawn = points.iter().any(|point| point["valid"].as_u64() > Some(0));
    assert_eq!(law == "fitted" || law == "refused", is_drawn, "{verdict}");
}

/// Starts a runner without a workload.
fn runner(home: &TestHome, args: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = home.showdown(&[&["runner", "kv"][..], args].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("showdown");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, stdout)
}

#[test]
fn latches_are_shared_where_the_version_supports_it() {
    let home = TestHome::new();
    let variant =
        |version: &str, shared: bool| format!("je:{SMALL},heap=64,version={version},shared_latches={shared}");
    let variants = [variant("5.0.73", true), variant("5.0.73", false)];
    let plan = home.small_plan(&[&variants[0], &variants[1], "--on-op", "search"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    let run = only_run(&home);
    let command = |trial: &Path| fs::read_to_string(trial.join("config/command")).expect("the command");
    assert!(trials(&run).iter().any(|trial| command(trial).contains("--shared-latches=false")));
    for record in records_of_runners(&run) {
        assert_eq!(record["phases"][0]["errors"], serde_json::json!({}));
    }

    let plan = home.small_plan(&[&variant("18.3.12", false), &variant("18.3.12", true)]);
    let output = home.run(&["run", &plan, "--runs", "refused"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("use version=5.0.73"), "{}", text(&output.stderr));
}

#[test]
fn a_missing_part_of_a_store_is_reported_with_its_package() {
    let home = TestHome::new();
    for (args, why) in [
        (&["je", "--cache=."][..], "there is no program javac: apt install default-jdk-headless"),
        (&["rocksdb", "--library=nowhere.so"], "cannot load nowhere.so: "),
        (&["rocksdb", "--library=nowhere.so"], ": apt install librocksdb-dev"),
    ] {
        let mut command = home.showdown(&[&["runner", "kv"], args, &["--directory=."]].concat());
        let output = command.env("PATH", "/nowhere").output().expect("showdown");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}

/// Each store with its further options.
fn stores() -> [(&'static str, String); 4] {
    let plain = |store| (store, String::new());
    // Compiled once for all tests, in a directory to which no test's limit on file lengths applies.
    let je = format!("--heap-mb=64 --cache={}", env!("CARGO_TARGET_TMPDIR"));
    [plain("sqlite"), plain("lmdb"), plain("rocksdb"), ("je", je)]
}

/// Runs a script in a shell that ignores SIGXFSZ, so that writes beyond the limit on file lengths fail with EFBIG.
fn without_signal(home: &TestHome, script: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; {script}")])
        .current_dir(home.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell")
}

const SHOWDOWN: &str = env!("CARGO_BIN_EXE_showdown");

#[test]
fn a_disk_too_small_for_the_records_is_reported() {
    for (store, further) in stores() {
        let home = TestHome::new();
        // The first start compiles the store.
        let ready =
            without_signal(&home, &format!("{SHOWDOWN} runner kv {store} --directory=data {further}"));
        assert!(ready.wait_with_output().expect("it ends").status.success(), "{store}");
        // The limit is in blocks of 512 bytes; beyond it a write fails as on a full disk.
        let script = format!(
            "ulimit -f 2000; exec {SHOWDOWN} runner kv {store} --directory=data {further} --records=10000 \
             --value-bytes=1000"
        );
        let output = without_signal(&home, &script).wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        let message = text(&output.stderr);
        assert!(message.contains("cannot store 10000 records: "), "{store}: {message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_disk_that_fills_during_a_run_is_counted_and_reported() {
    for (store, further) in stores() {
        let home = TestHome::new();
        let script =
            format!("exec {SHOWDOWN} runner kv {store} --directory=data {further} --records=100 --threads=2");
        let mut child = without_signal(&home, &script);
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut line = || Some(serde_json::from_str::<Value>(&lines.next()?).expect("JSON"));
        assert_eq!(line().expect("a line")["runner"], 1);
        writeln!(stdin, "start 20 1 update=1").expect("it reads");
        // A commit to a slow disk may take longer than the first intervals.
        let works = std::iter::from_fn(&mut line)
            .take(50)
            .any(|line| line["operations"]["update"]["histogram"].is_string());
        assert!(works, "{store} completes no update");
        let limit = Rlimit { current: Some(0), maximum: Some(0) };
        prlimit(Some(Pid::from_child(&child)), Resource::Fsize, limit).expect("a limit");
        let errors = std::iter::from_fn(&mut line)
            .find_map(|line| line["operations"]["update"]["errors"].as_object().cloned());
        if let Some(errors) = errors {
            assert!(errors.values().all(|count| count.as_u64() > Some(0)), "{store}: {errors:?}");
            writeln!(stdin, "stop").expect("it reads");
            assert!(std::iter::from_fn(&mut line).any(|line| line["stopped"].is_number()), "{store}");
            drop(stdin);
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{store}: {}", text(&output.stderr));
            assert!(!home.path("data/showdown-kv").exists(), "{store}");
        } else {
            // Debian compiles RocksDB with assertions, and one of them aborts it here.
            assert_eq!(store, "rocksdb");
            let output = child.wait_with_output().expect("it ends");
            assert!(text(&output.stderr).contains("Assertion"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_runner_ends_with_its_input_and_reports_unknown_commands() {
    let home = TestHome::new();
    let directory = format!("--directory={}", home.path("data").display());
    let (mut child, mut stdout) = runner(&home, &["lmdb", &directory, "--records=100"]);
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line.trim(), r#"{"runner":1}"#);
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "start 20 1 search=1 update=1").expect("it reads");
    let has_search = |line: &str| {
        let interval: Value = serde_json::from_str(line).expect("JSON");
        interval["operations"]["search"]["histogram"].is_string()
    };
    // On a busy disk, an interval may contain only one slow update.
    while !has_search(&line) {
        line.clear();
        assert!(
            stdout.read_line(&mut line).expect("a line") > 0,
            "the runner exited before an interval with a search"
        );
    }
    writeln!(stdin, "stop").expect("it reads");
    while !line.starts_with(r#"{"operations":{"#) || !line.contains("stopped") {
        line.clear();
        assert!(stdout.read_line(&mut line).expect("a line") > 0, "it ended without a stopped line");
    }
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    assert!(!home.path("data/showdown-kv").exists());

    for (words, why) in [
        ("go\n", "\"go\" is not a runner command"),
        ("start 20 1 scan=1\n", "there is no operation \"scan\""),
    ] {
        let (mut child, _stdout) = runner(&home, &["lmdb", &directory, "--records=100"]);
        child.stdin.take().expect("a pipe").write_all(words.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}
