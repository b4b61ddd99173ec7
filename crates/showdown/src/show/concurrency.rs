//! A run of transfers for a terminal: the sentence, the steps, the recovery, what ran out, and what bounds this machine.

use std::fmt::Write as _;

use archive::model::{Concurrency, ConcurrencyStep};

use super::layout::sentence::capitalised;
use super::layout::table::table;
use super::layout::units::{count, quantity, time};
use crate::color;

/// The whole answer.
pub fn text(found: &Concurrency, dir: &str, report: Option<&str>) -> String {
    let mut out = format!("{}\n\n", color::heading(capitalised(&found.sentence)));
    let _ = writeln!(
        out,
        "{} at {} for each client, read about every {:.1} s.\n",
        found.download,
        quantity(found.pace_bytes_per_s, "B/s"),
        found.seen_read_interval_s()
    );
    out.push_str(&table(&steps(found)));
    let _ = writeln!(out, "\nEnded: {}.", found.ended);
    if let Some(recovery) = &found.recovery {
        let after = count(recovery.after_transfers.into());
        let _ = match recovery.answered_after_s {
            Some(seconds) => writeln!(
                out,
                "After the break at {after}, new clients were answered within a second again after {seconds:.0} s."
            ),
            None => writeln!(
                out,
                "After the break at {after}, new clients were not answered within a second for {:.0} s.",
                recovery.watched_s
            ),
        };
    }
    for ran_out in &found.ran_out {
        let _ = writeln!(out, "\n{} {}", color::bad("ran out:"), ran_out.sentence);
        for evidence in &ran_out.evidence {
            let _ = writeln!(out, "  {evidence}");
        }
        let _ = writeln!(out, "  {}", ran_out.remedy);
    }
    out.push_str(&limits(found));
    for setting in &found.settings {
        let _ = writeln!(
            out,
            "  {} was {} and is put back; {} during the run",
            setting.name, setting.from, setting.to
        );
    }
    let _ = writeln!(out, "\nrun     {dir}");
    if let Some(report) = report {
        let _ = writeln!(out, "report  {report}");
    }
    out
}

/// What bounds the number of transfers.
fn limits(found: &Concurrency) -> String {
    if found.limits.is_empty() {
        return "\nBoth ends of the transfers are elsewhere: nothing bounds them here.\n".to_owned();
    }
    let mut rows = vec![["limit", "value", "allows"].map(str::to_owned).to_vec()];
    rows.extend(found.limits.iter().map(|limit| {
        let allows = match (limit.allows, limit.is_changed) {
            (_, true) => "changed for the run".to_owned(),
            (Some(allows), false) => count(allows),
            (None, false) => "–".to_owned(),
        };
        vec![limit.name.clone(), limit.value.clone(), allows]
    }));
    format!("\nWhat the machines can hold, before the run:\n\n{}", table(&rows))
}

fn steps(found: &Concurrency) -> Vec<Vec<String>> {
    let head = [
        "transfers",
        "in progress",
        "available",
        "first byte p50",
        "p99",
        "max",
        "pace",
        "stalled",
        "failed",
        "reads late",
        "server CPU",
        "server B each",
        "kernel B each",
        "client B each",
        "",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(found.steps.iter().map(|step| row(found, step)));
    rows
}

fn row(found: &Concurrency, step: &ConcurrencyStep) -> Vec<String> {
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let us = |us: u64| if step.first_byte.count == 0 { "–".to_owned() } else { time(us as f64) };
    let whole = |value: f64| count(value.round() as u64);
    let mark = match Some(step.transfers) {
        this if this == found.breaking_point => "breaks",
        this if this == found.comfortable_point => "comfortable",
        _ if !step.is_steady => "not steady",
        _ => "",
    };
    vec![
        count(step.transfers.into()),
        count(step.in_progress),
        format!("{:.2} %", step.availability * 100.0),
        us(step.first_byte.p50_us),
        us(step.first_byte.p99_us),
        us(step.first_byte.max_us),
        step.pace_share.map_or_else(|| "–".to_owned(), share),
        share(step.stalled_share),
        count(step.errors.values().sum()),
        time(step.client_late_p99_us as f64),
        step.server_cpu_cores.map_or_else(|| "–".to_owned(), |cores| format!("{cores:.2}")),
        step.server_bytes_each().map_or_else(|| "–".to_owned(), whole),
        whole(step.kernel_bytes_each()),
        whole(step.client_bytes_each()),
        mark.to_owned(),
    ]
}
