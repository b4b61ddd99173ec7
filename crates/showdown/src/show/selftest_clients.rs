//! The report of a selftest of several clients on a terminal.

use std::fmt::Write;

use serde_json::Value;
use truth::clients_report::{ClientsReport, TestedClient};

use super::selftest::findings_table;
use crate::color;

/// The fitness of all, a line for each host with its reasons, and what they counted together.
pub fn report(report: &ClientsReport) -> String {
    let mut out = match report.fitness {
        "fit" => format!("{} these hosts can make one load.\n", color::good("FIT:")),
        "fit_with_limits" => {
            format!(
                "{} these hosts can make one load, with the limits of each:\n",
                color::caution("FIT WITH LIMITS:")
            )
        }
        _ => format!("{} fix the following before you trust a load of these hosts:\n", color::bad("UNFIT:")),
    };
    for client in &report.clients {
        let _ = writeln!(out, "  {}: {}", client.name, client.fitness().replace('_', " "));
        for reason in reasons(client) {
            let _ = writeln!(out, "    - {reason}");
        }
    }
    out.push('\n');
    out.push_str(&findings_table(&report.findings));
    let passed = report.findings.iter().filter(|finding| finding.passed).count();
    let _ = writeln!(out, "{passed} of {} counts of all together are exact.", report.findings.len());
    out
}

fn reasons(client: &TestedClient) -> impl Iterator<Item = &str> {
    client.report["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use truth::finding::{Finding, FindingUnit};

    use super::*;

    #[test]
    fn each_host_has_its_fitness_and_its_reasons() {
        let client = |name: &str, fitness: &str, reasons: &[&str]| TestedClient {
            name: name.to_owned(),
            report: serde_json::json!({ "fitness": fitness, "reasons": reasons }),
        };
        let clients = vec![client("c1", "fit", &[]), client("c2", "fit_with_limits", &["queue: slow"])];
        let findings = vec![Finding::new("clients", "replies", FindingUnit::Count, 7.0, 7.0)];
        let text = report(&ClientsReport::new(clients, findings));
        for part in ["  c1: fit\n", "  c2: fit with limits\n    - queue: slow\n", "1 of 1 counts"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
}
