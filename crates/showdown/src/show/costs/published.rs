//! Published evaluations for a terminal: the figures, what they amount to, and the claims that were checked.

use std::fmt::Write as _;

use cost::published::{Check, Efficiency, ListedResult, Outcome, PublishedReport};

use crate::color;
use crate::show::layout::table::table;
use crate::show::layout::units::plural;

/// All of it.
pub fn text(report: &PublishedReport) -> String {
    let mut out = figures(&report.results);
    out.push_str(&efficiency(&report.efficiency));
    out.push_str(&checks(&report.checks));
    out
}

fn figures(results: &[ListedResult]) -> String {
    let mut out = format!("{}\n", plural(results.len() as u64, "published figure"));
    let mut source = "";
    for result in results {
        if result.source != source {
            source = &result.source;
            let _ = writeln!(out, "\n{} {}", result.year, color::heading(source));
        }
        let system = result.system.as_deref().unwrap_or("several machines");
        let variant = result.variant.as_ref().map_or(String::new(), |variant| format!(" ({variant})"));
        let client = result.client.as_ref().map_or(String::new(), |client| format!(", client {client}"));
        let _ = writeln!(out, "  {}: {system}{variant}: {}{client}", result.workload, figure(result));
        if let Some(caveat) = &result.caveat {
            let _ = writeln!(out, "    {} {caveat}", color::caution("caveat:"));
        }
    }
    out
}

/// `5,718 requests/s`; a list of figures after what they are.
fn figure(ListedResult { value, metric, .. }: &ListedResult) -> String {
    let is_number = value.chars().all(|c| c.is_ascii_digit() || ",.".contains(c));
    if is_number { format!("{value} {metric}") } else { format!("{metric}: {value}") }
}

fn efficiency(lines: &[Efficiency]) -> String {
    let computed: Vec<&Efficiency> = lines.iter().filter(|line| line.watts.is_some()).collect();
    if computed.is_empty() {
        return String::new();
    }
    let head = ["computed from them", "figure", "watts (estimate)", "operations a joule", "SWaP"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let digits = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    rows.extend(computed.iter().map(|line| {
        let variant = line.variant.as_ref().map_or(String::new(), |variant| format!(", {variant}"));
        vec![
            format!("{}{variant}: {}", line.system.as_deref().unwrap_or_default(), line.metric),
            digits(line.value),
            line.watts.map_or_else(|| "–".to_owned(), |watts| format!("{watts:.0} W")),
            digits(line.operations_per_joule),
            digits(line.swap),
        ]
    }));
    let others = lines.len() - computed.len();
    format!(
        "\n{}\n  SWaP = figure / (rack units × watts). {} cannot be computed: --format md says why.\n",
        table(&rows),
        plural(others as u64, "further figure")
    )
}

fn checks(checks: &[Check]) -> String {
    let mut out = String::new();
    for Check { claim, printed, computed, outcome, why } in checks {
        let words = match outcome {
            Outcome::Reproduced => color::good(outcome.words()),
            Outcome::Differs | Outcome::NotCheckable => color::caution(outcome.words()),
        };
        let _ = writeln!(out, "\n{claim}: {words}");
        let _ = writeln!(out, "  printed   {printed}\n  computed  {computed}\n  {why}");
    }
    out
}
