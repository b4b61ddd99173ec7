//! What a check of the doctor reads, and what it returns.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::affinity::CpuSet;
use crate::facts::HostFacts;
use crate::knobs::Quieting;
use crate::telemetry::Recording;

/// The input of the checks.
#[derive(Debug, Clone, Default)]
pub struct HostEvidence {
    /// Facts about the machine.
    pub facts: HostFacts,
    /// The CPUs that this process may use.
    pub allowed_cpus: CpuSet,
    /// Telemetry of a second or two without load: what else runs on the machine.
    pub idle: Recording,
    /// What would make it quieter.
    pub quieting: Quieting,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing when results are read or compared.
    Note,
    /// Results will be noisier, lower or misleading.
    Warn,
}

/// The finding of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFinding {
    /// The check.
    pub id: Cow<'static, str>,
    /// How much it matters on this machine.
    pub level: Severity,
    /// What the check found, with its value.
    pub found: String,
    /// Why this matters for benchmarks.
    pub why: Cow<'static, str>,
    /// What to do about it: a command, or a sentence in the imperative.
    pub remedy: Option<String>,
}

/// A check.
pub(super) struct HostCheck {
    pub(super) id: &'static str,
    pub(super) why: &'static str,
    /// Returns none when the machine does not have, or does not report, what is checked.
    pub(super) check: fn(&HostEvidence) -> Option<CheckResult>,
}

/// The part of a finding that depends on the machine.
pub(super) struct CheckResult {
    pub(super) level: Severity,
    pub(super) found: String,
    pub(super) remedy: Option<String>,
}

impl CheckResult {
    pub(super) fn ok(found: impl Into<String>) -> Self {
        Self { level: Severity::Ok, found: found.into(), remedy: None }
    }

    pub(super) fn note(found: impl Into<String>) -> Self {
        Self { level: Severity::Note, found: found.into(), remedy: None }
    }

    pub(super) fn warn(found: impl Into<String>) -> Self {
        Self { level: Severity::Warn, found: found.into(), remedy: None }
    }

    pub(super) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// The time range that covers the whole recording.
pub(super) const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;
