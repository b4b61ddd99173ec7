//! Checks whether this machine is fit for benchmarking, and what would improve it.
//!
//! Each check is a row of a table: what it examines, why that matters, the result and the remedy. Checks are
//! pure functions of [`HostEvidence`], so the tests run them on invented machines. They change nothing.
//! They do not check trials: the gates of a trial do that, with the telemetry of the trial itself.

mod check;
mod cpu;
mod load;
mod system;

use check::{CheckResult, HostCheck};
pub use check::{HostEvidence, HostFinding, Severity};

/// Runs all checks. Warnings come first, then notes.
pub fn examine(evidence: &HostEvidence) -> Vec<HostFinding> {
    let checks = [cpu::CHECKS, load::CHECKS, system::CHECKS].into_iter().flatten();
    let finding = |check: &HostCheck| {
        let CheckResult { level, found, remedy } = (check.check)(evidence)?;
        Some(HostFinding { id: check.id.into(), level, found, why: check.why.into(), remedy })
    };
    let mut findings: Vec<_> = checks.filter_map(finding).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Recording, TelemetryColumn, TelemetrySample};

    /// The severity that a check reports.
    pub(super) fn level(id: &str, evidence: &HostEvidence) -> Option<Severity> {
        examine(evidence).into_iter().find(|finding| finding.id == id).map(|finding| finding.level)
    }

    /// A recording of one sample.
    pub(super) fn recorded(values: &[(&str, f64)]) -> Recording {
        let column = |(name, _): &(&str, f64)| TelemetryColumn {
            name: (*name).into(),
            unit: "".into(),
            help: "".into(),
        };
        let values_only = values.iter().map(|(_, value)| Some(*value)).collect();
        Recording {
            columns: values.iter().map(column).collect(),
            samples: vec![TelemetrySample { t_us: 1, unix_ms: 0, values: values_only }],
            ..Recording::default()
        }
    }

    #[test]
    fn a_machine_that_reports_nothing_gets_no_warning() {
        let findings = examine(&HostEvidence::default());
        assert!(findings.iter().all(|finding| finding.level < Severity::Warn), "{findings:#?}");
    }

    #[test]
    fn every_check_has_a_unique_id_and_a_reason() {
        let all: Vec<&HostCheck> =
            [cpu::CHECKS, load::CHECKS, system::CHECKS].into_iter().flatten().collect();
        let ids: std::collections::BTreeSet<_> = all.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|check| check.why.len() > 20 && !check.why.ends_with('.')));
    }

    #[test]
    fn warnings_come_first() {
        let mut evidence = HostEvidence::default();
        evidence.facts.machine.virtualization = Some("KVM".into());
        evidence.facts.kernel.clocksource = Some("hpet".into());
        let levels: Vec<_> = examine(&evidence).into_iter().map(|finding| finding.level).collect();
        assert!(levels.is_sorted_by(|a, b| a >= b) && levels[0] == Severity::Warn, "{levels:?}");
    }
}
