//! What could not be determined, and why. Leaving it out would look like a "no".

use std::collections::BTreeSet;

use archive::model::Unknown;

use crate::figures::{Figures, Plain};
use crate::rules::{Rule, RuleOutcome};

/// Families of figures: how their names begin, what they are, and why there are none.
const FAMILIES: &[(&str, &str, &str)] = &[
    (
        "threads.",
        "what threads wait for",
        "the states of threads were not sampled, or none of them is readable for this user",
    ),
    ("pressure.", "waits for memory and disks", "the kernel gives no pressure stall information (PSI)"),
    ("run_queue.", "waits for a CPU", "the kernel gives no pressure stall information (PSI)"),
    (
        "switches.",
        "switches of threads",
        "the server has too many threads, or they are not readable for this user",
    ),
    ("server_cpus.steal", "the hypervisor", "the kernel does not report steal"),
    ("server_cpus.", "the server's CPUs", "/proc/stat is not readable"),
    ("tcp.", "TCP", "/proc/net is not readable"),
    ("softnet.", "the network receive path", "/proc/net is not readable"),
];

/// Families whose absence is no gap: the server has nothing of the kind, or the machine has one CPU.
const NO_GAP: &[&str] = &[
    "statistics_unanswered",
    "statistics.",
    "limits.",
    "server_cpus.rest",
    "swap.",
    "cpu.throttles",
    "client.",
    "disk.",
    // A program that makes its own load has no connections.
    "loop.share",
    // Why there is no profile, or no stack of a wait, is said beside the other reasons.
    "profile.",
    "operation.",
];

/// What these rules could not decide with these figures, and what this user cannot see.
pub(crate) fn of(rules: &[Rule], figures: &Figures, plain: &Plain<'_>) -> Vec<Unknown> {
    let missing: BTreeSet<String> = rules
        .iter()
        .filter_map(|rule| match rule.evaluate(figures) {
            RuleOutcome::NotKnown { figure } => Some(figure),
            _ => None,
        })
        .collect();
    let mut unknown: Vec<Unknown> = Vec::new();
    for figure in missing.iter().filter(|figure| !NO_GAP.iter().any(|family| figure.starts_with(family))) {
        let family = FAMILIES.iter().find(|(begin, ..)| figure.starts_with(begin));
        let (what, why) =
            family.map_or((figure.as_str(), "it was not measured"), |(_, what, why)| (*what, *why));
        if unknown.iter().all(|other| other.what != what) {
            unknown.push(Unknown { what: what.to_owned(), why: why.to_owned() });
        }
    }
    if let Some(why) = plain.readings.iter().find_map(|reading| reading.statistics_problem.as_ref()) {
        unknown.push(Unknown { what: "what the server says of itself".to_owned(), why: why.clone() });
    }
    if !plain.facts.is_root {
        unknown.push(Unknown {
            what: "who holds a lock, and who wakes whom".to_owned(),
            why: "needs root: the kernel's tracepoints are not readable for this user".to_owned(),
        });
    }
    unknown
}
