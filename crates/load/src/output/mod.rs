//! The JSON of `showdown load --format json`, described in `docs/FORMATS.md`.
//!
//! The types here, and the parts of a summary that they borrow, are the public format. The engine's own types are not
//! in it, so that a change of those cannot change the format. A test compares the field names with the table in
//! `docs/FORMATS.md`. Fields may be added; none is removed or renamed without a change of that page.

mod capacity;
mod population;
mod spec;

use std::collections::BTreeMap;

use serde::Serialize;
use stats::times::Times;

use crate::drivers::http::status_of;
use crate::outcome::spans::{SpanSummary, Spans};
use crate::outcome::summary::{ClientPart, ClientSummary, ConnectionSummary, OperationSummary, Summary};
use crate::outcome::validity::BrokenRule;
use crate::user_summary::OutsideOperation;
use crate::user_summary::UserSummary;

pub use capacity::CapacityOutput;
pub use population::PopulationOutput;
use spec::SpecOutput;

/// One run.
#[derive(Debug, Serialize)]
pub struct LoadOutput<'a> {
    valid: bool,
    reasons: &'a [String],
    rules_broken: Vec<BrokenRuleOutput<'a>>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    other_measurement: Option<&'a str>,
    requests: u64,
    carried: u64,
    failed: u64,
    errors: BTreeMap<&'static str, u64>,
    error_examples: BTreeMap<&'static str, &'a str>,
    statuses: Option<StatusesOutput<'a>>,
    duration_s: f64,
    began_unix_s: f64,
    throughput_per_s: f64,
    offered_per_s: f64,
    bytes_per_s: f64,
    response_time_us: Option<&'a Times>,
    gave_up_from_us: Option<u64>,
    server_time_us: Option<&'a Times>,
    service_time_us: Option<&'a Times>,
    first_byte_us: Option<&'a Times>,
    operations: Vec<OperationOutput<'a>>,
    counters: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<&'a UserSummary>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    outside: &'a [OutsideOperation],
    connections: &'a ConnectionSummary,
    client: &'a ClientSummary,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    clients: &'a [ClientPart],
    steps: &'a [SpanSummary],
    intervals: &'a [SpanSummary],
    drain: &'a SpanSummary,
    spec: SpecOutput<'a>,
}

/// Replies of HTTP by their status, with those of operations that failed.
#[derive(Debug, Serialize)]
struct StatusesOutput<'a> {
    /// By class: `2xx`.
    classes: BTreeMap<String, u64>,
    /// By status; `other 2xx` are those without a counter of their own.
    codes: BTreeMap<&'a str, u64>,
}

impl<'a> StatusesOutput<'a> {
    /// None where no reply had a status.
    fn of(counters: &'a BTreeMap<String, u64>) -> Option<Self> {
        let codes: BTreeMap<&str, u64> =
            counters.iter().filter_map(|(name, count)| Some((status_of(name)?, *count))).collect();
        let mut classes = BTreeMap::new();
        for (code, count) in &codes {
            let first = code.trim_start_matches("other ").get(..1).unwrap_or_default();
            *classes.entry(format!("{first}xx")).or_default() += count;
        }
        (!codes.is_empty()).then_some(Self { classes, codes })
    }
}

#[derive(Debug, Serialize)]
struct OperationOutput<'a> {
    name: &'a str,
    #[serde(flatten)]
    summary: &'a OperationSummary,
}

/// A rule that a run broke, with its figures; where several clients made the load, with the one that broke it.
#[derive(Debug, Serialize)]
struct BrokenRuleOutput<'a> {
    #[serde(flatten)]
    rule: RuleOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
enum RuleOutput {
    NothingSucceeded,
    ClientCpu { utilisation: f64 },
    Starved { share: f64 },
    Lag { p99_us: u64, response_time_p50_us: u64, utilisation: f64 },
    Pickup { p99_us: u64, response_time_p50_us: u64, utilisation: f64 },
    Achieved { offered_per_s: f64, achieved_per_s: f64 },
    Connections { wanted: u32, open: u64 },
    SilentConnections { silent: u64, wanted: u32 },
    Errors { share: f64 },
    ClockDrift { drift_us: f64, allowed_us: f64 },
    Mix { operation: String, percent: f64, declared_percent: f64, allowed_points: f64 },
    Delay { actual_s: f64, drawn_s: f64, allowed_percent: f64 },
    DrawnDelay { drawn_s: f64, declared_s: f64, allowed_percent: f64 },
    OperationLimit { operation: String, limit: String, p50_us: u64, p90_us: u64, p99_us: u64 },
    Ratio { ratio: String, found: f64 },
    RefusedVisits { refused: u64, arrived: u64 },
    OutsideOperation { operation: String, failed: u64, of: u64 },
    LittlesLaw { users: u32, found: f64 },
    ClientLost,
}

impl<'a> From<&'a BrokenRule> for BrokenRuleOutput<'a> {
    fn from(reason: &'a BrokenRule) -> Self {
        Self { rule: RuleOutput::from(reason), client: reason.client() }
    }
}

impl From<&BrokenRule> for RuleOutput {
    fn from(reason: &BrokenRule) -> Self {
        match *reason {
            BrokenRule::NothingSucceeded => Self::NothingSucceeded,
            BrokenRule::ClientCpu { utilisation } => Self::ClientCpu { utilisation },
            BrokenRule::Starved { share } => Self::Starved { share },
            BrokenRule::Lag { p99_us, response_time_p50_us, utilisation } => {
                Self::Lag { p99_us, response_time_p50_us, utilisation }
            }
            BrokenRule::Pickup { p99_us, response_time_p50_us, utilisation } => {
                Self::Pickup { p99_us, response_time_p50_us, utilisation }
            }
            BrokenRule::Achieved { offered_per_s, achieved_per_s } => {
                Self::Achieved { offered_per_s, achieved_per_s }
            }
            BrokenRule::Connections { wanted, open } => Self::Connections { wanted, open },
            BrokenRule::SilentConnections { silent, wanted } => Self::SilentConnections { silent, wanted },
            BrokenRule::Errors { share } => Self::Errors { share },
            BrokenRule::ClockDrift { drift_us, allowed_us } => Self::ClockDrift { drift_us, allowed_us },
            BrokenRule::Mix { ref operation, percent, declared_percent, allowed_points } => {
                Self::Mix { operation: operation.clone(), percent, declared_percent, allowed_points }
            }
            BrokenRule::Delay { actual_s, drawn_s, allowed_percent } => {
                Self::Delay { actual_s, drawn_s, allowed_percent }
            }
            BrokenRule::DrawnDelay { drawn_s, declared_s, allowed_percent } => {
                Self::DrawnDelay { drawn_s, declared_s, allowed_percent }
            }
            BrokenRule::OperationLimit { ref operation, ref limit, p50_us, p90_us, p99_us } => {
                Self::OperationLimit {
                    operation: operation.clone(),
                    limit: limit.clone(),
                    p50_us,
                    p90_us,
                    p99_us,
                }
            }
            BrokenRule::Ratio { ref ratio, found } => Self::Ratio { ratio: ratio.clone(), found },
            BrokenRule::RefusedVisits { refused, arrived } => Self::RefusedVisits { refused, arrived },
            BrokenRule::OutsideOperation { ref operation, failed, of } => {
                Self::OutsideOperation { operation: operation.clone(), failed, of }
            }
            BrokenRule::LittlesLaw { users, found } => Self::LittlesLaw { users, found },
            BrokenRule::OfClient { ref rule, .. } => Self::from(&**rule),
            BrokenRule::ClientLost { .. } => Self::ClientLost,
        }
    }
}

/// None where nothing was recorded.
fn known(times: &Times) -> Option<&Times> {
    Some(times).filter(|times| !times.is_empty())
}

impl<'a> LoadOutput<'a> {
    /// The object of a run.
    pub fn of(summary: &'a Summary, spans: &'a Spans) -> Self {
        let operation = |(name, summary): &'a (String, OperationSummary)| OperationOutput { name, summary };
        Self {
            valid: summary.valid,
            reasons: &summary.reasons,
            rules_broken: summary.rules_broken.iter().map(BrokenRuleOutput::from).collect(),
            notes: &summary.notes,
            other_measurement: None,
            requests: summary.requests,
            carried: summary.carried,
            failed: summary.failed,
            errors: summary.errors.iter().map(|(kind, count)| (kind.name(), *count)).collect(),
            error_examples: summary
                .error_examples
                .iter()
                .map(|(kind, example)| (kind.name(), example.as_str()))
                .collect(),
            statuses: StatusesOutput::of(&summary.counters),
            duration_s: summary.duration_s,
            began_unix_s: summary.began_unix().as_secs_f64(),
            throughput_per_s: summary.throughput_per_s,
            offered_per_s: summary.offered_per_s,
            bytes_per_s: summary.bytes_per_s,
            response_time_us: known(&summary.response_time_us),
            gave_up_from_us: summary.gave_up_from_us,
            server_time_us: known(&summary.server_time_us),
            service_time_us: known(&summary.service_time_us),
            first_byte_us: known(&summary.first_byte_us),
            operations: summary.operations.iter().map(operation).collect(),
            counters: &summary.counters,
            users: summary.users.as_ref(),
            outside: &summary.outside,
            connections: &summary.connections,
            client: &summary.client,
            clients: &summary.clients,
            steps: &spans.steps,
            intervals: &spans.intervals,
            drain: &spans.drain,
            spec: SpecOutput::from(&summary.spec),
        }
    }

    /// Adds that another program measured on this machine at the same time.
    #[must_use]
    pub fn with_other_measurement(self, other: Option<&'a str>) -> Self {
        Self { other_measurement: other, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use serde_json::Value;
    use stats::confidence::ConfidenceInterval;

    use super::*;
    use crate::capacity::population::{Population, PopulationCapacity, PopulationStep};
    use crate::capacity::{BudgetUse, Capacity, CapacityStep, Soak};
    use crate::outcome::example;
    use crate::outcome::validity::{self, BrokenRule};
    use crate::record::ErrorKind;
    use crate::user_summary::UserOperation;

    /// The section of docs/FORMATS.md on this format.
    fn page() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMATS.md");
        let page = std::fs::read_to_string(path).expect("docs/FORMATS.md");
        let (_, section) = page.split_once("## `showdown load --format json`\n").expect("the section");
        section.split("\n## ").next().expect("its text").to_owned()
    }

    /// Names in backticks, without the `[]` of a list.
    fn names(text: &str) -> BTreeSet<String> {
        text.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches("[]").to_owned()).collect()
    }

    /// The first column of the section's table, and the row of a field.
    fn documented(page: &str) -> BTreeSet<String> {
        let table = page.lines().skip_while(|line| *line != "| field | meaning |").skip(2);
        let rows = table.take_while(|line| line.starts_with("| `"));
        rows.flat_map(|row| names(row.split('|').nth(1).expect("a column"))).collect()
    }

    fn row<'a>(page: &'a str, field: &str) -> &'a str {
        let is_row = |line: &&str| names(line.split('|').nth(1).unwrap_or_default()).contains(field);
        page.lines().find(is_row).unwrap_or_else(|| panic!("docs/FORMATS.md has no row for {field}"))
    }

    fn keys(object: &Value) -> BTreeSet<String> {
        object.as_object().expect("an object").keys().cloned().collect()
    }

    #[test]
    fn formats_md_documents_every_field_of_a_load() {
        let outcome = example::outcome_of_clients();
        let (summary, spans) = (Summary::of(&outcome), Spans::of(&outcome));
        let output = LoadOutput::of(&summary, &spans).with_other_measurement(Some("(pid 1): showdown"));
        let object = serde_json::to_value(output).expect("plain data");
        let page = page();
        let mut documented = documented(&page);
        assert!(documented.remove("power"), "the command adds it, with `--power`");
        assert!(documented.remove("users"), "only loads of users have it");
        assert!(documented.remove("outside"), "only users with operations outside their mix have it");
        assert_eq!(keys(&object), documented);
        let parts = ["operations", "connections", "client", "clients", "intervals"];
        for field in parts {
            let part = object[field].as_array().map_or(&object[field], |list| &list[0]);
            let missing: Vec<String> = keys(part).difference(&names(row(&page, field))).cloned().collect();
            assert!(missing.is_empty(), "docs/FORMATS.md does not document {missing:?} of {field}");
        }
        assert_eq!(keys(&object["intervals"][0]), keys(&object["drain"]));
        assert_eq!(object["spec"]["shape"]["arrivals"], "poisson");
    }

    #[test]
    fn formats_md_documents_every_field_of_users() {
        let operation = UserOperation {
            name: "home".to_owned(),
            begun: 1,
            percent: Some(100.0),
            declared_percent: 100.0,
            next_percent: vec![100.0],
            declared_next_percent: vec![100.0],
            delay: "cycle exp:5s".to_owned(),
            declared_delay_s: 4.97,
            drawn_delay_s: Some(5.0),
            actual_delay_s: None,
            limit: None,
            meets_limit: None,
        };
        let users = UserSummary {
            count: 1,
            arrived: Some(1),
            refused: Some(0),
            left: 0,
            begun: 1,
            count_by_littles_law: None,
            declared_delay_s: 4.97,
            drawn_delay_s: None,
            actual_delay_s: None,
            late_us: Times::default(),
            operations: vec![operation],
        };
        let object = serde_json::to_value(&users).expect("plain data");
        let page = page();
        let documented = names(row(&page, "users"));
        for key in keys(&object).union(&keys(&object["operations"][0])) {
            assert!(documented.contains(key), "docs/FORMATS.md does not document {key} of users");
        }
    }

    #[test]
    fn formats_md_documents_every_rule_and_error() {
        let reasons = [
            BrokenRule::NothingSucceeded,
            BrokenRule::ClientCpu { utilisation: 1.0 },
            BrokenRule::Starved { share: 1.0 },
            BrokenRule::Lag { p99_us: 1, response_time_p50_us: 1, utilisation: 0.1 },
            BrokenRule::Pickup { p99_us: 1, response_time_p50_us: 1, utilisation: 0.1 },
            BrokenRule::Achieved { offered_per_s: 1.0, achieved_per_s: 1.0 },
            BrokenRule::SilentConnections { silent: 48, wanted: 64 },
            BrokenRule::Errors { share: 1.0 },
            BrokenRule::ClockDrift { drift_us: -1.0, allowed_us: 1.0 },
            BrokenRule::Mix {
                operation: String::new(),
                percent: 1.0,
                declared_percent: 5.0,
                allowed_points: 2.0,
            },
            BrokenRule::Delay { actual_s: 2.0, drawn_s: 1.0, allowed_percent: 2.0 },
            BrokenRule::DrawnDelay { drawn_s: 2.0, declared_s: 1.0, allowed_percent: 2.0 },
            BrokenRule::OperationLimit {
                operation: String::new(),
                limit: String::new(),
                p50_us: 1,
                p90_us: 1,
                p99_us: 1,
            },
            BrokenRule::Ratio { ratio: String::new(), found: 0.0 },
            BrokenRule::RefusedVisits { refused: 1, arrived: 2 },
            BrokenRule::OutsideOperation { operation: String::new(), failed: 1, of: 2 },
            BrokenRule::LittlesLaw { users: 1, found: 2.0 },
            BrokenRule::ClientLost { client: "c1".to_owned(), why: "host c1 was lost".to_owned() },
        ];
        let page = page();
        let documented = names(&page);
        for reason in &reasons {
            let rule = serde_json::to_value(BrokenRuleOutput::from(reason)).expect("plain data");
            assert!(documented.contains(rule["rule"].as_str().expect("a name")), "{rule}");
        }
        let of_client = BrokenRule::OfClient {
            client: "c2".to_owned(),
            rule: Box::new(BrokenRule::Starved { share: 0.5 }),
        };
        let of_client = serde_json::to_value(BrokenRuleOutput::from(&of_client)).expect("plain data");
        assert_eq!(of_client, serde_json::json!({ "rule": "starved", "share": 0.5, "client": "c2" }));
        for kind in ErrorKind::ALL {
            assert!(documented.contains(kind.name()), "{kind}");
        }
        assert_eq!(validity::check(&example::outcome()).reasons, []);
    }

    #[test]
    fn formats_md_documents_every_field_of_a_search() {
        let outcome = example::outcome();
        let slo = "p99<5ms".parse().expect("an objective");
        let spent = BudgetUse::of(&slo, &outcome);
        let (summary, spans) = (Summary::of(&outcome), Spans::of(&outcome));
        let capacity = Capacity {
            slo,
            capacity_per_s: Some(1_000.0),
            bound: None,
            interval: Some(ConfidenceInterval { low: 950.0, high: 1_050.0 }),
            valid: true,
            reasons: Vec::new(),
            method: String::new(),
            closed_loop_per_s: 1_200.0,
            soak: Some(Soak {
                rate_per_s: 990.0,
                own_time: Duration::from_secs(20),
                spent: spent.clone(),
                soaks: 2,
            }),
            curve: vec![CapacityStep {
                rate_per_s: 1_000.0,
                slices: 10,
                client_limited: 1,
                spent,
                summary,
                spans,
            }],
        };
        let output = CapacityOutput::from(&capacity).with_other_measurement(Some("(pid 1): showdown"));
        let object = serde_json::to_value(output).expect("plain data");
        let page = page();
        let (_, search) = page.split_once("With `--find-capacity`").expect("the part on searches");
        let documented = names(search);
        let interval = keys(&object["interval_per_s"]);
        let soak = keys(&object["soak"]);
        for key in keys(&object).union(&keys(&object["curve"][0])).chain(&interval).chain(&soak) {
            assert!(documented.contains(key), "docs/FORMATS.md does not document {key} of a search");
        }
    }

    #[test]
    fn formats_md_documents_every_field_of_a_search_for_a_population() {
        let outcome = example::outcome();
        let slo = "p99<5ms".parse().expect("an objective");
        let step = PopulationStep {
            population: Population::Users(40),
            spent: BudgetUse::of(&slo, &outcome),
            missed: Vec::new(),
            client_reasons: Vec::new(),
            summary: Summary::of(&outcome),
            spans: Spans::of(&outcome),
        };
        let found = PopulationCapacity {
            slo,
            carried: Some(Population::Users(40)),
            missed: Some(Population::Visits(42.5)),
            valid: true,
            reasons: Vec::new(),
            steps: vec![step],
        };
        let output = PopulationOutput::from(&found).with_other_measurement(Some("(pid 1): showdown"));
        let object = serde_json::to_value(output).expect("plain data");
        let page = page();
        let (_, search) = page.split_once("With `--scenario` and `--find-capacity`").expect("the part");
        let documented = names(search);
        let sizes = keys(&object["carried"]).union(&keys(&object["missed"])).cloned().collect();
        for key in keys(&object).union(&keys(&object["steps"][0])).chain::<&BTreeSet<String>>(&sizes) {
            assert!(documented.contains(key), "docs/FORMATS.md does not document {key} of a search");
        }
    }

    #[test]
    fn statuses_are_counted_by_class_and_by_code() {
        let counters = [("hits", 9), ("status 200", 5), ("status 301", 2), ("status other 3xx", 1)];
        let counters = counters.map(|(name, count)| (name.to_owned(), count)).into();
        let statuses = serde_json::to_string(&StatusesOutput::of(&counters)).expect("plain data");
        assert_eq!(statuses, r#"{"classes":{"2xx":5,"3xx":3},"codes":{"200":5,"301":2,"other 3xx":1}}"#);
        assert!(StatusesOutput::of(&[("hits".to_owned(), 9)].into()).is_none());
    }
}
