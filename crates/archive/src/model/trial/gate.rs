//! A gate: a check that a trial must pass to count.

use serde::{Deserialize, Serialize};

/// One gate with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Stable name, such as `steal`.
    pub id: String,
    /// The outcome.
    pub outcome: GateOutcome,
    /// The measured value with its unit, such as `0.4 %`; empty where the gate does not apply.
    pub measured: String,
    /// The same as a number, where it is a share of the trial's CPUs, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The limit with its unit, such as `at most 2 %`.
    pub threshold: String,
    /// The outcome in a sentence. A failure includes the remedy.
    pub message: String,
}

/// The outcome of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The trial passed.
    Passed,
    /// The trial failed and is invalid.
    Failed,
    /// The limit is exceeded, and the trial counts: what exceeds it meets all servers of the block alike.
    Noted,
    /// The gate cannot be checked here, such as the frequency of a virtual CPU; the message has the reason.
    NotApplicable,
}

/// What a gate refuses in this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The gate.
    pub gate: String,
    /// What exceeds its limit.
    pub limit: String,
    /// Why a trial with that does not count.
    pub why: String,
    /// Whether it does so in this run.
    pub when: RefusedWhen,
}

/// Whether a gate refuses trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedWhen {
    /// Beyond its limit a trial does not count.
    Always,
    /// A trial counts where other programs or the hypervisor disturb the machine, whose doing it may be.
    UnlessDisturbed,
    /// It is noted, and the trial counts: it meets all servers of the block alike.
    Never,
}

impl RefusedWhen {
    /// As a table has it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Always => "invalid",
            Self::UnlessDisturbed => "invalid, unless other programs or the hypervisor disturb the machine",
            Self::Never => "noted: it meets all servers of the block alike, and the interval has the scatter",
        }
    }
}
