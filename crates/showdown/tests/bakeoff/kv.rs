//! The embedded stores, in small.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::home::{Home, json, only_run, text, trials};

const SMALL: &str = "threads=4,records=1000";

#[test]
fn stores_are_compared() {
    let home = Home::new();
    let variants = [format!("sqlite:{SMALL}"), format!("lmdb:{SMALL}")];
    let output = home.run(&["run", &home.small_plan(&[&variants[0], &variants[1]])]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let facts = json(&run.join("facts.json"));
    let versions = [0, 1].map(|at| facts["variants"][at]["version"].as_str().expect("a version").to_owned());
    assert!(versions[0].starts_with("SQLite 3.") && versions[1].starts_with("LMDB 0.9."), "{versions:?}");
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
    let sweep =
        ["plan", "sweep", "lmdb:records=1000", "--vary", "threads=1..8", "--on-op", "search", "--quick"];
    let plan = home.run(&[&sweep[..], &["--blocks", "1"]].concat());
    assert!(plan.status.success(), "{}", text(&plan.stderr));
    let shorter = text(&plan.stdout).replace("1s 200ms", "600ms").replace("most = \"10s\"", "most = \"1s\"");
    fs::write(home.path("plan.toml"), shorter).expect("a plan");
    let output = home.run(&["run", "plan.toml"]);
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
fn a_disk_that_is_full_is_told_and_counted() {
    for store in ["sqlite", "lmdb"] {
        let home = Home::new();
        let directory = home.path("data").display().to_string();
        // No file may become larger than this many blocks of 512 bytes: what a disk of that size says.
        let limited = |blocks: u32, records: u32| {
            let showdown = env!("CARGO_BIN_EXE_showdown");
            let script = format!(
                "trap '' XFSZ; ulimit -f {blocks}; exec {showdown} runner kv {store} --directory={directory} \
                 --records={records} --hot={records} --value-bytes=1000 --threads=2"
            );
            std::process::Command::new("sh")
                .args(["-c", &script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("a shell")
        };
        let output = limited(2_000, 10_000).wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.contains("cannot store 10000 records") && said.lines().count() == 1, "{store}: {said}");
        assert!(output.stdout.is_empty());
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

    for (words, why) in
        [("go\n", "\"go\" is no word to a runner"), ("start 20 1 scan=1\n", "there is no operation \"scan\"")]
    {
        let (mut child, _stdout) = runner(&home, &["lmdb", &directory, "--records=100"]);
        child.stdin.take().expect("a pipe").write_all(words.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}
