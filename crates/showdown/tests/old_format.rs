//! Runs that an earlier version wrote can be listed, shown, reported, exported and repeated.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use archive::model::Plan;

const COMPARISON: &str = "20261122T054315Z-nginx-apache-8b42";
const SWEEP: &str = "20261122T054610Z-memcached-0280";

/// A directory with both runs of format 1.
struct OldRuns {
    dir: tempfile::TempDir,
}

impl OldRuns {
    fn new() -> Self {
        let runs = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        for (fixture, id) in [("comparison", COMPARISON), ("sweep", SWEEP)] {
            let file = format!("{}/../archive/tests/format-1/{fixture}.tar.gz", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(runs.showdown(&["import", &file]).trim(), id);
        }
        runs
    }

    /// The standard output of a command that succeeds.
    fn showdown(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_showdown"))
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .expect("showdown runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("runs").join(name)
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn runs_of_format_1_are_listed_and_shown() {
    let runs = OldRuns::new();
    let list = runs.showdown(&["list"]);
    assert!(list.contains(COMPARISON) && list.contains(SWEEP), "{list}");
    let shown = runs.showdown(&["show", COMPARISON]);
    assert!(shown.contains("\n\nInconclusive: ") && shown.contains("6 of 6"), "{shown}");
    assert!(
        shown.starts_with("Imported run: nobody has checked its numbers."),
        "it was measured elsewhere: {shown}"
    );
    assert!(!shown.contains("problem"), "{shown}");
}

#[test]
fn reports_of_format_1_have_all_values() {
    let runs = OldRuns::new();
    for (id, rows) in [(COMPARISON, 12), (SWEEP, 39)] {
        let report = |format| runs.showdown(&["report", id, "--format", format]);
        report("html");
        let page = read(&runs.path(id).join("report.html"));
        assert!(page.contains("\"response_time_curve_us\":[[") && page.contains("\"saturated\":{"), "{id}");
        assert!(!page.contains("\"looked_at\""), "{id}: the page has a name of format 1");
        let csv = report("csv");
        assert_eq!(csv.lines().count(), 1 + rows, "{id}");
        assert!(report("md").contains(id));
        let json: serde_json::Value = serde_json::from_str(&report("json")).expect("JSON");
        assert_eq!(json["trials"].as_array().map(Vec::len), Some(rows));
        assert_eq!(json["verdict"]["format"], 2);
        assert!(json["trials"][0]["phases"][0]["response_time_us"]["p99"].as_u64() > Some(0));
    }
}

#[test]
fn a_plan_of_format_1_can_be_run() {
    let runs = OldRuns::new();
    for (id, workload) in [(COMPARISON, "tls"), (SWEEP, "cache")] {
        let text = read(&runs.path(id).join("plan.toml"));
        assert!(text.starts_with("format = 1\n"), "{text}");
        // The path of the workload is relative to the directory of the first run.
        let text = text.replace(&format!("workloads/{workload}/workload.toml"), workload);
        let plan: Plan = text.parse().expect("a plan");
        bakeoff::check(&plan).expect("a plan that can be run");

        // `run` checks the plan before it starts a server.
        fs::write(runs.dir.path().join("plan.toml"), text.replace("spare_blocks = ", "spare_blocks = 9999"))
            .expect("a plan");
        let output = Command::new(env!("CARGO_BIN_EXE_showdown"))
            .args(["run", "plan.toml"])
            .current_dir(runs.dir.path())
            .stdin(Stdio::null())
            .output()
            .expect("showdown runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("1000") || message.contains("1,000"), "{message}");
    }
}

#[test]
fn a_run_of_format_1_is_exported_and_imported() {
    let runs = OldRuns::new();
    runs.showdown(&["export", COMPARISON, "-o", "run.tar.gz"]);
    runs.showdown(&["rm", COMPARISON]);
    runs.showdown(&["import", "run.tar.gz"]);
    let shown = runs.showdown(&["show", COMPARISON]);
    assert!(shown.contains("\n\nInconclusive: "), "{shown}");
}
