//! A run of transfers as Markdown and as CSV: the sentence and what ran out, and one row per step.

use crate::{ReportError, cell::word, escape::plain, words};
use archive::model::{Concurrency, ConcurrencyStep, thousands};
use std::fmt::Write;

/// Writing to a string does not fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{ let _ = writeln!($out, $($text)*); }};
}

const NONE: &str = "–";

pub(crate) fn render(out: &mut String, found: &Concurrency) {
    line!(out, "**{}.**\n", plain(&found.sentence));
    line!(
        out,
        "Each client downloads {} at {} B/s, and reads about every {:.1} s. The run ended: {}.\n",
        plain(&found.download),
        words::amount(found.pace_bytes_per_s),
        found.seen_read_interval_s(),
        plain(&found.ended)
    );
    line!(
        out,
        "| transfers | in progress | availability | first byte p50 | p99 | max | pace | failed | reads late p99, of at most | server CPU | server B each | kernel B each | client B each |"
    );
    line!(out, "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for step in &found.steps {
        line!(out, "| {} |", cells(step).join(" | "));
    }
    out.push('\n');
    if let Some(recovery) = &found.recovery {
        let answered = recovery.answered_after_s.map_or_else(
            || {
                format!(
                    "New ones were not answered within a second in the {:.0} s after that",
                    recovery.watched_s
                )
            },
            |seconds| format!("New ones were answered within a second again after {seconds:.0} s"),
        );
        let broken = thousands(recovery.after_transfers.into());
        line!(out, "After the break at {broken}, all clients left. {answered}.\n");
    }
    for ran_out in &found.ran_out {
        let (sentence, evidence) = (plain(&ran_out.sentence), plain(&ran_out.evidence.join("; ")));
        line!(out, "- ran out: {sentence} ({evidence}). What could be done: {}.", plain(&ran_out.remedy));
    }
    if !found.ran_out.is_empty() {
        out.push('\n');
    }
}

fn cells(step: &ConcurrencyStep) -> [String; 13] {
    let us = |us: u64| words::quantity(us as f64, "µs");
    let whole = |value: f64| thousands(value.round());
    let [p50, p99, max] = match step.first_byte.count {
        0 => [NONE; 3].map(str::to_owned),
        _ => [step.first_byte.p50_us, step.first_byte.p99_us, step.first_byte.max_us].map(us),
    };
    [
        thousands(step.transfers.into()),
        thousands(step.in_progress as f64),
        words::percent(step.availability),
        p50,
        p99,
        max,
        step.pace_share.map_or_else(|| NONE.to_owned(), words::percent),
        thousands(step.errors.values().sum::<u64>() as f64),
        format!("{} of {}", us(step.client_late_p99_us), us(step.client_late_limit_us)),
        step.server_cpu_cores.map_or_else(|| NONE.to_owned(), |cores| format!("{cores:.2}")),
        step.server_bytes_each().map_or_else(|| NONE.to_owned(), whole),
        whole(step.kernel_bytes_each()),
        whole(step.client_bytes_each()),
    ]
}

const COLUMNS: [&str; 32] = [
    "transfers",
    "in_progress",
    "attempts",
    "successes",
    "availability",
    "rise_s",
    "hold_s",
    "is_steady",
    "first_byte_p50_us",
    "first_byte_p99_us",
    "first_byte_max_us",
    "first_byte_of_rise_p99_us",
    "completion_p50_us",
    "completion_p99_us",
    "completed",
    "probes",
    "probes_failed",
    "pace_share",
    "stalled_share",
    "errors",
    "client_late_p99_us",
    "client_late_limit_us",
    "client_behind_share",
    "client_cpu_cores",
    "client_bytes",
    "server_cpu_cores",
    "server_bytes",
    "kernel_bytes",
    "tcp_bytes",
    "available_bytes",
    "listen_overflows",
    "syn_drops",
];

/// One row per step.
pub(crate) fn csv(found: &Concurrency) -> Result<String, ReportError> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(COLUMNS)?;
    for step in &found.steps {
        csv.write_record(row(step))?;
    }
    let bytes = csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8(bytes).expect("all fields are text"))
}

fn row(step: &ConcurrencyStep) -> [String; 32] {
    let errors: Vec<String> = step.errors.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    let counter = |name: &str| step.counters.get(name).copied().unwrap_or_default().to_string();
    let optional = |value: Option<String>| value.unwrap_or_default();
    [
        step.transfers.to_string(),
        step.in_progress.to_string(),
        step.attempts.to_string(),
        step.successes.to_string(),
        step.availability.to_string(),
        step.rise_s.to_string(),
        step.length_s.to_string(),
        step.is_steady.to_string(),
        step.first_byte.p50_us.to_string(),
        step.first_byte.p99_us.to_string(),
        step.first_byte.max_us.to_string(),
        step.first_byte_of_rise.p99_us.to_string(),
        step.completion.p50_us.to_string(),
        step.completion.p99_us.to_string(),
        step.completion.count.to_string(),
        step.probes.to_string(),
        step.probes_failed.to_string(),
        optional(step.pace_share.map(|share| share.to_string())),
        step.stalled_share.to_string(),
        word(&errors.join(" ")),
        step.client_late_p99_us.to_string(),
        step.client_late_limit_us.to_string(),
        optional(step.client_behind_share.map(|share| share.to_string())),
        step.client_cpu_cores.to_string(),
        step.client_bytes.to_string(),
        optional(step.server_cpu_cores.map(|cores| cores.to_string())),
        optional(step.server_bytes.map(|bytes| bytes.to_string())),
        step.kernel_bytes.to_string(),
        step.tcp_bytes.to_string(),
        step.available_bytes.to_string(),
        counter("listen_overflows"),
        counter("syn_drops"),
    ]
}
