//! What made-up trials tell: of which time, of which server, and of runs that have none.

use std::path::Path;

use archive::model::{CpuTimePerOperation, SuspectWord};
use archive::telemetry::ColumnInfo;

use super::*;

fn comparison(root: &Path) -> Run {
    let id = archive::example::comparison(root, 3).expect("a run");
    Run::open(&root.join(id.as_str())).expect("a run")
}

/// A telemetry with a row every 250 ms, in which CPU 1 is busy from the one time to the other.
fn busy(from_s: f64, to_s: f64) -> Telemetry {
    let rows: Vec<f64> = (1..=16).map(|row| f64::from(row) * 0.25).collect();
    let idle = |row: &f64| Some(if (from_s..=to_s).contains(row) { 0.01 } else { 1.0 });
    let column = |name: &str, values| Column {
        info: ColumnInfo { name: name.to_owned(), unit: "cores".to_owned(), help: String::new() },
        values,
    };
    Telemetry {
        unix_ms: vec![0; rows.len()],
        columns: vec![column("cpu.1.idle", rows.iter().map(idle).collect())],
        t_s: rows,
    }
}

#[test]
fn each_variant_of_a_comparison_has_a_sentence_and_nothing_is_more_than_suspected() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = comparison(dir.path());
    let explanation = explain_trials(&run).expect("closed loops");
    assert_eq!(explanation.basis, ExplanationBasis::Trials);
    let names: Vec<&str> = explanation.servers.iter().map(|server| server.variant.as_str()).collect();
    assert_eq!(names, ["nginx", "apache"]);
    for server in &explanation.servers {
        assert!(server.sentence.contains(&server.variant), "{}", server.sentence);
        assert!(server.suspects.iter().all(|suspect| suspect.word == SuspectWord::Suspected));
        assert!(server.closed_loop.throughput_per_s > 0.0 && server.unknown.is_empty(), "{server:#?}");
    }
    run.explain(explanation.clone()).expect("it is written");
    let again = Run::open(&run.dir).expect("a run");
    let again = again.explanation.expect("an explanation");
    assert_eq!((again.basis, again.sentence), (explanation.basis, explanation.sentence));
}

#[test]
fn only_telemetry_within_the_closed_loop_is_evidence() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = comparison(dir.path());
    let mut trial = run.trials[0].trial.clone();
    trial.server = None;
    let loaded = trial.phases.iter_mut().find(|phase| phase.kind == PhaseKind::ClosedLoop).expect("a loop");
    (loaded.start_s, loaded.length_s, loaded.slices) = (1.0, 2.0, None);
    let phase = loaded.clone();
    let suspects = |telemetry: &Telemetry| {
        let facts = LoopFacts::of_record("nginx", 64, "1".parse().expect("a CPU"));
        suspects_only(&facts, &[reading(&trial, &phase, Some(telemetry), 64)])
    };
    let inside = suspects(&busy(1.75, 3.0));
    assert_eq!(
        inside.sentence.split(": ").next(),
        Some("in a closed loop, nginx was probably limited by server CPUs"),
        "{inside:#?}"
    );
    let outside = suspects(&busy(3.25, 9.0));
    assert!(outside.suspects.iter().all(|suspect| suspect.resource != "server_cpu"), "{outside:#?}");
    // The row at 1.75 s is about the time from 1.5 s, when the server was cold.
    assert_eq!(steady_part(&busy(0.0, 0.0), &phase).samples.len(), 5);
}

#[test]
fn the_cpu_time_of_slices_in_turns_is_told_instead_of_that_of_the_own_closed_loop() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = comparison(dir.path());
    let mut trial = run.trials[0].trial.clone();
    let of_loop = trial_figures(&run, &trial);
    trial.cpu_time = Some(CpuTimePerOperation {
        rate_per_s: 40_000.0,
        cpu_s: 2.0,
        operations: 100_000,
        user_us: 5.0,
        system_us: 15.0,
        between_s: 0.0,
        slices_us: Vec::new(),
        stolen_s: 0.0,
        others_cores: None,
        parts: Vec::new(),
    });
    let figures = trial_figures(&run, &trial);
    assert_ne!(of_loop[CPU_PER_OPERATION], 20.0);
    assert!((figures[CPU_PER_OPERATION] - 20.0).abs() < 1e-9 && (figures[CPU_IN_KERNEL] - 0.75).abs() < 1e-9);
    assert_eq!(figures["server_cpus.used"], of_loop["server_cpus.used"], "all others are those of the loop");
}

#[test]
fn a_run_without_a_closed_loop_of_one_server_has_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = comparison(dir.path());
    for trial in run.trials.iter_mut().map(|record| &mut record.trial) {
        trial.phases.retain(|phase| phase.kind != PhaseKind::ClosedLoop);
    }
    assert_eq!(explain_trials(&run), None);
    let id = archive::example::sweep(dir.path()).expect("a run");
    let sweep = Run::open(&dir.path().join(id.as_str())).expect("a run");
    assert_eq!(explain_trials(&sweep), None);
}
