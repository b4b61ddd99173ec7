//! The verdict and what to know of it as Markdown, for a pull request or an issue.

use crate::{record::Head, table::status, words};
use archive::{
    Run,
    model::{
        DifferenceClass, Scalability, SweepCurve, SweepPoint, TrialStatus, VariantSummary, Verdict, thousands,
    },
};
use std::fmt::Write;

/// Most rows of a table: a sweep has hundreds of points, and a pull request is read.
const MOST_ROWS: usize = 40;

pub(crate) fn render(run: &Run) -> String {
    let mut out = String::new();
    title(&mut out, run);
    if let Some(verdict) = &run.verdict {
        values(&mut out, verdict);
        counted(&mut out, verdict);
        comparisons(&mut out, verdict);
        laws(&mut out, verdict);
        modes(&mut out, verdict);
    }
    invalid(&mut out, run);
    if let Some(verdict) = &run.verdict {
        fairness(&mut out, verdict);
        caveats(&mut out, verdict);
    }
    problems(&mut out, run);
    again(&mut out, run);
    out
}

/// Writing to a string does not fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{ let _ = writeln!($out, $($text)*); }};
}

fn title(out: &mut String, run: &Run) {
    if let Some(verdict) = &run.verdict {
        line!(out, "**{}**\n", plain(&verdict.sentence));
        if !verdict.complete {
            line!(out, "The run was stopped early: this rests on what was measured until then.\n");
        }
    } else {
        let trials = run.trials.len();
        line!(out, "**No verdict: the run is {} ({trials} trials held).**\n", run.state.name());
    }
}

fn values(out: &mut String, verdict: &Verdict) {
    let has_points = verdict.variants.iter().any(|variant| !variant.point.is_empty());
    let (point, rule) = if has_points { (" at |", "---|") } else { ("", "") };
    line!(
        out,
        "| variant |{point} {} (median) | 95 % CI of the median | valid trials |",
        plain(&verdict.metric)
    );
    line!(out, "|---|{rule}--:|:-:|--:|");
    for variant in verdict.variants.iter().take(MOST_ROWS) {
        let VariantSummary { name, median, interval, valid, invalid, .. } = variant;
        let median = median.map_or_else(|| "–".to_owned(), |median| words::quantity(median, &verdict.unit));
        let interval = interval.map_or_else(
            || "–".to_owned(),
            |interval| format!("{} – {}", words::amount(interval.low), words::amount(interval.high)),
        );
        let point = if has_points { format!(" {} |", at(&variant.point)) } else { String::new() };
        line!(
            out,
            "| {} |{point} {} | {interval} | {valid} of {} |",
            plain(name),
            plain(&median),
            valid + invalid
        );
    }
    let more = verdict.variants.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        line!(out, "\n… and {more} more: `--format csv` has them all.");
    }
    out.push('\n');
}

/// What the drivers counted besides operations; nothing where they counted nothing.
fn counted(out: &mut String, verdict: &Verdict) {
    let of_variant = |variant: &'_ VariantSummary| {
        let name = format!("{}{}", plain(&variant.name), behind(&variant.point));
        let row = |(what, per_s): (&String, &f64)| {
            let (what, a_second, an_hour) = (plain(what), words::amount(*per_s), thousands(per_s * 3600.0));
            format!("| {name} | {what} | {a_second} | {an_hour} |")
        };
        variant.counters_per_s.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<String> = verdict.variants.iter().take(MOST_ROWS).flat_map(of_variant).collect();
    if rows.is_empty() {
        return;
    }
    line!(out, "| variant | counted | a second | an hour |\n|---|---|--:|--:|\n{}\n", rows.join("\n"));
}

/// A point of a sweep: `threads 2, connections 64`.
fn at(point: &SweepPoint) -> String {
    let settings: Vec<String> = point.iter().map(|(axis, value)| plain(&format!("{axis} {value}"))).collect();
    settings.join(", ")
}

/// The same behind a name: ` at threads 2`; nothing where there is no sweep.
fn behind(point: &SweepPoint) -> String {
    if point.is_empty() { String::new() } else { format!(" at {}", at(point)) }
}

fn comparisons(out: &mut String, verdict: &Verdict) {
    // The only one is the title already.
    if verdict.comparisons.len() > 1 {
        for comparison in verdict.comparisons.iter().take(MOST_ROWS) {
            let place =
                if comparison.point.is_empty() { String::new() } else { at(&comparison.point) + ": " };
            line!(out, "- {place}{}", plain(&comparison.sentence));
        }
        out.push('\n');
    }
    let shown = |comparison: &archive::model::Comparison| {
        let size = comparison.smallest_difference?;
        let place = behind(&comparison.point);
        Some(format!("{} against {}{place}: {}", comparison.a, comparison.b, words::percent(size)))
    };
    let sizes: Vec<String> = verdict.comparisons.iter().take(MOST_ROWS).filter_map(shown).collect();
    if !sizes.is_empty() {
        let sizes = plain(&sizes.join("; "));
        line!(out, "Smallest difference that so many blocks find in four of five runs: {sizes}.\n");
    }
}

/// The scalability law through each curve that it describes.
fn laws(out: &mut String, verdict: &Verdict) {
    let row = |curve: &SweepCurve| {
        let Some(Scalability::Fitted(fit)) = &curve.usl else { return None };
        let fixed = behind(&curve.fixed);
        Some(format!(
            "| {}{fixed} | {} | {:.3} | {:.5} | {:.0} | {} | {} |",
            plain(&curve.variant),
            plain(&curve.axis),
            fit.alpha,
            fit.beta,
            fit.peak_load,
            plain(&words::quantity(fit.peak_throughput, &verdict.unit)),
            words::percent(fit.relative_error)
        ))
    };
    let rows: Vec<String> = verdict.curves.iter().filter_map(row).collect();
    if !rows.is_empty() {
        line!(
            out,
            "| scalability law | along | contention σ | coherency κ | peak at | peak | points are off by |"
        );
        line!(out, "|---|---|--:|--:|--:|--:|--:|");
        line!(out, "{}\n", rows.join("\n"));
    }
}

fn modes(out: &mut String, verdict: &Verdict) {
    for variant in verdict.variants.iter().filter(|variant| variant.modes.len() > 1) {
        let levels: Vec<String> = variant
            .modes
            .iter()
            .map(|mode| {
                format!("{} ({} trials)", words::quantity(mode.centre, &verdict.unit), mode.trials.len())
            })
            .collect();
        let levels = plain(&levels.join(" and "));
        line!(
            out,
            "The trials of {} gather at {} levels: {levels}.\n",
            plain(&variant.name),
            variant.modes.len()
        );
    }
}

fn invalid(out: &mut String, run: &Run) {
    let invalid: Vec<_> =
        run.trials.iter().filter(|record| record.trial.status != TrialStatus::Valid).collect();
    if invalid.is_empty() {
        return;
    }
    line!(out, "{} of {} trials do not count:\n", invalid.len(), run.trials.len());
    for record in invalid.iter().take(MOST_ROWS) {
        let trial = &record.trial;
        let why = plain(&trial.reasons.join("; "));
        line!(out, "- trial {} ({}, {}): {why}", trial.number, plain(&trial.variant), status(trial.status));
    }
    out.push('\n');
}

fn fairness(out: &mut String, verdict: &Verdict) {
    let oranges = |class| class == DifferenceClass::ApplesToOranges || class == DifferenceClass::Unexplained;
    let weighty: Vec<_> = verdict.fairness.iter().filter(|difference| oranges(difference.class)).collect();
    if weighty.is_empty() {
        return;
    }
    line!(out, "Differences between the sides that are not what is compared:\n");
    for difference in weighty {
        let values: Vec<String> =
            difference.values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let label = match difference.class {
            DifferenceClass::ApplesToOranges => "**apples to oranges**, ",
            _ => "",
        };
        line!(
            out,
            "- {label}{} ({}): {}",
            plain(&difference.key),
            plain(&values.join("; ")),
            plain(&difference.remark)
        );
    }
    out.push('\n');
}

fn caveats(out: &mut String, verdict: &Verdict) {
    if verdict.caveats.is_empty() {
        return;
    }
    line!(out, "<details><summary>What can still mislead</summary>\n");
    for caveat in &verdict.caveats {
        line!(out, "- {}", plain(&caveat.text));
    }
    line!(out, "\n</details>\n");
}

fn problems(out: &mut String, run: &Run) {
    for problem in &run.problems {
        line!(out, "- {}: {}", plain(&problem.file), plain(&problem.text));
    }
    if !run.problems.is_empty() {
        out.push('\n');
    }
}

fn again(out: &mut String, run: &Run) {
    let head = Head::of(run);
    if let Some(command) = head.command.filter(|command| !command.is_empty()) {
        line!(out, "Run `{}`: {}", run.id, code(&command));
    } else {
        line!(out, "Run `{}`", run.id);
    }
}

/// Text that Markdown shows as it is, on one line. A run may come from anyone: no link, mention or markup of its
/// making. Punctuation may be escaped wherever it stands (`CommonMark` 0.31, 2.4).
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // An escape does not keep a forge from seeing a mention; an empty comment in between does.
            '@' => out.push_str("@<!---->"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Code on one line, in as many backticks as it needs (`CommonMark` 0.31, 6.1).
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_run_stays_text() {
        assert_eq!(plain("p99<5ms | x\n# y"), "p99\\<5ms \\| x \\# y");
        assert_eq!(plain("[a](b) @team <img>"), "\\[a\\](b) @<!---->team \\<img\\>");
        assert_eq!(code("a `b` ``c"), "``` a `b` ``c ```");
        assert_eq!(code("showdown run x"), "`showdown run x`");
    }
}
