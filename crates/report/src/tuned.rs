//! What a search for tunings has found as Markdown: the sentence, the figures before and after, and a row for each tuning.

use std::fmt::Write;

use archive::model::{RatioEstimate, TriedTuning, TuningRecord};

use crate::escape::{code, code_in_cell, plain};
use crate::words::quantity;

/// Maximum rows of the tunings that were not tried.
const MAX_ROWS: usize = 40;

pub(crate) fn render(out: &mut String, record: &TuningRecord) {
    let _ = writeln!(out, "**{}**\n", plain(&record.sentence));
    if !record.equal_sentence.is_empty() {
        let _ = writeln!(out, "{}\n", plain(&record.equal_sentence));
    }
    if !record.before_after.is_empty() {
        let _ = writeln!(out, "| figure | before | after | ratio (95 % CI) |\n|---|---|---|---|");
        for row in &record.before_after {
            let ratio = row.ratio.as_ref().map_or_else(|| "–".to_owned(), RatioEstimate::label);
            let [before, after] = [row.before, row.after].map(|value| plain(&quantity(value, &row.unit)));
            let _ = writeln!(out, "| {} | {before} | {after} | {ratio} |", plain(&row.what));
        }
        out.push('\n');
    }
    tunings(out, "Tried", &record.tried);
    tunings(out, "Weaker, never kept", &record.weaker);
    if !record.not_tried.is_empty() {
        let _ = writeln!(out, "### Not tried\n\n| tuning | why |\n|---|---|");
        for not in record.not_tried.iter().take(MAX_ROWS) {
            let _ = writeln!(out, "| {} | {} |", code_in_cell(&not.tuning), plain(&not.why));
        }
        out.push('\n');
    }
    for file in &record.take_home {
        let _ = writeln!(out, "### Take home: {}\n", plain(&file.file));
        for line in &file.lines {
            let _ = writeln!(out, "- {}", code(line));
        }
        out.push('\n');
    }
}

fn tunings(out: &mut String, title: &str, all: &[TriedTuning]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "### {title}\n\n| tuning | sets | outcome | screened | own gain (95 % CI) | why |\n|---|---|---|---|---|---|"
    );
    for tried in all {
        let settings: Vec<String> =
            tried.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let outcome = format!("{:?}", tried.outcome).to_lowercase();
        let screened = tried.screened_label().unwrap_or_else(|| "–".to_owned());
        let own = tried.own_label().unwrap_or_else(|| "–".to_owned());
        let (name, settings, why) =
            (code_in_cell(&tried.tuning), code_in_cell(&settings.join(" ")), plain(&tried.why));
        let _ = writeln!(out, "| {name} | {settings} | {outcome} | {screened} | {own} | {why} |");
    }
    out.push('\n');
}
