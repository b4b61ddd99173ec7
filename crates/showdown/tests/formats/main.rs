//! docs/FORMATS.md has every key that the program writes, with its type, and no other.
//!
//! The section on `showdown load --format json` is tested in the crate `load`.

mod concurrency;
mod costs;
mod documents;
mod explanations;
mod hosts;
mod page;
mod plans;
mod power;
mod selftests;
mod tuning_record;
mod tunings;
mod verdict_documents;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use archive::model::ExplanationBasis;
use archive::{Archive, Query};
use page::{Page, quoted};
use serde_json::Value;

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("plain data")
}

#[test]
fn the_files_of_a_run_are_documented() {
    let page = Page::read();
    page.assert_documents("plan.toml", &plans::plans().iter().map(json).collect::<Vec<_>>());
    page.assert_documents("facts.json", &[json(&documents::facts())]);
    page.assert_documents("trial.json", &documents::trials().iter().map(json).collect::<Vec<_>>());
    page.assert_documents("verdict.json", &[json(&verdict_documents::verdict())]);
    let explanations = [ExplanationBasis::Study, ExplanationBasis::Trials].map(explanations::explanation);
    page.assert_documents("explanation.json", &explanations.map(|explanation| json(&explanation)));
    page.assert_documents("concurrency.json", &[json(&concurrency::concurrency())]);
    page.assert_documents("showdown.columns", &[json(&documents::column())]);
}

#[test]
fn the_selftest_is_documented() {
    let page = Page::read();
    let reports: Vec<Value> = selftests::selftests().iter().map(json).collect();
    page.assert_documents("`showdown selftest --format json`", &reports);
    let reports: Vec<Value> = selftests::selftests_of_clients().iter().map(json).collect();
    page.assert_documents("`showdown selftest --clients --format json`", &reports);
    page.assert_documents("The account of a known server", &[json(&selftests::account())]);
}

#[test]
fn the_survey_of_hosts_is_documented() {
    let page = Page::read();
    page.assert_documents("`showdown hosts --format json`", &[json(&hosts::hosts_report())]);
}

#[test]
fn the_findings_of_the_doctor_are_documented() {
    Page::read().assert_documents("`showdown doctor --format json`", &hosts::doctor_findings());
}

#[test]
fn the_facts_of_this_host_are_documented() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/format-1/comparison.tar.gz");
    let id = Archive::new(root.path()).import(&fixture).expect("a run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
    command.args(["facts", "--format", "json", "--since", id.as_str(), "--runs"]).arg(root.path());
    let output = command.output().expect("showdown runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    Page::read().assert_documents("`showdown facts --format json`", &[answer]);
}

#[test]
fn what_runs_have_left_is_documented() {
    let left = tempfile::tempdir().expect("a temporary directory");
    let killed = left.path().join("showdown-killed");
    std::fs::create_dir(&killed).expect("a directory");
    std::fs::write(killed.join(".showdown-scratch"), "").expect("its marker");
    let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
    let output = command.args(["clean", "--format", "json"]).env("TMPDIR", left.path()).output();
    let answer: Value = serde_json::from_slice(&output.expect("showdown runs").stdout).expect("JSON");
    Page::read().assert_documents("`showdown clean --format json`", &[answer]);
}

#[test]
fn the_events_of_a_run_are_documented() {
    let mut written: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in documents::events() {
        let Value::Object(mut fields) = json(&event) else { panic!("{event:?} is not an object") };
        let name = fields.remove("event").expect("the name of the event");
        written.insert(name.as_str().expect("text").to_owned(), fields.keys().cloned().collect());
    }
    assert_eq!(Page::read().events("Progress of a run: `--progress json`"), written);
}

#[test]
fn lists_and_reports_are_documented() {
    let page = Page::read();
    let root = tempfile::tempdir().expect("a temporary directory");
    let archive = Archive::new(root.path());
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/format-1");
    let id = archive.import(&fixtures.join("sweep.tar.gz")).expect("a run");
    let mut run = archive.open(id.as_str()).expect("a run");
    let listed = json(&archive.list(&Query::default()).expect("a list"));
    let mut list = listed.as_array().expect("a list").clone();
    list.extend(documents::run_states().map(|state| {
        let mut other = list[0].clone();
        other["state"] = json(&state);
        other
    }));
    page.assert_documents("`showdown list --format json`", &list);

    run.problems.push(documents::problem());
    let mut reports = Vec::new();
    for state in documents::run_states() {
        run.state = state;
        let report = report::json(&run).expect("a report");
        reports.push(serde_json::from_str(&report).expect("JSON"));
    }
    run.explanation = Some(explanations::explanation(ExplanationBasis::Trials));
    run.concurrency = Some(concurrency::concurrency());
    run.sessions = Some(verdict_documents::sessions());
    page.assert_documents("Sessions of a plan", &[json(&verdict_documents::sessions())]);
    let report = report::json(&run).expect("a report");
    reports.push(serde_json::from_str(&report).expect("JSON"));
    reports.push(metered_report(root.path()));
    page.assert_documents("The JSON report", &reports);

    let documented = documented_columns(&page, "Columns of the CSV report of transfers");
    assert_eq!(columns(&run), documented);
    run.concurrency = None;
    let axes = BTreeSet::from(["connections".to_owned(), "threads".to_owned()]);
    let mut of_trials: BTreeSet<String> = columns(&run).difference(&axes).cloned().collect();
    of_trials.extend(columns_of_a_meter(root.path()));
    assert_eq!(of_trials, documented_columns(&page, "Columns of the CSV report"));
    run.trials.clear();
    run.explanation = Some(explanations::explanation(ExplanationBasis::Study));
    let documented = documented_columns(&page, "Columns of the CSV report of an explanation");
    assert_eq!(columns(&run), documented);
}

/// A run with meters.
fn metered(root: &Path) -> archive::Run {
    let id = archive::example::metered_comparison(root, 2, &[1.0], None).expect("a run");
    Archive::new(root).open(id.as_str()).expect("a run")
}

/// The JSON report of a run with meters. The content of its documents is described elsewhere.
fn metered_report(root: &Path) -> Value {
    let report = report::json(&metered(root)).expect("a report");
    serde_json::from_str(&report).expect("JSON")
}

/// The columns that a meter adds, without its name.
fn columns_of_a_meter(root: &Path) -> BTreeSet<String> {
    let columns = columns(&metered(root)).into_iter();
    columns.filter_map(|name| Some(name.strip_prefix("power.rack.")?.to_owned())).collect()
}

/// The columns of a run's CSV report.
fn columns(run: &archive::Run) -> BTreeSet<String> {
    let csv = report::csv(run).expect("a report");
    csv.lines().next().expect("a heading").split(',').map(str::to_owned).collect()
}

fn documented_columns(page: &Page, section: &str) -> BTreeSet<String> {
    let words = quoted(page.section(section).expect("the section"));
    let is_column =
        |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    words.into_iter().filter(is_column).collect()
}
