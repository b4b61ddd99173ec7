//! The answer of a comparison or sweep: the verdict in a sentence, the table, and what limits it.

mod headline;
mod load_line;
mod next_steps;
mod reasons;

use std::fmt::Write as _;

use archive::Run;
use archive::model::{
    AtCapacity, CpuTimeModes, DifferenceClass, PartSummary, Sessions, SweepPoint, VariantSummary, Verdict,
};
use archive::printable::one_line;
use bakeoff::{DELAYED_ACK, ONE_KERNEL};
use cost::metered::MeteredReport;
use cost::pricing::CostReport;
use runs::name_of;

use super::layout::table::table_with_grey;
use super::layout::units::{count, plural, quantity, rate, response_time};
use super::resume::when_resumed;
use crate::color;

/// Per cent: what can only tell larger differences apart tells nothing, as the first blocks of an interrupted run.
const MOST_PERCENT: f64 = 1_000.0;
/// The most reasons for invalid trials that the terminal shows.
const MOST_REASONS: usize = 6;
/// The most trials that are named for one of them.
const MOST_NUMBERS: usize = 8;

/// If all replies have this status, their number is the throughput again: the mean of the trials, beside the median of the table.
const ONLY_STATUS: &str = "status 200";

/// The sentence, the table, the invalid trials, the unfair differences, and the path of the report.
pub fn answer(
    verdict: &Verdict,
    run: &Run,
    metered: Option<&MeteredReport>,
    costs: Option<&CostReport>,
    dir: &str,
    report: Option<&str>,
) -> String {
    let (first, rest) = headline::lines(verdict, &run.trials);
    let mut out = format!("{}\n", color::heading(first));
    if let Some(rest) = rest {
        let _ = writeln!(out, "{rest}");
    }
    out.push('\n');
    if let Some(replaced) = &verdict.replaced {
        let _ = writeln!(out, "{replaced}.\n");
    }
    let mut rows = vec![["", &verdict.metric, "95 % CI", "valid trials", ""].map(str::to_owned).to_vec()];
    rows.extend(verdict.variants.iter().map(|variant| row(variant, &verdict.unit)));
    // A comparison has a sentence on each variant instead.
    if verdict.variants.iter().any(|variant| variant.users_per_core.is_some() && !variant.point.is_empty()) {
        add_users_a_core(&mut rows, &verdict.variants);
    }
    let is_grey = |number: usize| number > 0 && verdict.variants[number - 1].invalid_median().is_some();
    out.push_str(&table_with_grey(&rows, is_grey));
    out.push('\n');
    out.push_str(&of_variants(verdict, run));
    // A single comparison is the verdict's sentence already; the report lists those of a sweep.
    let several = verdict.comparisons.iter().filter(|c| c.point.is_empty() && verdict.comparisons.len() > 1);
    for comparison in several {
        let _ = writeln!(out, "  {}", comparison.sentence);
    }
    for comparison in &verdict.comparisons {
        let Some(percent) = comparison.smallest_difference.map(|share| share * 100.0) else { continue };
        if percent > MOST_PERCENT {
            continue;
        }
        let _ = writeln!(
            out,
            "  {} and {}{}: smallest detectable difference {percent:.1} % (power 80 %)",
            comparison.a,
            comparison.b,
            at(&comparison.point)
        );
    }
    for comparison in &verdict.comparisons {
        let is_known = comparison.smallest_difference.is_none_or(|share| share * 100.0 <= MOST_PERCENT);
        if is_known && let Some(ratios) = comparison.ratios() {
            let (a, b) = (&comparison.a, &comparison.b);
            let _ = writeln!(out, "  {a} and {b}{}: {ratios}", at(&comparison.point));
        }
    }
    if let Some(method) = verdict.method_text() {
        let _ = writeln!(out, "  {method}");
    }
    for line in run.sessions.iter().flat_map(Sessions::lines) {
        let _ = writeln!(out, "  {}", one_line(&line));
    }
    for caveat in &verdict.caveats {
        // The report has the others.
        if ![ONE_KERNEL, DELAYED_ACK].contains(&caveat.id.as_str()) {
            continue;
        }
        let _ = writeln!(out, "  {}", one_line(&caveat.text));
    }
    out.push_str(&invalid_trials(run));
    out.push_str(&next_steps::lines(verdict, run));
    out.push_str(&unfair_differences(verdict));
    if let Some(metered) = metered {
        out.push_str(&super::costs::metered::text(metered, &verdict.unit));
    }
    if let Some(costs) = costs {
        out.push('\n');
        out.push_str(&super::costs::cost::text(costs));
    }
    out.push_str(&limits(run));
    out.push('\n');
    out.push_str(&when_resumed(run.facts.as_ref()));
    if let Some(plan) = &run.plan {
        let _ = writeln!(out, "load    {}", load_line::of(plan));
    }
    let _ = writeln!(out, "run     {dir}");
    if let Some(report) = report {
        let _ = writeln!(out, "report  {report}");
    }
    out
}

/// What is known of each variant beside its value: counters, CPU times, and what operations at its capacity are like.
fn of_variants(verdict: &Verdict, run: &Run) -> String {
    let mut out = String::new();
    // A sweep has many points; its report lists their counters and CPU times.
    let has_counters = |variant: &&VariantSummary| {
        variant.point.is_empty() && variant.counters_per_s.keys().any(|name| name != ONLY_STATUS)
    };
    for variant in verdict.variants.iter().filter(has_counters) {
        let counters: Vec<String> = variant.counters_per_s.iter().map(counter).collect();
        let _ = writeln!(out, "  {}: {}", variant.name, counters.join(", "));
    }
    for variant in verdict.variants.iter().filter(|variant| variant.point.is_empty()) {
        if let Some(CpuTimeModes { user, system }) = variant.cpu_time_us {
            let (user, system) = (quantity(user, "µs"), quantity(system, "µs"));
            let name = &variant.name;
            let _ = writeln!(
                out,
                "  {name}: {user} of CPU time an operation in user mode, {system} in the kernel"
            );
        }
        out.push_str(&cpu_by_part(variant));
        if let Some(users) = variant.users_per_core {
            let _ = writeln!(out, "  {}: {} users would use one core", variant.name, rate(users));
        }
    }
    for variant in &verdict.variants {
        if let Some(AtCapacity { p99_us, late_share }) =
            variant.at_capacity(run.trials.iter().map(|record| &record.trial))
        {
            let p99 = response_time(p99_us, variant.gave_up_from_us);
            let name = format!("{}{}", variant.name, at(&variant.point));
            let _ = writeln!(out, "  {name} at its capacity: p99 {p99}, late {:.1} %", late_share * 100.0);
        }
        if let Some(effect) = &variant.neighbours {
            let name = format!("{}{}", variant.name, at(&variant.point));
            let _ = writeln!(out, "  {name}: {}", effect.sentence());
        }
    }
    out
}

/// The differences between the variants that may make the comparison unfair, one a line.
fn unfair_differences(verdict: &Verdict) -> String {
    let mut out = String::new();
    for difference in &verdict.fairness {
        let class = match difference.class {
            DifferenceClass::ApplesToOranges => "apples to oranges",
            DifferenceClass::Unexplained => "unexplained difference",
            DifferenceClass::Expected | DifferenceClass::TheVariantItself => continue,
        };
        let values: Vec<String> =
            difference.values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let _ = writeln!(
            out,
            "  {}: {} ({}): {}",
            color::caution(class),
            difference.key,
            values.join(", "),
            difference.remark
        );
    }
    out
}

/// What probably limited each server, and how to find out.
fn limits(run: &Run) -> String {
    let Some(explanation) = &run.explanation else { return String::new() };
    let mut out = String::from("\n");
    for sentence in explanation.sentences() {
        let _ = writeln!(out, "  {sentence}");
    }
    if explanation.offers_study() {
        let command = shell_words::join(["showdown", "explain", &name_of(&run.dir)]);
        let _ = writeln!(out, "  {command} tries what limits them");
    }
    out
}

/// One line for each kind of reason, with its trials, and where the log of a server that ended is.
fn invalid_trials(run: &Run) -> String {
    let all = run.trials.len();
    let kinds = reasons::kinds(&run.trials);
    let mut out = String::new();
    for kind in kinds.iter().take(MOST_REASONS) {
        let (count, text) = (kind.trials.len(), &kind.text);
        let numbers: Vec<String> = kind.trials.iter().take(MOST_NUMBERS).map(u32::to_string).collect();
        let more = if count > MOST_NUMBERS { ", …" } else { "" };
        let (noun, verb) = if count == 1 { ("trial", "does") } else { ("trials", "do") };
        let _ = writeln!(
            out,
            "  {count} of {all} trials {verb} not count ({noun} {}{more}): {text}",
            numbers.join(", ")
        );
        if kind.is_of_server
            && let Some(log) = kept_log(run, &kind.trials, text)
        {
            let _ = writeln!(out, "    its whole log: {log}");
        }
    }
    if let Some(more @ 1..) = kinds.len().checked_sub(MOST_REASONS) {
        let _ = writeln!(
            out,
            "  further trials do not count for {}: see the report",
            plural(more as u64, "more reason")
        );
    }
    out
}

/// The log of this reason that the first of these trials has kept.
fn kept_log(run: &Run, numbers: &[u32], reason: &str) -> Option<String> {
    for record in &run.trials {
        if numbers.contains(&record.trial.number)
            && let Some(log) = record.trial.files.logs_of(reason).last().map(|log| run.dir.join(log))
            && log.is_file()
        {
            return Some(log.display().to_string());
        }
    }
    None
}

/// A point of a sweep, behind a name: ` threads=2 connections=64`.
fn at(point: &SweepPoint) -> String {
    let settings: Vec<String> = point.iter().map(|(axis, value)| format!(" {axis}={value}")).collect();
    settings.concat()
}

/// A counter of the driver, per second and per hour: mail is often stated per hour.
fn counter((name, per_s): (&String, &f64)) -> String {
    format!("{} {name}/s ({} an hour)", rate(*per_s), count((per_s * 3600.0).round() as u64))
}

/// A line of the parts of a server of several processes; empty for any other.
fn cpu_by_part(variant: &VariantSummary) -> String {
    if variant.parts.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = variant.parts.iter().map(part).collect();
    format!("  {}: CPU by part: {}\n", variant.name, parts.join(", "))
}

/// A part of a server: its share of the CPU time, what that is for an operation, and its memory.
fn part(part: &PartSummary) -> String {
    let share = format!("{} {:.0} %", part.part, part.cpu_share * 100.0);
    let memory = format!("{} MiB", count(part.peak_rss_bytes >> 20));
    match part.cpu_us {
        Some(us) => format!("{share} ({} an operation, {memory})", quantity(us, "µs")),
        None => format!("{share} ({memory})"),
    }
}

/// A column of the users of whom a core would carry as many.
fn add_users_a_core(rows: &mut [Vec<String>], variants: &[VariantSummary]) {
    let head = std::iter::once("users a core".to_owned());
    let figures = variants.iter().map(|variant| variant.users_per_core.map_or("–".to_owned(), rate));
    for (row, cell) in rows.iter_mut().zip(head.chain(figures)) {
        row.insert(2, cell);
    }
}

fn row(variant: &VariantSummary, unit: &str) -> Vec<String> {
    let all = variant.valid + variant.invalid;
    let invalid = variant.invalid_median();
    let value = variant.median.or(invalid);
    let remark = match variant.modes.len() {
        _ if invalid.is_some() => "not valid",
        0 | 1 => "",
        _ => "two modes",
    };
    vec![
        format!("{}{}", variant.name, at(&variant.point)),
        value.map_or_else(|| "–".to_owned(), |value| quantity(value, unit)),
        variant.interval.map_or_else(|| "–".to_owned(), |i| format!("{}–{}", rate(i.low), rate(i.high))),
        format!("{} of {all}", variant.valid),
        remark.to_owned(),
    ]
}
