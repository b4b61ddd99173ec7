//! Verbs on runs of the archive: which run a name means, what is removed, and what has changed on this host since.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const COMPARISON: &str = "20261122T054315Z-nginx-apache-8b42";
const SWEEP: &str = "20261122T054610Z-memcached-0280";

/// A directory with two runs in `runs`.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a directory"));
        for (fixture, id) in [("comparison", COMPARISON), ("sweep", SWEEP)] {
            let file = format!("{}/../archive/tests/format-1/{fixture}.tar.gz", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(text(&home.run(&["import", &file]).stdout).trim(), id);
        }
        home
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null()).output().expect("showdown runs")
    }

    fn dir(&self, id: &str) -> PathBuf {
        self.0.path().join("runs").join(id)
    }

    /// The runs that are there.
    fn runs(&self) -> Vec<&'static str> {
        [COMPARISON, SWEEP].into_iter().filter(|id| self.dir(id).join("plan.toml").is_file()).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Fails unless the command failed with one line that contains each of the texts.
fn assert_refused(output: &Output, texts: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{message}");
    assert!(output.stdout.is_empty(), "{output:?}");
    for text in texts {
        assert!(message.contains(text), "{text} is not in {message}");
    }
}

#[test]
fn a_part_of_an_id_removes_nothing() {
    let home = Home::new();
    for part in ["nginx", "8b42", "0261122T054315Z", "Z", "", "*", "runs", "."] {
        assert_refused(&home.run(&["rm", part]), &["nothing was removed", "showdown list"]);
    }
    // What only reads takes any part that one run has.
    assert!(home.run(&["show", "nginx"]).status.success());
    // A part of an id that is no server, where servers can be named, too.
    assert_refused(&home.run(&["explain", "Z-"]), &["matches 2 runs", COMPARISON, SWEEP]);
    let neither = home.run(&["explain", "apache-8b43"]);
    assert!(text(&neither.stderr).contains("no workload has a server \"apache-8b43\""), "{neither:?}");
    assert_eq!(home.runs(), [COMPARISON, SWEEP]);
}

#[test]
fn an_ambiguous_name_lists_the_runs_that_it_matches() {
    let home = Home::new();
    for verb in ["rm", "show", "report", "export"] {
        let refused = home.run(&[verb, "20261122T054"]);
        assert_refused(&refused, &["20261122T054", "matches 2 runs", COMPARISON, SWEEP, "type more"]);
    }
    assert_eq!(home.runs(), [COMPARISON, SWEEP]);
}

#[test]
fn all_names_are_resolved_before_a_run_is_removed() {
    let home = Home::new();
    for wrong in ["20269999", "nginx", "2026"] {
        let refused = home.run(&["rm", "20261122T0543", wrong]);
        assert_refused(&refused, &[wrong]);
        assert_eq!(home.runs(), [COMPARISON, SWEEP]);
    }
    let refused = home.run(&["rm", COMPARISON, "latest"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("give the id, or its beginning"), "{refused:?}");
    // A run that is being written: its writer has locked the directory.
    let writer = std::fs::File::open(home.dir(SWEEP)).expect("a directory");
    writer.lock().expect("this test has the lock");
    assert_refused(&home.run(&["rm", COMPARISON, SWEEP]), &[SWEEP, "still running"]);
    assert_eq!(home.runs(), [COMPARISON, SWEEP]);
}

#[test]
fn what_was_removed_is_printed() {
    let home = Home::new();
    let removed = home.run(&["rm", "20261122T0543", COMPARISON]);
    assert!(removed.status.success(), "{removed:?}");
    assert_eq!(text(&removed.stdout), format!("removed {COMPARISON}\n"), "once, though named twice");
    assert_eq!(home.runs(), [SWEEP]);
    // Now this beginning is unique.
    assert_eq!(text(&home.run(&["rm", "2026"]).stdout), format!("removed {SWEEP}\n"));
    assert_eq!(home.runs(), Vec::<&str>::new());
}

#[test]
fn the_facts_of_this_host_are_compared_with_those_of_a_run() {
    let home = Home::new();
    let json = |args: &[&str]| -> Value {
        let output = home.run(&[&["facts", "--format", "json"], args].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let now = json(&[]);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    assert_eq!(now["facts"]["kernel.release"], release.trim());
    assert!(now.get("since").is_none(), "{now}");

    let file = home.dir(COMPARISON).join("facts.json");
    let mut recorded: Value = serde_json::from_slice(&std::fs::read(&file).expect("facts")).expect("JSON");
    recorded["host"] = now["facts"].clone();
    recorded["host"]["kernel.release"] = "2.6.9".into();
    std::fs::write(&file, recorded.to_string()).expect("a file");
    let since = json(&["--since", "nginx"])["since"].clone();
    assert_eq!(since["run"], COMPARISON);
    let changes = since["changes"].as_array().expect("changes");
    let of_release: Vec<&Value> =
        changes.iter().filter(|change| change["fact"] == "kernel.release").collect();
    let [change] = of_release[..] else { panic!("{since}") };
    assert_eq!((&change["was"], &change["is"]), (&"2.6.9".into(), &release.trim().into()));
    let printed = text(&home.run(&["facts", "--since", "nginx"]).stdout);
    assert!(printed.contains(&format!("kernel.release: 2.6.9 → {}", release.trim())), "{printed}");

    std::fs::remove_file(&file).expect("it was there");
    assert_refused(&home.run(&["facts", "--since", "nginx"]), &[COMPARISON, "no facts", "name another run"]);
    assert_refused(&home.run(&["facts", "--since", "apache2"]), &["apache2"]);
}

/// `tune` was killed after hours: what it has measured becomes a run.
#[test]
fn a_search_that_was_killed_is_kept_by_reindex() {
    let home = tempfile::tempdir().expect("a directory");
    let search = home.path().join("runs/.tuning-a1b2");
    let id = archive::example::comparison(&search, 1).expect("a run");
    let reindex = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(["archive", "reindex"]).current_dir(home.path()).output().expect("showdown runs")
    };
    let output = reindex();
    assert!(output.status.success(), "{output:?}");
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(note.contains("what a search that was killed has measured is kept in "), "{note}");
    assert!(home.path().join("runs").join(id.as_str()).join("verdict.json").is_file() && !search.exists());
    assert!(reindex().stderr.is_empty(), "once");
}
