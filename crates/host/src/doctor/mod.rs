//! Is this machine fit to measure on, and what would make it fitter?
//!
//! Each question is a rule in a table: what it looks at, what it makes of it, why that matters, and the
//! mend. Rules are pure over [`Evidence`], so they are tested on machines that are made up. They change
//! nothing, and they do not judge a trial: that is done with the telemetry of the trial itself.

mod cpu;
mod load;
mod system;

use serde::Serialize;

use crate::affinity::CpuSet;
use crate::facts::Facts;
use crate::telemetry::Recording;

/// What the rules look at.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What the machine is.
    pub facts: Facts,
    /// The CPUs that we may use.
    pub allowed_cpus: CpuSet,
    /// What the machine does while nothing is asked of it: a second or two of telemetry.
    pub idle: Recording,
}

/// How much something matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Good to know when results are read or compared.
    Note,
    /// Results will be noisier, or lower, or not what one thinks.
    Warn,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    pub id: &'static str,
    /// How much it matters here.
    pub level: Level,
    /// What was found, with its value.
    pub found: String,
    /// Why one looks at this.
    pub why: &'static str,
    /// What would make it better, if it should and can be.
    pub mend: Option<String>,
}

/// A question to a machine.
struct Rule {
    id: &'static str,
    why: &'static str,
    /// None when the machine has or shows nothing of the kind.
    look: fn(&Evidence) -> Option<Found>,
}

/// The part of a finding that depends on the machine.
struct Found {
    level: Level,
    what: String,
    mend: Option<String>,
}

impl Found {
    fn ok(what: impl Into<String>) -> Self {
        Self { level: Level::Ok, what: what.into(), mend: None }
    }

    fn note(what: impl Into<String>) -> Self {
        Self { level: Level::Note, what: what.into(), mend: None }
    }

    fn warn(what: impl Into<String>) -> Self {
        Self { level: Level::Warn, what: what.into(), mend: None }
    }

    fn mend(self, mend: impl Into<String>) -> Self {
        Self { mend: Some(mend.into()), ..self }
    }
}

/// Asks all questions. What matters most comes first.
pub fn examine(evidence: &Evidence) -> Vec<Finding> {
    let rules = [cpu::RULES, load::RULES, system::RULES].into_iter().flatten();
    let finding = |rule: &Rule| {
        let Found { level, what, mend } = (rule.look)(evidence)?;
        Some(Finding { id: rule.id, level, found: what, why: rule.why, mend })
    };
    let mut findings: Vec<_> = rules.filter_map(finding).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings
}

/// The whole recording.
const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Column, Sample};

    /// What a rule makes of a machine.
    pub(super) fn level(id: &str, evidence: &Evidence) -> Option<Level> {
        examine(evidence).into_iter().find(|finding| finding.id == id).map(|finding| finding.level)
    }

    /// A recording of one sample.
    pub(super) fn recorded(values: &[(&str, f64)]) -> Recording {
        let column = |(name, _): &(&str, f64)| Column { name: (*name).into(), unit: "", help: "" };
        let sample =
            Sample { t_us: 1, unix_ms: 0, values: values.iter().map(|(_, value)| Some(*value)).collect() };
        Recording {
            columns: values.iter().map(column).collect(),
            samples: vec![sample],
            ..Recording::default()
        }
    }

    #[test]
    fn a_machine_that_shows_nothing_is_not_judged_by_what_it_might_be() {
        let findings = examine(&Evidence::default());
        assert!(findings.iter().all(|finding| finding.level < Level::Warn), "{findings:#?}");
    }

    #[test]
    fn every_rule_has_a_name_of_its_own_and_a_reason() {
        let all: Vec<&Rule> = [cpu::RULES, load::RULES, system::RULES].into_iter().flatten().collect();
        let ids: std::collections::BTreeSet<_> = all.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|rule| rule.why.len() > 20 && !rule.why.ends_with('.')));
    }

    #[test]
    fn what_matters_most_comes_first() {
        let mut evidence = Evidence::default();
        evidence.facts.machine.virtualization = Some("KVM".into());
        evidence.facts.kernel.clocksource = Some("hpet".into());
        let levels: Vec<_> = examine(&evidence).into_iter().map(|finding| finding.level).collect();
        assert!(levels.is_sorted_by(|a, b| a >= b) && levels[0] == Level::Warn, "{levels:?}");
    }
}
