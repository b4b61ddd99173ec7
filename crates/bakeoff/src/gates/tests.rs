//! Every gate fails where it should, and a healthy trial passes them all.

use std::sync::LazyLock;
use std::time::Duration;

use ::host::CpuSet;
use ::host::telemetry::{OtherProgram, Recording, TelemetryColumn, TelemetrySample as Tick};
use archive::model::{CountCheck, GateOutcome};

use super::{Evidence, check};

/// A recording of one column, one sample a second.
fn recording(name: &str, values: &[f64]) -> Recording {
    recordings(&[(name, values)])
}

fn recordings(columns: &[(&str, &[f64])]) -> Recording {
    let length = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let tick = |at: usize| Tick {
        t_us: at as u64 * 1_000_000,
        unix_ms: 5 + at as u64 * 1_000,
        values: columns.iter().map(|(_, values)| values.get(at).copied()).collect(),
    };
    let column =
        |(name, _): &(&str, _)| TelemetryColumn { name: (*name).to_owned(), unit: "cores", help: "" };
    Recording {
        columns: columns.iter().map(column).collect(),
        samples: (0..length).map(tick).collect(),
        ..Recording::default()
    }
}

static CPUS: LazyLock<CpuSet> = LazyLock::new(|| "0-1".parse().expect("CPUs"));

fn failed(evidence: &Evidence<'_>) -> Vec<String> {
    let failed = check(evidence).into_iter().filter(|g| g.outcome == GateOutcome::Failed);
    failed.map(|g| g.id).collect()
}

fn healthy(telemetry: &Recording) -> Evidence<'_> {
    Evidence {
        client_reasons: Some(&[]),
        is_watched: true,
        unsteady: None,
        error_share: 0.0,
        background: None,
        counts: &[],
        telemetry,
        cpus: &CPUS,
        window_us: (0, 10_000_000),
        measured_us: (0, 10_000_000),
        restarted: None,
    }
}

#[test]
fn a_healthy_trial_passes() {
    assert_eq!(failed(&healthy(&recording("cpu.steal", &[0.0, 0.01]))), Vec::<String>::new());
}

#[test]
fn every_kind_of_disturbance_fails_its_gate() {
    let quiet = recording("cpu.steal", &[0.0]);
    assert_eq!(failed(&healthy(&recording("cpu.steal", &[0.1, 0.1]))), ["steal"]);
    assert_eq!(failed(&healthy(&recording("swap.in", &[0.0, 4096.0]))), ["swap"]);
    assert_eq!(failed(&healthy(&recording("cpu.0.frequency", &[3e9, 2e9]))), ["frequency"]);
    assert_eq!(failed(&Evidence { error_share: 0.02, ..healthy(&quiet) }), ["errors"]);
    assert_eq!(failed(&Evidence { unsteady: Some("drifts".to_owned()), ..healthy(&quiet) }), ["steady"]);
    assert_eq!(failed(&Evidence { restarted: Some("died".to_owned()), ..healthy(&quiet) }), ["restarts"]);
    let slow = ["slow".to_owned()];
    assert_eq!(failed(&Evidence { client_reasons: Some(&slow), ..healthy(&quiet) }), ["client"]);
    assert_eq!(failed(&Evidence { client_reasons: None, ..healthy(&quiet) }), Vec::<String>::new());
    let counts = [CountCheck { what: "requests".to_owned(), client: 1_000, server: 1_006 }];
    assert_eq!(failed(&Evidence { counts: &counts, ..healthy(&quiet) }), ["counts"]);
    let mut jumped = recording("cpu.steal", &[0.0, 0.0]);
    jumped.samples[1].unix_ms += 50;
    assert_eq!(failed(&healthy(&jumped)), ["clock"]);
    let mut put_right = recording("cpu.steal", &[0.0; 12]);
    put_right.samples[5..].iter_mut().for_each(|sample| sample.unix_ms += 50);
    assert_eq!(failed(&healthy(&put_right)), Vec::<String>::new());
}

fn others_gate(evidence: &Evidence<'_>) -> (GateOutcome, String) {
    let gate = check(evidence).into_iter().find(|gate| gate.id == "others").expect("a gate");
    (gate.outcome, gate.message)
}

#[test]
fn programs_of_others_are_named() {
    let usual = recordings(&[("programs.ours", &[1.6; 3]), ("programs.others", &[0.02; 3])]);
    assert_eq!(others_gate(&healthy(&usual)).0, GateOutcome::Passed);
    let mut compiled = recordings(&[("programs.ours", &[1.2; 3]), ("programs.others", &[0.7; 3])]);
    let rustc = OtherProgram { command: "rustc".to_owned(), pid: 812, cpu: Duration::from_millis(2_100) };
    compiled.others.push(rustc);
    let (outcome, message) = others_gate(&healthy(&compiled));
    assert_eq!(outcome, GateOutcome::Failed);
    assert!(message.contains("(rustc (pid 812) 2.1 s)"), "{message}");
}

#[test]
fn others_count_in_the_measured_stretch_and_before_it() {
    let ours: (_, &[f64]) = ("programs.ours", &[1.0; 10]);
    let (mut early, mut late) = ([0.0; 10], [0.0; 10]);
    early[..3].fill(0.5);
    late[9] = 0.1;
    for values in [early, late] {
        let telemetry = recordings(&[ours, ("programs.others", &values)]);
        let evidence = Evidence { measured_us: (9_000_000, 9_000_000), ..healthy(&telemetry) };
        assert_eq!(failed(&evidence), ["others"], "{values:?}");
    }
}

#[test]
fn others_may_have_cpus_of_their_own() {
    let others_on = |cpu_1: f64| {
        let telemetry = recordings(&[
            ("cpu.0.user", &[0.9]),
            ("cpu.1.user", &[cpu_1]),
            ("cpu.2.user", &[0.9]),
            ("programs.ours", &[1.0]),
            ("programs.others", &[0.9]),
        ]);
        failed(&healthy(&telemetry))
    };
    assert_eq!(others_on(0.1), Vec::<String>::new());
    assert_eq!(others_on(0.9), ["others"]);
}
