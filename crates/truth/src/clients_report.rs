//! The result of a selftest of several hosts: each by itself, and what they counted together.

use serde::Serialize;
use serde_json::Value;

use crate::finding::Finding;

/// The answer: docs/FORMATS.md has the keys.
#[derive(Clone, Debug, Serialize)]
pub struct ClientsReport {
    /// Whether all hosts can be clients: the worst of what follows.
    pub fitness: &'static str,
    /// Each host.
    pub clients: Vec<TestedClient>,
    /// What they counted together, beside what the known server did.
    pub findings: Vec<Finding>,
}

/// What a host found of itself.
#[derive(Clone, Debug, Serialize)]
pub struct TestedClient {
    /// Its name.
    pub name: String,
    /// Its report, as `showdown selftest --format json` there.
    pub report: Value,
}

impl TestedClient {
    /// Its fitness, as in the report.
    pub fn fitness(&self) -> &str {
        self.report["fitness"].as_str().unwrap_or(UNFIT)
    }
}

const FIT: &str = "fit";
const FIT_WITH_LIMITS: &str = "fit_with_limits";
const UNFIT: &str = "unfit";

impl ClientsReport {
    /// The report with its fitness.
    pub fn new(clients: Vec<TestedClient>, findings: Vec<Finding>) -> Self {
        Self { fitness: fitness(&clients, &findings), clients, findings }
    }

    /// Whether a load of these hosts cannot be trusted.
    pub fn is_unfit(&self) -> bool {
        self.fitness == UNFIT
    }
}

/// The worst of all.
fn fitness(tested: &[TestedClient], findings: &[Finding]) -> &'static str {
    let is = |what| tested.iter().any(|client| client.fitness() == what);
    match () {
        () if is(UNFIT) || findings.iter().any(|finding| !finding.passed) => UNFIT,
        () if is(FIT_WITH_LIMITS) => FIT_WITH_LIMITS,
        () => FIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingUnit;

    #[test]
    fn the_whole_is_as_fit_as_its_worst_part() {
        let client = |fitness: &str| TestedClient {
            name: "c".to_owned(),
            report: serde_json::json!({ "fitness": fitness }),
        };
        let count = |measured| Finding::new("clients", "replies", FindingUnit::Count, 5.0, measured);
        assert_eq!(fitness(&[client("fit"), client("fit")], &[count(5.0)]), "fit");
        assert_eq!(fitness(&[client("fit"), client("fit_with_limits")], &[count(5.0)]), "fit_with_limits");
        assert_eq!(fitness(&[client("unfit"), client("fit")], &[count(5.0)]), "unfit");
        assert_eq!(fitness(&[client("fit")], &[count(4.0)]), "unfit");
        assert_eq!(fitness(&[client("?"), TestedClient { report: Value::Null, ..client("") }], &[]), "unfit");
    }
}
