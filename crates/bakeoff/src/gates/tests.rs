//! Each gate fails on its disturbance, and an undisturbed trial passes all gates.

use std::time::Duration;

use ::host::telemetry::{OtherProgram, Recording, TelemetryColumn, TelemetrySample as Tick};
use archive::model::{CountCheck, GateOutcome, Plan, Trial, TrialStatus};

use workload::Verification;

use super::{
    CLIENT, ERRORS, Exposure, GateInput, NETWORK, OTHERS, RESTARTS, STEADY, STEAL, SeenMachine,
    WatchedMachine, check, host, is_broken, is_disturbed,
};
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::variant_points;
use crate::testing::plan::PLAN;
use crate::trial::blank;

/// A recording of one column, one sample a second.
fn recording(name: &str, values: &[f64]) -> Recording {
    recordings(&[(name, values)])
}

/// What the hypervisor took of the two CPUs of a trial, in cores.
fn steal(cores: &[f64]) -> Recording {
    let each: Vec<f64> = cores.iter().map(|cores| cores / 2.0).collect();
    recordings(&[("cpu.0.steal", &each), ("cpu.1.steal", &each)])
}

fn recordings(columns: &[(&str, &[f64])]) -> Recording {
    let length = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let tick = |at: usize| Tick {
        t_us: at as u64 * 1_000_000,
        unix_ms: 5 + at as u64 * 1_000,
        values: columns.iter().map(|(_, values)| values.get(at).copied()).collect(),
    };
    let column = |(name, _): &(&str, _)| TelemetryColumn {
        name: (*name).to_owned(),
        unit: "cores".into(),
        help: "".into(),
    };
    Recording {
        columns: columns.iter().map(column).collect(),
        samples: (0..length).map(tick).collect(),
        ..Recording::default()
    }
}

fn failed(input: &GateInput<'_>) -> Vec<String> {
    let failed = check(input).into_iter().filter(|g| g.outcome == GateOutcome::Failed);
    failed.map(|g| g.id).collect()
}

fn machine(telemetry: &Recording) -> WatchedMachine<'_> {
    WatchedMachine {
        name: None,
        telemetry,
        cpus: "0-1".parse().expect("CPUs"),
        window_us: (0, 10_000_000),
        measured_us: (0, 10_000_000),
        seen: Vec::new(),
    }
}

fn undisturbed<'a>(machines: &'a [&'a WatchedMachine<'a>]) -> GateInput<'a> {
    GateInput {
        client_reasons: Some(&[]),
        user_reasons: None,
        other_measure: None,
        why_no_warm_up: None,
        unsteady: None,
        error_share: 0.0,
        background: None,
        counts: &[],
        network: &[],
        machines,
        exposure: Exposure::OfItsOwn,
        verification: None,
        died: None,
    }
}

/// All gates, of a trial that nothing disturbs.
pub fn every_gate() -> Vec<archive::model::Gate> {
    check(&undisturbed(&[&machine(&steal(&[0.0]))]))
}

#[test]
fn an_undisturbed_trial_passes() {
    assert_eq!(failed(&undisturbed(&[&machine(&steal(&[0.0, 0.01]))])), Vec::<String>::new());
}

#[test]
fn every_disturbance_fails_its_gate() {
    let quiet = steal(&[0.0]);
    assert_eq!(failed(&undisturbed(&[&machine(&steal(&[0.1, 0.1]))])), ["steal"]);
    assert_eq!(failed(&undisturbed(&[&machine(&recording("swap.in", &[0.0, 4096.0]))])), ["swap"]);
    assert_eq!(failed(&undisturbed(&[&machine(&recording("cpu.0.frequency", &[3e9, 2e9]))])), ["frequency"]);
    assert_eq!(failed(&undisturbed(&[&machine(&recording("cpu.throttles", &[0.0, 0.5]))])), ["heat"]);
    assert_eq!(failed(&undisturbed(&[&machine(&recording("cpu.throttles", &[0.0, 0.0]))])), [""; 0]);
    assert_eq!(failed(&GateInput { error_share: 0.02, ..undisturbed(&[&machine(&quiet)]) }), ["errors"]);
    assert_eq!(
        failed(&GateInput { unsteady: Some("drifts".to_owned()), ..undisturbed(&[&machine(&quiet)]) }),
        ["steady"]
    );
    let wrong = Some(Verification::Failed("GET /events/7: another title".to_owned()));
    assert_eq!(failed(&GateInput { verification: wrong, ..undisturbed(&[&machine(&quiet)]) }), ["verify"]);
    let right = Some(Verification::Passed("100 pages are equal".to_owned()));
    assert_eq!(
        failed(&GateInput { verification: right, ..undisturbed(&[&machine(&quiet)]) }),
        Vec::<String>::new()
    );
    assert_eq!(
        failed(&GateInput { died: Some("died".to_owned()), ..undisturbed(&[&machine(&quiet)]) }),
        ["restarts"]
    );
    let slow = ["slow".to_owned()];
    assert_eq!(
        failed(&GateInput { client_reasons: Some(&slow), ..undisturbed(&[&machine(&quiet)]) }),
        ["client"]
    );
    assert_eq!(
        failed(&GateInput { client_reasons: None, ..undisturbed(&[&machine(&quiet)]) }),
        Vec::<String>::new()
    );
    let counted = |client, unanswered, server| {
        let counts = [CountCheck { counter: "requests".to_owned(), client, unanswered, server }];
        failed(&GateInput { counts: &counts, ..undisturbed(&[&machine(&quiet)]) })
    };
    assert_eq!([counted(1_000, 0, 1_006), counted(1_000, 0, 994)], [["counts"], ["counts"]]);
    // A server that closes connections may have carried out what it did not answer.
    assert!([980, 990, 1_000].into_iter().all(|server| counted(1_000, 20, server).is_empty()));
    assert_eq!([counted(1_000, 20, 1_006), counted(1_000, 20, 974)], [["counts"], ["counts"]]);
    let mut stepped = steal(&[0.0, 0.0]);
    stepped.samples[1].unix_ms += 50;
    assert_eq!(failed(&undisturbed(&[&machine(&stepped)])), Vec::<String>::new());
    let noted = check(&undisturbed(&[&machine(&stepped)]))
        .into_iter()
        .find(|gate| gate.id == "clock")
        .expect("a gate");
    assert!(
        noted.outcome == GateOutcome::NotApplicable && noted.message.contains("set by 50 ms"),
        "{noted:?}"
    );
    let mut corrected = steal(&[0.0; 12]);
    corrected.samples[5..].iter_mut().for_each(|sample| sample.unix_ms += 50);
    assert_eq!(failed(&undisturbed(&[&machine(&corrected)])), Vec::<String>::new());
}

#[test]
fn what_meets_all_servers_of_a_block_alike_is_noted_and_the_trial_counts() {
    let in_turns = |telemetry: &Recording, unsteady: Option<&str>| {
        let machine = machine(telemetry);
        let unsteady = unsteady.map(str::to_owned);
        let gates = check(&GateInput { exposure: Exposure::InTurns, unsteady, ..undisturbed(&[&machine]) });
        let of = |outcome| -> Vec<String> {
            let gates = gates.iter().filter(|gate| gate.outcome == outcome);
            gates.map(|gate| gate.id.clone()).collect()
        };
        (of(GateOutcome::Noted), of(GateOutcome::Failed))
    };
    let none = Vec::<String>::new;
    let stolen = steal(&[0.1, 0.1]);
    let gates = check(&GateInput { exposure: Exposure::InTurns, ..undisturbed(&[&machine(&stolen)]) });
    let stolen_gate = gates.iter().find(|gate| gate.id == STEAL).expect("a gate");
    assert_eq!(
        (stolen_gate.message.as_str(), stolen_gate.measured.as_str()),
        (
            "the hypervisor took CPU time during the measurement; the trial counts: the servers of the block were loaded in \
             turns, and a caveat says so if one met more of it",
            "5.00 %"
        )
    );
    assert_eq!(in_turns(&stolen, None), (vec!["steal".to_owned()], none()));
    let frequency = recording("cpu.0.frequency", &[3e9, 2e9]);
    assert_eq!(in_turns(&frequency, None), (vec!["frequency".to_owned()], none()));
    let hot = recording("cpu.throttles", &[0.0, 0.5]);
    assert_eq!(in_turns(&hot, None), (vec!["heat".to_owned()], none()));
    let gates = check(&GateInput { exposure: Exposure::InTurns, ..undisturbed(&[&machine(&hot)]) });
    let heat = gates.iter().find(|gate| gate.id == "heat").expect("a gate");
    assert!(
        heat.message.starts_with("the processor slowed down because of heat; the trial counts: "),
        "{heat:?}"
    );
    // Swapping and a server that warms up for long are its own doing; beside other programs, the second cannot be told.
    assert_eq!(in_turns(&recording("swap.in", &[0.0, 4096.0]), None), (none(), vec!["swap".to_owned()]));
    assert_eq!(in_turns(&steal(&[0.0]), Some("drifts")), (none(), vec!["steady".to_owned()]));
    let (noted, failed) = in_turns(&stolen, Some("drifts"));
    assert_eq!((noted, failed), (vec!["steady".to_owned(), "steal".to_owned()], none()));
}

#[test]
fn a_machine_is_disturbed_if_the_hypervisor_or_other_programs_use_it() {
    assert!(is_disturbed(&machine(&steal(&[0.1, 0.1]))));
    assert!(!is_disturbed(&machine(&steal(&[0.01, 0.01]))));
    let busy = recordings(&[("programs.ours", &[0.5]), ("programs.others", &[0.4])]);
    assert!(is_disturbed(&WatchedMachine { cpus: "0-1".parse().expect("CPUs"), ..machine(&busy) }));
}

#[test]
fn a_limited_client_names_the_measure_that_it_does_not_limit() {
    let (quiet, slow) = (steal(&[0.0]), ["the client was the limit".to_owned()]);
    let message = |other_measure| {
        let machine = machine(&quiet);
        let machines = [&machine];
        let input = GateInput { client_reasons: Some(&slow), other_measure, ..undisturbed(&machines) };
        let gate = check(&input).into_iter().find(|gate| gate.id == "client").expect("a gate");
        gate.message
    };
    let options = "--measure cpu --rate RATE";
    assert_eq!(
        message(Some(options)),
        "the client was the limit; or compare CPU time an operation: --measure cpu --rate RATE"
    );
    assert_eq!(message(None), "the client was the limit");
}

fn others_gate(input: &GateInput<'_>) -> (GateOutcome, String) {
    let gate = check(input).into_iter().find(|gate| gate.id == "others").expect("a gate");
    (gate.outcome, gate.message)
}

#[test]
fn other_programs_are_named() {
    let usual = recordings(&[("programs.ours", &[1.6; 3]), ("programs.others", &[0.02; 3])]);
    assert_eq!(others_gate(&undisturbed(&[&machine(&usual)])).0, GateOutcome::Passed);
    let mut compiled = recordings(&[("programs.ours", &[1.2; 3]), ("programs.others", &[0.7; 3])]);
    let rustc = OtherProgram { command: "rustc".to_owned(), pid: 812, cpu: Duration::from_millis(2_100) };
    compiled.others.push(rustc);
    let (outcome, message) = others_gate(&undisturbed(&[&machine(&compiled)]));
    assert_eq!(outcome, GateOutcome::Failed);
    assert!(message.contains("(rustc (pid 812) 2.1 s)"), "{message}");
}

#[test]
fn other_programs_never_have_more_than_the_trial_left_of_its_cpus() {
    // Of two CPUs, the trial used 1.6 cores and the hypervisor took 0.1.
    let telemetry = recordings(&[
        ("cpu.0.steal", &[0.05; 3]),
        ("cpu.1.steal", &[0.05; 3]),
        ("programs.ours", &[1.6; 3]),
        ("programs.others", &[18.8; 3]),
    ]);
    let two = WatchedMachine { cpus: "0-1".parse().expect("CPUs"), ..machine(&telemetry) };
    let gates = check(&undisturbed(&[&two]));
    let share = gates.iter().find(|gate| gate.id == "others").and_then(|gate| gate.share);
    assert!(share.is_some_and(|share| (share - 0.15).abs() < 1e-9), "{share:?}");
}

#[test]
fn other_programs_count_during_the_measurement_and_before_it() {
    let ours: (_, &[f64]) = ("programs.ours", &[1.0; 10]);
    let (mut early, mut late) = ([0.0; 10], [0.0; 10]);
    early[..3].fill(0.5);
    late[9] = 0.1;
    for values in [early, late] {
        let telemetry = recordings(&[ours, ("programs.others", &values)]);
        let machine = WatchedMachine { measured_us: (9_000_000, 9_000_000), ..machine(&telemetry) };
        let machines = [&machine];
        let input = undisturbed(&machines);
        assert_eq!(failed(&input), ["others"], "{values:?}");
    }
}

#[test]
fn programs_of_the_trial_on_a_machine_of_the_same_kernel_are_no_others() {
    let here = recordings(&[("programs.ours", &[0.3; 3]), ("programs.others", &[0.92; 3])]);
    let host = recordings(&[("programs.ours", &[0.9; 3]), ("programs.others", &[0.01; 3])]);
    let seen = || SeenMachine { telemetry: &host, window_us: (0, 10_000_000), measured_us: (0, 10_000_000) };
    let failed_with = |seen| failed(&undisturbed(&[&WatchedMachine { seen, ..machine(&here) }]));
    assert_eq!(failed_with(Vec::new()), ["others"]);
    assert_eq!(failed_with(vec![seen()]), Vec::<String>::new());
    // A third program is one.
    let disturbed = recordings(&[("programs.ours", &[0.3; 3]), ("programs.others", &[1.2; 3])]);
    let machine = WatchedMachine { seen: vec![seen()], ..machine(&disturbed) };
    assert_eq!(failed(&undisturbed(&[&machine])), ["others"]);
}

#[test]
fn other_programs_on_further_cpus_do_not_count() {
    let others_on = |cpu_1: f64| {
        let telemetry = recordings(&[
            ("cpu.0.user", &[0.9]),
            ("cpu.1.user", &[cpu_1]),
            ("cpu.2.user", &[0.9]),
            ("programs.ours", &[1.0]),
            ("programs.others", &[0.9]),
        ]);
        failed(&undisturbed(&[&machine(&telemetry)]))
    };
    assert_eq!(others_on(0.1), Vec::<String>::new());
    assert_eq!(others_on(0.9), ["others"]);
}

#[test]
fn cpus_that_the_trial_does_not_use_do_not_count() {
    let steady: &[f64] = &[0.0, 0.0];
    let on_cpu_2 = |name: &str, values| {
        recordings(&[
            ("cpu.0.steal", steady),
            ("cpu.1.steal", steady),
            ("cpu.0.frequency", &[3e9, 3e9]),
            (name, values),
        ])
    };
    assert_eq!(
        failed(&undisturbed(&[&machine(&on_cpu_2("cpu.2.steal", &[0.9, 0.9]))])),
        Vec::<String>::new()
    );
    assert_eq!(
        failed(&undisturbed(&[&machine(&on_cpu_2("cpu.2.frequency", &[3e9, 1e9]))])),
        Vec::<String>::new()
    );
}

#[test]
fn each_machine_of_a_trial_is_checked_and_a_failure_names_it() {
    let (quiet, stolen) = (steal(&[0.0, 0.0]), steal(&[0.1, 0.1]));
    let named = |name: &str, telemetry| WatchedMachine { name: Some(name.to_owned()), ..machine(telemetry) };
    let (server, client) = (named("host old", &quiet), named("this machine", &stolen));
    for machines in [[&server, &client], [&client, &server]] {
        let gates = check(&undisturbed(&machines));
        let steal: Vec<_> = gates.iter().filter(|gate| gate.id == "steal").collect();
        let [steal] = steal[..] else { panic!("{steal:?}") };
        assert_eq!(steal.outcome, GateOutcome::Failed);
        assert!(steal.message.starts_with("this machine: the hypervisor took CPU time"), "{steal:?}");
    }
}

#[test]
fn a_server_does_its_work_badly_where_it_fails_restarts_or_fails_operations() {
    let plan: Plan = PLAN.parse().expect("a plan");
    let scheduled = ScheduledTrial { number: 1, block: 1, position: 1, variant_point: 0 };
    let blank = blank(&plan, &scheduled, &variant_points(&plan)[0]);
    let trial = |status, gate: Option<&str>| {
        let gates = gate.map(|id| super::gate(id, false, String::new(), String::new(), String::new()));
        Trial { status, gates: gates.into_iter().collect(), ..blank.clone() }
    };
    let invalid = |id| is_broken(&trial(TrialStatus::Invalid, Some(id)));
    assert!(is_broken(&trial(TrialStatus::Failed, None)) && invalid(RESTARTS) && invalid(ERRORS));
    assert!(!is_broken(&trial(TrialStatus::Valid, None)) && !invalid(CLIENT), "no fault of the server");
    assert!(
        !is_broken(&Trial { failed_elsewhere: true, ..trial(TrialStatus::Failed, None) }),
        "nor its machine's"
    );
    let with_steal = |id| {
        let mut trial = trial(TrialStatus::Invalid, Some(id));
        trial.gates.push(super::gate(STEAL, false, String::new(), String::new(), String::new()));
        trial
    };
    assert!(
        !is_broken(&with_steal(ERRORS)) && is_broken(&with_steal(RESTARTS)),
        "stolen time ends no process"
    );
}

/// The rows of a table of the page on troubles: the first cell and the others.
fn rows_of_the_page(section: &str) -> Vec<(&'static str, &'static str)> {
    let page = include_str!("../../../../docs/TROUBLESHOOTING.md");
    let (_, rest) = page.split_once(&format!("\n## {section}\n")).expect("a section");
    let (section, _) = rest.split_once("\n## ").expect("a section after it");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    rows.map(|(name, others)| (name.trim_matches('`'), others)).collect()
}

/// Checks that the row of a table has the limit of the code.
fn assert_limit(section: &str, name: &str, limit: &str) {
    let rows = rows_of_the_page(section);
    let (_, row) = rows.iter().find(|(row, _)| *row == name).unwrap_or_else(|| panic!("no row {name}"));
    assert!(
        row.contains(limit),
        "docs/TROUBLESHOOTING.md, section {section}, row {name}: the code's limit is {limit:?}, and the row says {row}"
    );
}

fn percent(share: f64) -> String {
    // Without the last digits of a product such as 0.07 * 100.
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[test]
fn the_page_on_troubles_has_a_row_for_each_gate_and_its_limit() {
    let section = "Gates of a trial";
    let rows = rows_of_the_page(section);
    let gates = every_gate();
    let names: Vec<&str> = gates.iter().map(|gate| gate.id.as_str()).collect();
    let documented = rows.iter().map(|(name, _)| *name).skip_while(|name| *name == "gate");
    assert_eq!(documented.take(names.len()).collect::<Vec<_>>(), names);
    for (gate, limit) in [
        (STEADY, format!("{} for throughput", percent(stats::steady::DriftTolerance::THROUGHPUT.drift))),
        (STEADY, format!("{} for p99", percent(stats::steady::DriftTolerance::PERCENTILE.drift))),
        (ERRORS, format!("{} of operations", percent(load::validity::MAX_ERROR_SHARE))),
        ("counts", format!("{} between server and client", percent(super::MAX_COUNT_DIFFERENCE))),
        (NETWORK, format!("{} of what the network carried", percent(super::network::MAX_USE))),
        (NETWORK, format!("{} of segments sent again", percent(super::network::MAX_RETRANSMITS))),
        (STEAL, format!("{} of the trial's CPUs", percent(super::MAX_STEAL))),
        (OTHERS, format!("{} of the trial's CPUs", percent(super::MAX_OTHERS))),
        ("clock", format!("{} ms plus {}", host::MAX_CLOCK_STEP_MS, percent(host::MAX_CLOCK_DRIFT))),
        (host::FREQUENCY, format!("{} between lowest and highest", percent(host::MAX_FREQUENCY_SPREAD))),
    ] {
        assert_limit(section, gate, &limit);
    }
}

#[test]
fn the_page_on_troubles_has_the_limits_of_the_client_and_of_users() {
    use load::validity::{
        CHANCE, HARMLESS_LAG_US, MAX_DRIFT_SHARE, MAX_ERROR_SHARE, MAX_LAG_SHARE, MAX_LITTLE,
        MAX_MISSING_CONNECTIONS, MAX_REFUSED, MAX_STARVATION, MAX_STARVED_DELAY, MAX_UTILISATION,
        MIN_ACHIEVED,
    };
    assert_eq!((MAX_LAG_SHARE, MAX_DRIFT_SHARE), (0.1, 0.1), "the page says \"a tenth\"");
    for (rule, limit) in [
        ("client CPU", format!("{} of its cores", percent(MAX_UTILISATION))),
        ("starvation", format!("{} of its time in the run queue", percent(MAX_STARVATION))),
        ("starvation", format!("{} of an operation's time", percent(MAX_STARVED_DELAY))),
        ("lag", format!("a tenth of the median response time, and above {HARMLESS_LAG_US} µs")),
        ("achieved", format!("{} of the offered load", percent(MIN_ACHIEVED))),
        ("connections", format!("{} of a closed loop's connections", percent(MAX_MISSING_CONNECTIONS))),
        ("silent connections", format!("{} of the connections", percent(MAX_MISSING_CONNECTIONS))),
        ("clock drift", "a tenth of an interval".to_owned()),
        ("errors", format!("{} of operations", percent(MAX_ERROR_SHARE))),
    ] {
        assert_limit("Rules of the client", rule, &limit);
    }
    for (rule, limit) in [
        ("refused visits", percent(MAX_REFUSED)),
        ("Little's law", format!("{} between", percent(MAX_LITTLE))),
    ] {
        assert_limit("Rules of users", rule, &limit);
    }
    let page = include_str!("../../../../docs/TROUBLESHOOTING.md");
    assert!(page.contains(&format!("by {CHANCE} standard errors")));
}
