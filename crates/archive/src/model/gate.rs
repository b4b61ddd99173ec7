//! A check that a trial must pass to count.

use serde::{Deserialize, Serialize};

/// One gate and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Stable name, such as `steal`.
    pub id: String,
    /// What it found.
    pub outcome: GateOutcome,
    /// What was measured with its unit, such as `0.4 %`; empty where the gate does not apply.
    pub measured: String,
    /// What is allowed with its unit, such as `at most 2 %`.
    pub threshold: String,
    /// The finding in a sentence; for a failure with the mend.
    pub message: String,
}

/// What a gate found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// It holds.
    Passed,
    /// It does not: the trial is invalid.
    Failed,
    /// It cannot be asked here, such as the frequency of a virtual CPU; the message says why.
    NotApplicable,
}
