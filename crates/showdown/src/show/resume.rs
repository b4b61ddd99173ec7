//! Runs that were interrupted: when they went on.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use archive::model::Facts;

use super::layout::units::plural;

/// One line for each time that the run was resumed; empty if it never was.
pub fn when_resumed(facts: Option<&Facts>) -> String {
    let mut out = String::new();
    for resumption in facts.iter().flat_map(|facts| &facts.resumed) {
        let at = UNIX_EPOCH + Duration::from_millis(resumption.at_unix_ms);
        let changed: Vec<&str> = resumption.changes.iter().map(|change| change.fact.as_str()).collect();
        let changed = if changed.is_empty() {
            String::new()
        } else {
            format!("; changed since the beginning: {}", changed.join(", "))
        };
        let _ = writeln!(
            out,
            "resumed {} with block {} after {}{changed}",
            humantime::format_rfc3339_seconds(at),
            resumption.block,
            plural(resumption.kept_trials.into(), "kept trial"),
        );
    }
    out
}
