//! Run directories of format 1 are read without loss. The fixtures are runs of showdown 0.1.0, without load logs and
//! most of the telemetry.
#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use archive::{Archive, Query, Run, RunState, model::FORMAT};
use serde::Serialize;
use serde_json::Value;
use std::{fs, path::Path};

fn imported(root: &Path, fixture: &str) -> Run {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1").join(fixture);
    let archive = Archive::new(root);
    let id = archive.import(&file).unwrap();
    archive.open(id.as_str()).unwrap()
}

/// Every number, text and switch in a document, sorted. Without the format number, and without values that both
/// formats may omit: null, and empty lists and maps.
fn values(document: &Value) -> Vec<String> {
    let mut values = Vec::new();
    collect(document, &mut values);
    values.sort();
    values
}

fn collect(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, values)),
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "format").for_each(|(_, field)| collect(field, values));
        }
        scalar => values.push(scalar.to_string()),
    }
}

/// Compares a file of the directory with what the reader returned for it.
fn assert_no_loss(run: &Run, file: &str, read: &impl Serialize) {
    let mut written: Value = serde_json::from_slice(&fs::read(run.dir.join(file)).unwrap()).unwrap();
    assert_eq!(written["format"], 1, "{file}");
    // The name of the enum around a reason is gone; its content is the same.
    if let Some(comparisons) = written.get_mut("comparisons").and_then(Value::as_array_mut) {
        for comparison in comparisons {
            comparison["verdict"]["why"] = comparison["verdict"]["why"]["no_ratio"].take();
        }
    }
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["format"], FORMAT, "{file}");
    assert_eq!(values(&read), values(&written), "{file}");
}

#[test]
fn every_value_of_a_run_of_format_1_is_read() {
    for (fixture, trials) in [("comparison.tar.gz", 12), ("sweep.tar.gz", 39)] {
        let root = tempfile::tempdir().unwrap();
        let run = imported(root.path(), fixture);
        assert_eq!((run.state, run.problems.as_slice()), (RunState::Finished, &[][..]));
        assert_eq!(run.trials.len(), trials);
        assert_no_loss(&run, "facts.json", run.facts.as_ref().unwrap());
        assert_no_loss(&run, "verdict.json", run.verdict.as_ref().unwrap());
        for record in &run.trials {
            assert_no_loss(&run, &format!("{}/trial.json", record.folder), &record.trial);
        }
        let plan = fs::read_to_string(run.dir.join("plan.toml")).unwrap();
        let written: Value = toml::from_str(&plan).unwrap();
        assert_eq!(written["format"], 1);
        let read = run.plan.as_ref().unwrap();
        assert_eq!(values(&toml::from_str(&toml::to_string(read).unwrap()).unwrap()), values(&written));
    }
}

#[test]
fn the_index_lists_runs_of_format_1() {
    let root = tempfile::tempdir().unwrap();
    imported(root.path(), "comparison.tar.gz");
    imported(root.path(), "sweep.tar.gz");
    let archive = Archive::new(root.path());
    let listed = archive.list(&Query::default()).unwrap();
    let trials: Vec<_> = listed.iter().map(|run| (run.valid, run.invalid, run.problems)).collect();
    assert_eq!(trials, [(18, 21, 0), (6, 6, 0)]);
    assert!(
        listed[0].sentence.as_ref().unwrap().starts_with("memcached: most at connections 4"),
        "{listed:?}"
    );
    assert_eq!(archive.reindex().unwrap(), 2);
}

#[test]
fn telemetry_of_format_1_is_read() {
    let root = tempfile::tempdir().unwrap();
    let run = imported(root.path(), "comparison.tar.gz");
    let telemetry = run.telemetry(&run.trials[0].trial).unwrap().unwrap();
    assert!(telemetry.column("cpu.0.user").is_some() && !telemetry.t_s.is_empty());
}

#[test]
fn an_export_of_a_run_of_format_1_keeps_its_files() {
    let root = tempfile::tempdir().unwrap();
    let (here, there) = (root.path().join("here"), root.path().join("there"));
    let run = imported(&here, "comparison.tar.gz");
    let file = root.path().join("run.tar.gz");
    Archive::new(&here).export(&run.id, fs::File::create(&file).unwrap()).unwrap();
    let archive = Archive::new(&there);
    let id = archive.import(&file).unwrap();
    let verdict = |dir: &Path| fs::read(dir.join("verdict.json")).unwrap();
    assert_eq!(verdict(&archive.dir(&id)), verdict(&run.dir));
}
