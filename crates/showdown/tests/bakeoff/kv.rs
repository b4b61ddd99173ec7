//! The embedded stores, in small.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

use crate::home::{Home, SHORT, json, only_run, text, trials};

const SMALL: &str = "threads=4,records=1000";

#[test]
fn stores_are_compared() {
    let home = Home::new();
    let variants = ["sqlite", "lmdb", "rocksdb", "je"].map(|store| format!("{store}:{SMALL}"));
    let output = home.run(&["run", &home.small_plan(&variants.each_ref().map(String::as_str))]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let facts = json(&run.join("facts.json"));
    for (at, version) in
        ["SQLite 3.", "LMDB 0.9.", "RocksDB ", "Berkeley DB Java Edition 18.3.12, openjdk"].iter().enumerate()
    {
        let said = facts["variants"][at]["version"].as_str().expect("a version");
        assert!(said.starts_with(version), "{said}");
        // Each trial's is another, which is no difference between the sides.
        assert_eq!(facts["variants"][at]["knobs"]["directory"], "{{ dir }}");
    }
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let phase = &record["phases"][0];
        for (at, name) in ["search", "update"].into_iter().enumerate() {
            assert_eq!(phase["operations"][at]["name"], name);
            assert!(phase["operations"][at]["requests"].as_u64().is_some_and(|count| count > 10), "{phase}");
        }
        assert_eq!(phase["errors"], serde_json::json!({}));
        assert!(
            record["server"]["threads"].as_u64().is_some_and(|threads| threads >= 4),
            "{}",
            record["server"]
        );
    }
}

#[test]
fn a_store_s_data_is_gone_with_it() {
    let home = Home::new();
    let elsewhere = home.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let variant = |store: &str| format!("{store}:{SMALL},directory={}", elsewhere.display());
    let plan = home.small_plan(&[&variant("sqlite"), &variant("lmdb"), "--on-op", "search"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

#[test]
fn a_sweep_over_threads_has_a_law() {
    let home = Home::new();
    let sweep = ["sweep", "lmdb:records=1000", "--vary", "threads=1..8", "--on-op", "search"];
    let plan = home.plan(&[&sweep[..], &["--blocks", "1"]].concat(), SHORT);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let verdict = json(&only_run(&home).join("verdict.json"));
    let points = verdict["variants"].as_array().expect("a list");
    assert_eq!(points.len(), 4);
    // On a machine that is busy with other things no trial of a second may settle, and then there is no curve.
    let law = &verdict["curves"][0]["usl"]["outcome"];
    let is_drawn = points.iter().any(|point| point["valid"].as_u64() > Some(0));
    assert_eq!(law == "fitted" || law == "refused", is_drawn, "{verdict}");
}

/// A runner by hand.
fn runner(home: &Home, args: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
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
fn latches_are_shared_or_not_where_the_version_knows_how() {
    let home = Home::new();
    let variant =
        |version: &str, shared: bool| format!("je:{SMALL},heap=64,version={version},shared_latches={shared}");
    let variants = [variant("5.0.73", true), variant("5.0.73", false)];
    let plan = home.small_plan(&[&variants[0], &variants[1], "--on-op", "search"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    let run = only_run(&home);
    let command = |trial: &Path| fs::read_to_string(trial.join("config/command")).expect("the command");
    assert!(trials(&run).iter().any(|trial| command(trial).contains("--shared-latches=false")));
    for trial in trials(&run) {
        assert_eq!(json(&trial.join("trial.json"))["phases"][0]["errors"], serde_json::json!({}));
    }

    let plan = home.small_plan(&[&variant("18.3.12", false), &variant("18.3.12", true)]);
    let output = home.run(&["run", &plan, "--runs", "refused"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("use version=5.0.73"), "{}", text(&output.stderr));
}

#[test]
fn what_a_store_needs_and_is_missing_is_told_with_its_package() {
    let home = Home::new();
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

/// Each store with what it needs beside the records.
fn stores() -> [(&'static str, String); 4] {
    let plain = |store| (store, String::new());
    // Compiled once for all tests, and not below the limit of a file's length that some set.
    let je = format!("--heap-mb=64 --cache={}", env!("CARGO_TARGET_TMPDIR"));
    [plain("sqlite"), plain("lmdb"), plain("rocksdb"), ("je", je)]
}

/// A runner under a shell that lets writes fail that are refused for the length of the file.
fn without_signal(home: &Home, script: &str) -> Child {
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
fn a_disk_too_small_for_the_records_is_told() {
    for (store, further) in stores() {
        let home = Home::new();
        // So that it is compiled.
        let ready =
            without_signal(&home, &format!("{SHOWDOWN} runner kv {store} --directory=data {further}"));
        assert!(ready.wait_with_output().expect("it ends").status.success(), "{store}");
        // No file may become larger than this many blocks of 512 bytes: what a disk of that size says.
        let script = format!(
            "ulimit -f 2000; exec {SHOWDOWN} runner kv {store} --directory=data {further} --records=10000 \
             --value-bytes=1000"
        );
        let output = without_signal(&home, &script).wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.contains("cannot store 10000 records: "), "{store}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_disk_that_becomes_full_in_a_run_is_counted_and_told() {
    for (store, further) in stores() {
        let home = Home::new();
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
        assert!(works, "{store} updates nothing");
        let limit = Rlimit { current: Some(0), maximum: Some(0) };
        prlimit(Some(Pid::from_child(&child)), Resource::Fsize, limit).expect("a limit");
        let told = std::iter::from_fn(&mut line)
            .find_map(|line| line["operations"]["update"]["errors"].as_object().cloned());
        if let Some(errors) = told {
            assert!(errors.values().all(|count| count.as_u64() > Some(0)), "{store}: {errors:?}");
            writeln!(stdin, "stop").expect("it reads");
            assert!(std::iter::from_fn(&mut line).any(|line| line["stopped"].is_number()), "{store}");
            drop(stdin);
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{store}: {}", text(&output.stderr));
            assert!(!home.path("data/showdown-kv").exists(), "{store}");
        } else {
            // Debian's RocksDB is compiled with its assertions, one of which ends it here.
            assert_eq!(store, "rocksdb");
            let output = child.wait_with_output().expect("it ends");
            assert!(text(&output.stderr).contains("Assertion"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_runner_ends_with_its_input_and_tells_what_it_does_not_understand() {
    let home = Home::new();
    let directory = format!("--directory={}", home.path("data").display());
    let (mut child, mut stdout) = runner(&home, &["lmdb", &directory, "--records=100"]);
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line.trim(), r#"{"runner":1}"#);
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "start 20 1 search=1 update=1").expect("it reads");
    line.clear();
    stdout.read_line(&mut line).expect("a line");
    let interval: Value = serde_json::from_str(&line).expect("JSON");
    assert!(interval["operations"]["search"]["histogram"].is_string(), "{line}");
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
