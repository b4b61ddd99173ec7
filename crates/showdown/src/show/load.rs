//! The answer of `showdown load` as text: a sentence, the tables, and whether the measurement is valid.

pub mod capacity;
pub mod population;
mod users;

use std::fmt::Write;
use std::time::Duration;

use load::drivers::http::status_of;
use load::engine::LoadOutcome;
use load::record::Micros;
use load::spans::Spans;
use load::spec::Shape;
use load::summary::Summary;
use load::tls::Trust;
use stats::queueing;
use stats::times::Times;

use super::layout::table::table;
use super::layout::units;
use super::layout::units::{count, plural, quantity, rate, time};
use crate::color;

/// Rows of the text histogram.
const HISTOGRAM_ROWS: usize = 10;
/// The widest bar of the histogram, in characters.
const HISTOGRAM_WIDTH: f64 = 50.0;
/// Up to this many counters are shown even if they are 0.
const MOST_COUNTERS: usize = 8;

/// The answer of one run.
pub fn summary(title: &str, summary: &Summary, spans: &Spans, outcome: &LoadOutcome) -> String {
    let mut out = format!("{title}\n\n");
    let answer = format!(
        "{} requests/s, {} received, {} in {}{}",
        rate(summary.throughput_per_s),
        quantity(summary.bytes_per_s, "B/s"),
        plural(summary.requests, "request"),
        time(summary.duration_s * 1e6),
        if summary.failed == 0 { String::new() } else { format!(", {} failed", count(summary.failed)) },
    );
    let _ = writeln!(out, "  {}\n", color::heading(answer));
    out.push_str(&times(
        &[
            ("response time", &summary.response_time_us),
            ("service time", &summary.service_time_us),
            ("first byte", &summary.first_byte_us),
            ("client's part", &summary.client.delay_us),
        ],
        summary.gave_up_from_us,
    ));
    if summary.operations.len() > 1 {
        out.push('\n');
        out.push_str(&operations(summary));
    }
    if let Some(of_users) = &summary.users {
        out.push('\n');
        out.push_str(&users::lines(of_users));
    }
    if !summary.outside.is_empty() {
        out.push('\n');
        out.push_str(&users::outside(&summary.outside));
    }
    if !summary.clients.is_empty() {
        out.push('\n');
        out.push_str(&clients(summary));
    }
    if !spans.steps.is_empty() {
        out.push('\n');
        out.push_str(&steps(spans));
    }
    out.push('\n');
    out.push_str(&histogram(&outcome.total.response_times()));
    out.push_str(&particulars(summary));
    out.push_str(&validity(summary.valid, &summary.reasons, &summary.notes));
    out
}

/// The share of operations that were late, per cent.
fn late(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

/// A time of a distribution; one of response times from `at_least` on is a lower bound. A dash where nothing was recorded.
fn response_time(of: &Times, us: u64, at_least: Option<u64>) -> String {
    units::response_time((!of.is_empty()).then_some(us), at_least)
}

/// The same of times that are all known.
fn known_time(of: &Times, us: u64) -> String {
    response_time(of, us, None)
}

/// The first row are response times.
fn times(rows: &[(&str, &Times)], at_least: Option<u64>) -> String {
    let mut cells =
        vec![["", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"].map(str::to_owned).to_vec()];
    for (place, (name, times)) in rows.iter().enumerate() {
        let at_least = if place == 0 { at_least } else { None };
        let mean = match at_least {
            _ if times.is_empty() => "–".to_owned(),
            Some(_) => format!("≥ {}", time(times.mean)),
            None => time(times.mean),
        };
        let mut row = vec![(*name).to_owned(), mean];
        let percentiles = [times.p50, times.p90, times.p95, times.p99, times.p99_9, times.p99_99, times.max];
        row.extend(percentiles.map(|us| response_time(times, us, at_least)));
        cells.push(row);
    }
    table(&cells)
}

fn operations(summary: &Summary) -> String {
    let mut rows =
        vec![["operation", "requests/s", "failed", "p50", "p90", "p99", "max"].map(str::to_owned).to_vec()];
    for (name, op) in &summary.operations {
        let response = &op.response_time_us;
        let mut row = vec![name.clone(), rate(op.throughput_per_s), count(op.failed)];
        let at_least = summary.gave_up_from_us;
        let shown = [response.p50, response.p90, response.p99, response.max];
        row.extend(shown.map(|us| response_time(response, us, at_least)));
        rows.push(row);
    }
    table(&rows)
}

/// Each client with its part of the load, and whether it kept the rules.
fn clients(summary: &Summary) -> String {
    let mut rows = vec![
        [
            "client",
            "operations",
            "requests/s",
            "failed",
            "p50",
            "p99",
            "lag p99",
            "CPU",
            "clock error",
            "clock drift",
            "",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for client in &summary.clients {
        let response = &client.response_time_us;
        let verdict = match (&client.lost, client.valid) {
            (Some(_), _) => "lost",
            (None, true) => "valid",
            (None, false) => "invalid",
        };
        let mut row = vec![client.name.clone(), count(client.requests), rate(client.throughput_per_s)];
        row.push(count(client.failed));
        let at_least = summary.gave_up_from_us;
        row.extend([response.p50, response.p99].map(|us| response_time(response, us, at_least)));
        row.push(known_time(&client.lag_us, client.lag_us.p99));
        row.extend([format!("{:.0} %", client.utilisation * 100.0), time(client.clock_error_us)]);
        row.push(client.clock_drift_us.map_or_else(|| "–".to_owned(), |us| time(us.abs())));
        row.push(verdict.to_owned());
        rows.push(row);
    }
    table(&rows)
}

fn steps(spans: &Spans) -> String {
    let mut rows =
        vec![["from", "offered/s", "achieved/s", "failed", "p50", "p99", "max"].map(str::to_owned).to_vec()];
    for step in &spans.steps {
        let response = &step.response_time_us;
        let mut row = vec![format!("{} s", step.start_s), rate(step.offered_per_s)];
        row.extend([rate(step.throughput_per_s), count(step.failed)]);
        let shown = [response.p50, response.p99, response.max];
        row.extend(shown.map(|us| response_time(response, us, step.gave_up_from_us)));
        rows.push(row);
    }
    table(&rows)
}

/// Response times from the minimum to the 99.9th percentile, in classes of equal ratio.
fn histogram(response: &Micros) -> String {
    if response.len() < 2 {
        return String::new();
    }
    let (low, high) = (response.min().max(1) as f64, response.value_at_quantile(0.999).max(2) as f64);
    let ratio = (high / low).max(1.01).powf(1.0 / HISTOGRAM_ROWS as f64);
    let bounds: Vec<u64> =
        (1..=HISTOGRAM_ROWS).map(|row| (low * ratio.powf(row as f64)).ceil() as u64).collect();
    let mut below = 0;
    let counts: Vec<u64> = bounds
        .iter()
        .map(|&bound| {
            let upto = response.count_between(0, bound);
            let class = upto.saturating_sub(below);
            below = upto;
            class
        })
        .collect();
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let rows: Vec<Vec<String>> = bounds
        .iter()
        .zip(&counts)
        .map(|(&bound, &class)| {
            let bar = "▇".repeat((class as f64 / most * HISTOGRAM_WIDTH).round() as usize);
            let share = class as f64 / response.len() as f64 * 100.0;
            vec![format!("≤ {}", time(bound as f64)), format!("{share:.1} %"), bar]
        })
        .collect();
    let label_width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let line = format!("  {:>label_width$}  {:>6}  {}", row[0], row[1], row[2]);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push('\n');
    out
}

/// How many replies had which status, by class and by code.
fn statuses(summary: &Summary) -> Option<String> {
    let counts = summary.counters.iter().filter_map(|(name, number)| Some((status_of(name)?, *number)));
    let all: u64 = counts.clone().map(|(_, number)| number).sum();
    let codes: Vec<String> =
        counts.clone().map(|(status, number)| format!("{} with {status}", count(number))).collect();
    let of_class = |class: char| -> u64 {
        counts
            .clone()
            .filter(|(status, _)| status.trim_start_matches("other ").starts_with(class))
            .map(|(_, n)| n)
            .sum()
    };
    let shares: Vec<String> = ['2', '3', '4', '5']
        .into_iter()
        .filter(|class| of_class(*class) > 0)
        .map(|class| format!("{class}xx {:.2} %", of_class(class) as f64 / all as f64 * 100.0))
        .collect();
    (all > 0).then(|| match codes.len() {
        1 => codes[0].clone(),
        _ => format!("{} ({})", codes.join(", "), shares.join(", ")),
    })
}

/// One line each for connections, TLS, counters, the client and errors.
fn particulars(summary: &Summary) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<12} {text}");
    };
    let connections = &summary.connections;
    line(
        "connections",
        format!(
            "{} at most, {} opened, connect p50 {} p99 {}",
            count(connections.peak),
            count(connections.opened),
            known_time(&connections.connect_us, connections.connect_us.p50),
            known_time(&connections.connect_us, connections.connect_us.p99)
        ),
    );
    // STARTTLS may be optional, and the server may not offer it.
    let tls = connections.tls.as_ref().filter(|tls| tls.handshakes > 0);
    if let (Some(tls), Some(spec)) = (tls, &summary.spec.tls) {
        let trust = match spec.trust {
            Trust::Anyone => "certificate not checked",
            Trust::System | Trust::File(_) | Trust::Text { .. } => "certificate checked",
        };
        line(
            "TLS",
            format!(
                "{}, {} resumed, p50 {} p99 {}; {trust}",
                plural(tls.handshakes, "handshake"),
                count(tls.resumed),
                time(tls.handshake_us.p50 as f64),
                time(tls.handshake_us.p99 as f64)
            ),
        );
    }
    let hourly = summary.spec.protocol.protocol().hourly_counters();
    if !hourly.is_empty() {
        let per_hour = |name: &&str| {
            let number = summary.counters.get(*name).copied().unwrap_or(0);
            let rate = number as f64 / summary.duration_s.max(f64::MIN_POSITIVE) * 3600.0;
            format!("{} {name}", count(rate.round() as u64))
        };
        line("per hour", hourly.iter().map(per_hour).collect::<Vec<_>>().join(", "));
    }
    if let Some(statuses) = statuses(summary) {
        line("statuses", statuses);
    }
    if summary.counters.keys().any(|name| status_of(name).is_none()) {
        // Of many counters, such as one for each code of a refusal, only those above 0 are shown.
        let is_shown = |number: u64| number > 0 || summary.counters.len() <= MOST_COUNTERS;
        let shown =
            summary.counters.iter().filter(|(name, number)| is_shown(**number) && status_of(name).is_none());
        let shown: Vec<String> = shown.map(|(name, number)| format!("{} {name}", count(*number))).collect();
        line("counters", shown.join(", "));
    }
    let client = &summary.client;
    line(
        "client",
        format!(
            "{:.0} % of {}{}; CPU user {:.2} s, system {:.2} s{}{}",
            client.utilisation * 100.0,
            plural(u64::from(client.threads), "thread"),
            if client.processes == 1 { String::new() } else { format!(" in {} processes", client.processes) },
            client.user_cpu_s,
            client.system_cpu_s,
            match client.spin_cpu_s {
                spin if spin < 0.005 => String::new(),
                spin => format!(", {spin:.2} s of that spinning"),
            },
            match client.run_delay_s {
                waited if waited < 0.005 => String::new(),
                waited => format!(", waited {waited:.2} s for a CPU"),
            }
        ),
    );
    let late = |times: &Times| {
        // Nobody was late where nothing was sent; but a client may be late by less than a microsecond.
        if times.is_empty() && summary.requests + summary.failed == 0 {
            return "–".to_owned();
        }
        let [p50, p99, max] = [times.p50, times.p99, times.max].map(|us| time(us as f64));
        format!("p50 {p50} p99 {p99} max {max}")
    };
    line("sent late", late(&client.lag_us));
    let unread = if client.stamped > 0.99 && summary.requests > 0 { ", not part of the times" } else { "" };
    let read_late = if summary.requests == 0 { "–".to_owned() } else { late(&client.pickup_us) };
    line("read late", format!("{read_late}{unread}"));
    if let Some((name, text)) = loop_line(summary) {
        line(name, text);
    }
    for (kind, number) in &summary.errors {
        let example = summary.error_examples.get(kind).map_or("", String::as_str);
        line("errors", format!("{} {kind}: {example}", count(*number)));
    }
    out.push('\n');
    out
}

/// What was achieved in an open loop, and Little's law of a closed one.
fn loop_line(summary: &Summary) -> Option<(&'static str, String)> {
    match summary.spec.part.shape {
        Shape::Open { .. } => {
            let (achieved, offered) = (rate(summary.throughput_per_s), rate(summary.offered_per_s));
            Some(("achieved", format!("{achieved}/s of {offered}/s offered")))
        }
        Shape::Closed { think } => Some(("Little's law", littles_law(summary, think)?)),
    }
}

/// A closed loop's own check: throughput times the time of a cycle is the number of connections that are in one. What is missing
/// is time that no operation took: the client's, or that of new connections. None of users, whose lines have it, and where
/// operations failed.
fn littles_law(summary: &Summary, think: Duration) -> Option<String> {
    if summary.users.is_some() || summary.requests == 0 || summary.failed > 0 {
        return None;
    }
    let mean_us = summary.response_time_us.mean;
    let busy = queueing::users(summary.throughput_per_s, mean_us / 1e6, think.as_secs_f64());
    let think = if think.is_zero() {
        String::new()
    } else {
        format!(" + {} of think time", time(think.as_secs_f64() * 1e6))
    };
    let of = plural(u64::from(summary.spec.connections), "connection");
    Some(format!("{}/s × {}{think} = {busy:.1} of {of}", rate(summary.throughput_per_s), time(mean_us)))
}

/// The notes, and the last line: whether the measurement is valid.
fn validity(valid: bool, reasons: &[String], notes: &[String]) -> String {
    let mut out = String::new();
    for note in notes {
        let _ = writeln!(out, "{} {note}", color::caution("note:"));
    }
    let _ = if valid {
        writeln!(out, "{}", color::good("VALID"))
    } else {
        writeln!(out, "{} {}", color::bad("INVALID:"), reasons.join("; "))
    };
    out
}
