//! The input of the gates, and helpers that make a gate's result.

use archive::model::{CountCheck, Gate, GateOutcome, TrialPhase};
use host::CpuSet;
use host::telemetry::Recording;
use workload::Verification;

use super::exposure::Exposure;
use crate::machines::network_paths::NetworkUse;

/// The input of the gates, collected by the trial.
pub struct GateInput<'a> {
    /// The engine's rules that the client broke, one line each; none where the program under test generates the load.
    pub client_reasons: Option<&'a [String]>,
    /// The rules of users that were broken, one line each; none where the load has no users.
    pub user_reasons: Option<&'a [String]>,
    /// The options that measure CPU time an operation instead, which the client hardly limits; none where that cannot be measured.
    pub other_measure: Option<&'static str>,
    /// Why the trial had no warm-up with a steady-state check; none if it had one.
    pub why_no_warm_up: Option<&'static str>,
    /// Why the trial did not reach steady state; none if it did.
    pub unsteady: Option<String>,
    /// Share of operations that failed in the measured phases.
    pub error_share: f64,
    /// The background load; none where the plan has none.
    pub background: Option<&'a TrialPhase>,
    /// The server's counts and the client's; empty where the server keeps none.
    pub counts: &'a [CountCheck],
    /// The networks between clients and server; empty where they are on one machine.
    pub network: &'a [NetworkUse],
    /// The machines of the trial: the server's, and the client's where that is another one.
    pub machines: &'a [&'a WatchedMachine<'a>],
    /// How the servers of the run meet what disturbs the machine.
    pub exposure: Exposure,
    /// What the workload's `verify` said; none where it has no such command, or where the trial failed before.
    pub verification: Option<Verification>,
    /// Why the process that was started no longer runs; none if it does.
    pub died: Option<String>,
}

/// A machine of the trial.
pub struct WatchedMachine<'a> {
    /// How messages name it; none where there is one machine.
    pub name: Option<String>,
    /// Its telemetry.
    pub telemetry: &'a Recording,
    /// The CPUs that the trial uses there.
    pub cpus: CpuSet,
    /// Begin and end of the whole load on the recording's time line, microseconds.
    pub window_us: (u64, u64),
    /// Begin and end of the part that gave the value.
    pub measured_us: (u64, u64),
    /// Of the machines whose programs are counted here as well.
    pub seen: Vec<SeenMachine<'a>>,
}

/// A machine that shares the kernel of another.
pub struct SeenMachine<'a> {
    /// Its telemetry.
    pub telemetry: &'a Recording,
    /// Begin and end of the whole load on that recording's time line, microseconds.
    pub window_us: (u64, u64),
    /// Begin and end of the part that gave the value.
    pub measured_us: (u64, u64),
}

/// The result of a gate that applies.
pub fn gate(id: &str, passed: bool, measured: String, threshold: String, message: String) -> Gate {
    let outcome = if passed { GateOutcome::Passed } else { GateOutcome::Failed };
    Gate { id: id.to_owned(), outcome, measured, share: None, threshold, message }
}

/// The result of a gate with this limit for a share of the trial's CPUs.
pub fn gate_of_share(id: &str, share: f64, most: f64, message: String) -> Gate {
    let threshold = format!("at most {}", measured_percent(most));
    Gate { share: Some(share), ..gate(id, share <= most, measured_percent(share), threshold, message) }
}

/// The result of a gate that does not apply, and why.
pub fn not_applicable(id: &str, why: &str) -> Gate {
    Gate {
        id: id.to_owned(),
        outcome: GateOutcome::NotApplicable,
        measured: String::new(),
        share: None,
        threshold: String::new(),
        message: why.to_owned(),
    }
}

/// A measured share as a percentage with two digits.
pub fn measured_percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
