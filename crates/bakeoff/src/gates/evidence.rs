//! What the gates look at, and how they put what they find.

use archive::model::{CountCheck, Gate, GateOutcome, Phase};
use host::CpuSet;
use host::telemetry::Recording;

/// What the gates look at, gathered by the trial.
pub struct Evidence<'a> {
    /// What the engine holds against the measurement, one line each; none where there is no client but the program
    /// under test.
    pub client_reasons: Option<&'a [String]>,
    /// Whether it was watched until it settled; not where single operations were timed.
    pub is_watched: bool,
    /// Why it did not settle; none if it did.
    pub unsteady: Option<String>,
    /// Share of operations that failed in the measured phases.
    pub error_share: f64,
    /// The fixed load beside; none where the plan has none.
    pub background: Option<&'a Phase>,
    /// The server's counts against the client's; empty where the server keeps none.
    pub counts: &'a [CountCheck],
    /// The host while measuring.
    pub telemetry: &'a Recording,
    /// CPUs that the trial uses.
    pub cpus: &'a CpuSet,
    /// The measured stretch, in the recording's microseconds.
    pub window_us: (u64, u64),
    /// The stretch of it in which the value was measured.
    pub measured_us: (u64, u64),
    /// Why the server's process is not the one that was started; none if it is.
    pub restarted: Option<String>,
}

/// A gate that was judged: what was measured against what is allowed, and what that means.
pub fn gate(id: &str, passed: bool, measured: String, threshold: String, message: String) -> Gate {
    let outcome = if passed { GateOutcome::Passed } else { GateOutcome::Failed };
    Gate { id: id.to_owned(), outcome, measured, threshold, message }
}

/// A gate that has nothing to judge here, and why.
pub fn not_applicable(id: &str, why: &str) -> Gate {
    Gate {
        id: id.to_owned(),
        outcome: GateOutcome::NotApplicable,
        measured: String::new(),
        threshold: String::new(),
        message: why.to_owned(),
    }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
