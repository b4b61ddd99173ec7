//! The answer of `showdown tune` for a terminal.

use std::fmt::Write as _;

use archive::model::{BeforeAfter, OneSidedTuning, RatioEstimate, TriedTuning, TuningOutcome, TuningRecord};

use super::layout::table::table;
use super::layout::units::quantity;
use crate::color;

/// The sentence, the table before and after, each tuning with what became of it, and what to take home.
pub fn text(record: &TuningRecord, dir: &str, report: Option<&str>) -> String {
    let mut out = format!("{}\n", color::heading(&record.sentence));
    if !record.equal_sentence.is_empty() {
        let _ = writeln!(out, "\n{}", record.equal_sentence);
    }
    if !record.before_after.is_empty() {
        let mut rows = vec![["", "before", "after", "ratio (95 % CI)"].map(str::to_owned).to_vec()];
        rows.extend(record.before_after.iter().map(row));
        let _ = write!(out, "\n{}", table(&rows));
    }
    for (title, outcome) in [
        ("kept", TuningOutcome::Kept),
        ("dropped", TuningOutcome::Dropped),
        ("refused", TuningOutcome::Refused),
    ] {
        section(&mut out, title, record.tried.iter().filter(|tried| tried.outcome == outcome));
    }
    section(&mut out, "weaker, never kept", record.weaker.iter());
    if !record.not_tried.is_empty() {
        let _ = writeln!(out, "\n{} ({})", color::heading("not tried"), record.not_tried.len());
        for not in &record.not_tried {
            let _ = writeln!(out, "  {}: {}", not.tuning, not.why);
        }
    }
    for file in &record.take_home {
        let _ = writeln!(out, "\n{} {}", color::heading("take home:"), file.file);
        for line in &file.lines {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(why) = &record.ended {
        let _ = writeln!(out, "\n{} {why}", color::caution("the search ended early:"));
    }
    let _ = writeln!(out, "\nmeasure it again   showdown run {dir}/plan.toml");
    if let Some(report) = report {
        let _ = writeln!(out, "report             {report}");
    }
    out
}

/// What one of two tuned servers got and the other did not, after the comparison of their best.
pub fn of_both(one_sided: &[OneSidedTuning]) -> String {
    let title = color::heading("tuned on one side");
    if one_sided.is_empty() {
        return format!("\n{title}   nothing that the other could have\n");
    }
    let sentence = |OneSidedTuning { tuning, variant, why, .. }: &OneSidedTuning| {
        format!("  {variant} has the tuning {tuning}, the other has not: {why}\n")
    };
    format!("\n{title}\n{}", one_sided.iter().map(sentence).collect::<String>())
}

fn section<'t>(out: &mut String, title: &str, all: impl Iterator<Item = &'t TriedTuning>) {
    let all: Vec<&TriedTuning> = all.collect();
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{} ({})", color::heading(title), all.len());
    for tried in all {
        let settings: Vec<String> =
            tried.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        // Its own share, if it came that far: the gain in the screening is that of the best of many.
        let own = tried.own_label();
        let gain = own.or_else(|| tried.screened_label().map(|label| format!("screened {label}")));
        let gain = gain.map_or(String::new(), |gain| format!("  {gain}"));
        let _ = writeln!(out, "  {}: {}{gain}\n    {}", tried.tuning, settings.join(" "), tried.why);
        if tried.outcome == TuningOutcome::Kept && !tried.risk.is_empty() {
            let _ = writeln!(out, "    risk: {}", tried.risk);
        }
    }
}

fn row(figure: &BeforeAfter) -> Vec<String> {
    let value = |value: f64| quantity(value, &figure.unit);
    let ratio = figure.ratio.as_ref().map_or_else(|| "–".to_owned(), RatioEstimate::label);
    vec![figure.what.clone(), value(figure.before), value(figure.after), ratio]
}
