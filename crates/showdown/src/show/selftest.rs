//! The report of a selftest on a terminal.

use std::fmt::Write;

use truth::checks::comparison::Resolution;
use truth::finding::{Finding, FindingUnit};
use truth::floor::Floor;
use truth::selftest::{Fitness, SelftestReport};

use super::layout::table::table;
use super::layout::units::{count, plural, rate, time};
use crate::color;

/// The fitness, the reasons for it, the table of findings, and the floor.
pub fn report(report: &SelftestReport) -> String {
    let mut out = match report.fitness {
        Fitness::Fit => {
            format!("{} every known value was measured within its tolerance.\n", color::good("FIT:"))
        }
        Fitness::FitWithLimits => {
            format!("{} this host cannot measure the following:\n", color::caution("FIT WITH LIMITS:"))
        }
        Fitness::Unfit => {
            format!("{} fix the following before you trust numbers from this host:\n", color::bad("UNFIT:"))
        }
    };
    for reason in &report.reasons {
        let _ = writeln!(out, "  - {reason}");
    }
    out.push('\n');
    out.push_str(&findings_table(&report.findings));
    if let Some(floor) = &report.floor {
        out.push_str(&self::floor(floor));
    }
    if let Some(resolution) = &report.resolution {
        out.push_str(&self::resolution(resolution));
    }
    for (protocol, capacity) in &report.capacity_per_s {
        let _ = writeln!(
            out,
            "One worker can offer {} {protocol} operations per second with a valid measurement.",
            rate(*capacity)
        );
    }
    let failed = report.findings.iter().filter(|finding| !finding.passed).count();
    let steal = report
        .steal
        .map_or(String::new(), |share| format!(" The hypervisor took {:.1} % of the CPUs.", share * 100.0));
    let _ = writeln!(
        out,
        "{} of {} checks passed in {:.0} s.{steal}",
        report.findings.len() - failed,
        report.findings.len(),
        report.duration_s
    );
    out
}

/// Known and measured values.
pub fn findings_table(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut rows = vec![["check", "known", "measured", "tolerance", ""].map(str::to_owned).to_vec()];
    for finding in findings {
        let value = |value: f64| in_unit(finding.unit, value);
        rows.push(vec![
            format!("{}: {} {}", finding.check, finding.case, finding.statistic).trim_end().to_owned(),
            value(finding.known),
            value(finding.measured),
            value(finding.tolerance),
            if finding.passed { "ok" } else { "FAILED" }.to_owned(),
        ]);
    }
    table(&rows) + "\n"
}

fn in_unit(unit: FindingUnit, value: f64) -> String {
    match unit {
        _ if value.is_nan() => "–".to_owned(),
        FindingUnit::Microseconds => time(value),
        FindingUnit::Count => count(value as u64),
        FindingUnit::Share => format!("{:.2} %", value * 100.0),
        FindingUnit::PerSecond => format!("{}/s", rate(value)),
    }
}

fn floor(floor: &Floor) -> String {
    format!(
        "Smallest measurable latency: {}, of which the server's own clock accounts for {}.\n\
         Spread of one answer from the median to p99: {}.\n\
         The client sends late by {} (p50), {} (p99), {} (max); replies lie unread for {} (p50), {} (p99){}.\n",
        time(floor.min_latency_us as f64),
        time(floor.server_part_us),
        time(floor.jitter_us as f64),
        time(floor.lag_us.p50 as f64),
        time(floor.lag_us.p99 as f64),
        time(floor.lag_us.max as f64),
        time(floor.pickup_us.p50 as f64),
        time(floor.pickup_us.p99 as f64),
        if floor.stamped > 0.99 { ", which is not part of any time" } else { "" },
    )
}

fn resolution(resolution: &Resolution) -> String {
    let shown: Vec<String> = resolution
        .smallest_difference
        .iter()
        .map(|(blocks, smallest)| match smallest {
            Some(least) => format!("{:.1} % in {}", least * 100.0, plural(*blocks as u64, "block")),
            None => format!("none in {}", plural(*blocks as u64, "block")),
        })
        .collect();
    format!(
        "Smallest difference that a comparison detects on this host (power 80 %): {}.\n\
         (Restarts of a steady server scatter by {:.2} %; real servers scatter more.)\n",
        shown.join(", "),
        resolution.log_sd * 100.0
    )
}
