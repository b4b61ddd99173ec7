//! Watts and operations a joule of a run as Markdown: a row for each variant and meter, its levels of load, how variants compare, and
//! what is missing.

use std::fmt::Write;

use archive::Run;
use archive::model::work_of;
use cost::Figure;
use cost::metered::{MeteredVariant, metered};

use crate::{escape::plain, words};

/// Maximum rows of a table.
const MAX_ROWS: usize = 40;

/// Writes nothing for a run without a meter. `unit` is that of the verdict.
pub(crate) fn render(out: &mut String, run: &Run, unit: &str) {
    let Some(report) = metered(run) else { return };
    let work = work_of(unit);
    if !report.variants.is_empty() {
        summary(out, &report.variants, work);
    }
    let with_levels = report.variants.iter().filter(|variant| variant.has_levels());
    for variant in with_levels.take(MAX_ROWS) {
        levels(out, variant, work);
    }
    let sentences = report.comparisons.iter().map(|found| found.sentence.clone());
    let lost = report.lost.iter().map(|lost| format!("no watts: {lost}"));
    let lines: Vec<String> = sentences.chain(lost).chain(report.notes.iter().cloned()).collect();
    for text in &lines {
        let _ = writeln!(out, "- {}", plain(text));
    }
    if !lines.is_empty() {
        out.push('\n');
    }
}

fn summary(out: &mut String, variants: &[MeteredVariant], work: &str) {
    let has_overall = variants.iter().any(|variant| variant.overall_operations_per_joule.is_some());
    let (overall, rule) = if has_overall { (" over all levels |", "--:|") } else { ("", "") };
    let _ = writeln!(
        out,
        "| variant | meter | watts include | W at load | W idle | {work} a joule |{overall}\n|---|---|---|--:|--:|--:|{rule}"
    );
    for variant in variants.iter().take(MAX_ROWS) {
        let overall = if has_overall {
            format!(" {} |", variant.overall_operations_per_joule.map_or_else(dash, figure))
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |{overall}",
            plain(&variant.variant),
            plain(&variant.meter.label()),
            variant.meter.boundary.name(),
            figure(variant.watts_at_load),
            variant.watts_idle.map_or_else(dash, |idle| words::amount(idle.value)),
            figure(variant.operations_per_joule),
        );
    }
    out.push('\n');
}

fn levels(out: &mut String, variant: &MeteredVariant, work: &str) {
    let (name, meter) = (plain(&variant.variant), plain(&variant.meter.name));
    let _ = writeln!(
        out,
        "| {name} by {meter} ({}) | {work}/s | p99 | W | {work} a joule |\n|---|--:|--:|--:|--:|",
        variant.meter.boundary.name()
    );
    for level in &variant.levels {
        let per_joule = if level.is_idle() { dash() } else { figure(level.operations_per_joule) };
        let p99 = level.p99(|us| words::quantity(us, "µs"));
        let _ = writeln!(
            out,
            "| {} | {} | {p99} | {} | {per_joule} |",
            level.label(),
            words::amount(level.work_per_s),
            words::amount(level.watts.value)
        );
    }
    out.push('\n');
}

/// A figure with its interval.
fn figure(figure: Figure) -> String {
    let value = words::amount(figure.value);
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{value} ({} – {})", words::amount(low), words::amount(high)),
        _ => format!("{value} (no interval)"),
    }
}

fn dash() -> String {
    "–".to_owned()
}
