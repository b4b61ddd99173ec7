//! The verdict as Markdown, with what qualifies it, for a pull request or an issue. Its watts are in [`watts`].

mod watts;

use crate::{
    concurrency,
    escape::{code, plain},
    explained,
    record::ReportedRun,
    table::status,
    tuned, words,
};
use archive::{
    Run, RunState,
    model::{
        AtCapacity, Comparison, ComparisonVerdict, CpuTimeModes, DifferenceClass, ExplanationBasis,
        Scalability, Sessions, SweepCurve, SweepPoint, TrialStatus, VariantSummary, Verdict, or_more, plural,
        thousands,
    },
};
use std::fmt::Write;

/// Maximum rows of a table: a sweep has hundreds of points, too many for a pull request.
const MAX_ROWS: usize = 40;

/// Writing to a string does not fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{ let _ = writeln!($out, $($text)*); }};
}

pub(crate) fn render(run: &Run) -> String {
    let mut out = String::new();
    if run.is_imported() {
        line!(out, "Imported run: nobody has checked its numbers. To check them, run its plan again.\n");
    }
    if let Some(explanation) = &run.explanation
        && explanation.basis == ExplanationBasis::Study
    {
        explained::render(&mut out, explanation);
        problems(&mut out, run);
        rerun(&mut out, run);
        return out;
    }
    if let Some(found) = &run.concurrency {
        concurrency::render(&mut out, found);
        problems(&mut out, run);
        rerun(&mut out, run);
        return out;
    }
    if let Some(record) = &run.tuning {
        tuned::render(&mut out, record);
    }
    title(&mut out, run);
    if let Some(verdict) = &run.verdict {
        values(&mut out, verdict);
        at_capacity(&mut out, run, verdict);
        cpu_time(&mut out, verdict);
        parts(&mut out, verdict);
        users(&mut out, verdict);
        neighbours(&mut out, verdict);
        counters(&mut out, verdict);
        comparisons(&mut out, verdict);
        beside(&mut out, run, verdict);
        watts::render(&mut out, run, &verdict.unit);
        limits(&mut out, run);
        laws(&mut out, verdict);
        modes(&mut out, verdict);
    }
    invalid(&mut out, run);
    if let Some(verdict) = &run.verdict {
        fairness(&mut out, verdict);
        caveats(&mut out, verdict);
    }
    problems(&mut out, run);
    rerun(&mut out, run);
    out
}

fn title(out: &mut String, run: &Run) {
    if let Some(verdict) = &run.verdict {
        line!(out, "**{}**\n", plain(&verdict.sentence));
        if let Some(replaced) = &verdict.replaced {
            line!(out, "{}.\n", plain(replaced));
        }
        if run.state == RunState::Interrupted {
            line!(
                out,
                "The run was interrupted: the verdict uses only the trials until then. \
                 `showdown resume {}` runs the others.\n",
                run.id
            );
        }
    } else {
        let trials = plural(run.trials.len() as u64, "trial");
        line!(out, "**No verdict: the run is {} ({trials}).**\n", run.state.name());
        if run.is_resumable() {
            line!(out, "`showdown resume {}` goes on with it.\n", run.id);
        }
    }
    for resumption in run.facts.iter().flat_map(|facts| &facts.resumed) {
        line!(
            out,
            "The run was interrupted, and resumed at {} with block {}, after {}.\n",
            words::utc(resumption.at_unix_ms),
            resumption.block,
            plural(resumption.kept_trials.into(), "trial")
        );
        for change in &resumption.changes {
            let [fact, was, is] = [&change.fact, &change.was, &change.is].map(|text| plain(text));
            line!(out, "- {fact} was {was}, now {is}");
        }
        if !resumption.changes.is_empty() {
            line!(out, "");
        }
    }
}

/// What probably limited each server.
fn limits(out: &mut String, run: &Run) {
    let Some(explanation) = &run.explanation else { return };
    for sentence in explanation.sentences() {
        line!(out, "- {}", plain(sentence));
    }
    if explanation.offers_study() {
        line!(out, "\n`showdown explain {}` tries what limits them.", run.id);
    }
    line!(out, "");
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
    for variant in verdict.variants.iter().take(MAX_ROWS) {
        let VariantSummary { name, median, interval, valid, invalid, .. } = variant;
        let median = match (median, variant.invalid_median()) {
            (Some(median), _) => words::quantity(*median, &verdict.unit),
            (None, Some(median)) => format!("({}, not valid)", words::quantity(median, &verdict.unit)),
            (None, None) => "–".to_owned(),
        };
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
    let more = verdict.variants.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        line!(out, "\n… and {more} more: `--format csv` has them all.");
    }
    out.push('\n');
}

/// What operations at the capacity were like, where that was measured.
fn at_capacity(out: &mut String, run: &Run, verdict: &Verdict) {
    let row = |variant: &VariantSummary| {
        let AtCapacity { p99_us, late_share } =
            variant.at_capacity(run.trials.iter().map(|record| &record.trial))?;
        let shown = |us: u64| or_more(words::quantity(us as f64, "µs"), us as f64, variant.gave_up_from_us);
        let p99 = p99_us.map_or_else(|| "–".to_owned(), shown);
        let name = format!("{}{}", plain(&variant.name), at_suffix(&variant.point));
        Some(format!("| {name} | {p99} | {} |", words::percent(late_share)))
    };
    let rows: Vec<String> = verdict.variants.iter().take(MAX_ROWS).filter_map(row).collect();
    if !rows.is_empty() {
        line!(out, "| at the capacity | p99 | late |\n|---|--:|--:|\n{}\n", rows.join("\n"));
    }
}

/// CPU time an operation by mode, where it was measured.
fn cpu_time(out: &mut String, verdict: &Verdict) {
    let row = |variant: &VariantSummary| {
        let CpuTimeModes { user, system } = variant.cpu_time_us?;
        let name = format!("{}{}", plain(&variant.name), at_suffix(&variant.point));
        let [user, system] = [user, system].map(|us| words::quantity(us, "µs"));
        Some(format!("| {name} | {user} | {system} |"))
    };
    let rows: Vec<String> = verdict.variants.iter().take(MAX_ROWS).filter_map(row).collect();
    if !rows.is_empty() {
        line!(
            out,
            "| CPU time an operation | in user mode | in the kernel |\n|---|--:|--:|\n{}\n",
            rows.join("\n")
        );
    }
}

/// CPU time and memory of each part, where a server has several processes.
fn parts(out: &mut String, verdict: &Verdict) {
    let mut rows = Vec::new();
    for variant in verdict.variants.iter().take(MAX_ROWS) {
        let name = format!("{}{}", plain(&variant.name), at_suffix(&variant.point));
        for part in &variant.parts {
            let cpu = part.cpu_us.map_or_else(|| "–".to_owned(), |us| words::quantity(us, "µs"));
            let (share, memory) = (words::percent(part.cpu_share), words::mebibytes(part.peak_rss_bytes));
            let part_name = plain(&part.part);
            rows.push(format!("| {name} | {part_name} | {share} | {cpu} | {:.2} | {memory} |", part.cores));
        }
    }
    if !rows.is_empty() {
        line!(
            out,
            "| variant | CPU by part | share | an operation | cores | memory |\n|---|---|--:|--:|--:|--:|\n{}\n",
            rows.join("\n")
        );
    }
}

/// How many users would use a core, and their walk, where the load has users.
fn users(out: &mut String, verdict: &Verdict) {
    let of_core = |variant: &VariantSummary| {
        let name = format!("{}{}", plain(&variant.name), at_suffix(&variant.point));
        Some(format!("- {name}: {} users would use one core", words::quantity(variant.users_per_core?, "")))
    };
    let lines: Vec<String> = verdict.variants.iter().take(MAX_ROWS).filter_map(of_core).collect();
    if !lines.is_empty() {
        line!(out, "{}\n", lines.join("\n"));
    }
    // The scenario is that of all variants; what it did with each of them is in verdict.json.
    for variant in verdict.variants.iter().filter(|variant| variant.point.is_empty()).take(MAX_ROWS) {
        let Some(walk) = &variant.users else { continue };
        line!(
            out,
            "| {}: {} users | share | declared | delay | mean, declared | mean, actual | limit |\n|---|--:|--:|---|--:|--:|---|",
            plain(&variant.name),
            walk.count
        );
        for operation in &walk.operations {
            let share = walk.percent(operation).map_or("–".to_owned(), |percent| format!("{percent:.1} %"));
            let actual = operation.actual_delay_s.map_or("–".to_owned(), |s| format!("{s:.2} s"));
            let limit = match (&operation.limit, operation.meets_limit) {
                (Some(limit), Some(true)) => format!("{} met", plain(limit)),
                (Some(limit), _) => format!("{} **missed**", plain(limit)),
                (None, _) => String::new(),
            };
            line!(
                out,
                "| {} | {share} | {:.1} % | {} | {:.2} s | {actual} | {limit} |",
                plain(&operation.name),
                operation.declared_percent,
                plain(&operation.delay),
                operation.declared_delay_s
            );
        }
        out.push('\n');
        if !walk.outside.is_empty() {
            line!(
                out,
                "| {}: outside the mix | due | done | failed | mean |\n|---|---|--:|--:|--:|",
                plain(&variant.name)
            );
        }
        for operation in &walk.outside {
            let mean = operation.mean_us.map_or("–".to_owned(), |us| format!("{:.2} ms", us / 1e3));
            line!(
                out,
                "| {} | {} | {} | {} | {mean} |",
                plain(&operation.name),
                plain(&operation.due),
                thousands(operation.requests as f64),
                thousands(operation.failed as f64)
            );
        }
        if !walk.outside.is_empty() {
            out.push('\n');
        }
    }
}

/// What copies of a server lose to their neighbours, where that was measured.
fn neighbours(out: &mut String, verdict: &Verdict) {
    let line = |variant: &VariantSummary| {
        let name = format!("{}{}", plain(&variant.name), at_suffix(&variant.point));
        Some(format!("- {name}: {}", variant.neighbours.as_ref()?.sentence()))
    };
    let lines: Vec<String> = verdict.variants.iter().take(MAX_ROWS).filter_map(line).collect();
    if !lines.is_empty() {
        line!(out, "{}\n", lines.join("\n"));
    }
}

/// The counters of the drivers, if they have any.
fn counters(out: &mut String, verdict: &Verdict) {
    let of_variant = |variant: &'_ VariantSummary| {
        let name = format!("{}{}", plain(&variant.name), at_suffix(&variant.point));
        let row = |(what, per_s): (&String, &f64)| {
            let (what, per_second, per_hour) =
                (plain(what), words::amount(*per_s), thousands(per_s * 3600.0));
            format!("| {name} | {what} | {per_second} | {per_hour} |")
        };
        variant.counters_per_s.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<String> = verdict.variants.iter().take(MAX_ROWS).flat_map(of_variant).collect();
    if rows.is_empty() {
        return;
    }
    line!(out, "| variant | counter | per second | per hour |\n|---|---|--:|--:|\n{}\n", rows.join("\n"));
}

/// A point of a sweep: `threads 2, connections 64`.
fn at(point: &SweepPoint) -> String {
    let settings: Vec<String> = point.iter().map(|(axis, value)| plain(&format!("{axis} {value}"))).collect();
    settings.join(", ")
}

/// A point after a name: ` at threads 2`; empty in a comparison.
fn at_suffix(point: &SweepPoint) -> String {
    if point.is_empty() { String::new() } else { format!(" at {}", at(point)) }
}

fn comparisons(out: &mut String, verdict: &Verdict) {
    // A single comparison is already in the title.
    if verdict.comparisons.len() > 1 {
        for comparison in verdict.comparisons.iter().take(MAX_ROWS) {
            let place =
                if comparison.point.is_empty() { String::new() } else { at(&comparison.point) + ": " };
            line!(out, "- {place}{}", plain(&comparison.sentence));
        }
        out.push('\n');
    }
    let shown = |comparison: &Comparison| {
        let size = comparison.smallest_difference?;
        let place = at_suffix(&comparison.point);
        Some(format!("{} and {}{place}: {}", comparison.a, comparison.b, words::percent(size)))
    };
    let sizes: Vec<String> = verdict.comparisons.iter().take(MAX_ROWS).filter_map(shown).collect();
    if !sizes.is_empty() {
        let sizes = plain(&sizes.join("; "));
        line!(out, "Smallest difference that this number of blocks finds in four of five runs: {sizes}.\n");
    }
}

/// Both ratios of each pair, what the method may be wrong by, and the answer of other sessions.
fn beside(out: &mut String, run: &Run, verdict: &Verdict) {
    let ratios = |comparison: &Comparison| {
        let (a, b, place) = (&comparison.a, &comparison.b, at_suffix(&comparison.point));
        Some(format!("- {}{place}: {}", plain(&format!("{a} and {b}")), plain(&comparison.ratios()?)))
    };
    let ratios = verdict.comparisons.iter().take(MAX_ROWS).filter_map(ratios);
    let method = verdict.method_text().map(|method| format!("- {}", plain(&method)));
    let sessions = run.sessions.iter().flat_map(Sessions::lines).take(MAX_ROWS);
    let sessions = sessions.map(|line| format!("- {}", plain(&line)));
    let lines: Vec<String> = ratios.chain(method).chain(sessions).collect();
    if !lines.is_empty() {
        line!(out, "{}\n", lines.join("\n"));
    }
}

/// The universal scalability law of each curve that it describes.
fn laws(out: &mut String, verdict: &Verdict) {
    let row = |curve: &SweepCurve| {
        let Some(Scalability::Fitted(fit)) = &curve.usl else { return None };
        let fixed = at_suffix(&curve.fixed);
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
            "| scalability law | axis | contention α | coherency β | peak at | peak | error of the fit |"
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
        let (name, at) = (plain(&variant.name), at_suffix(&variant.point));
        line!(out, "The trials of {name}{at} have {} modes: {levels}.\n", variant.modes.len());
    }
}

fn invalid(out: &mut String, run: &Run) {
    let invalid: Vec<_> =
        run.trials.iter().filter(|record| record.trial.status != TrialStatus::Valid).collect();
    if invalid.is_empty() {
        return;
    }
    let is_bound = |comparison: &Comparison| {
        comparison.estimate.is_none() && matches!(comparison.verdict, ComparisonVerdict::Difference { .. })
    };
    // Decision 0028.
    let has_bound = run.verdict.iter().flat_map(|verdict| &verdict.comparisons).any(is_bound);
    let but = if has_bound { ", but for a verdict that says \"at least\"" } else { "" };
    line!(out, "Trials that do not count{but}: {} of {}.\n", invalid.len(), run.trials.len());
    for record in invalid.iter().take(MAX_ROWS) {
        let trial = &record.trial;
        let why = plain(&trial.reasons.join("; "));
        line!(out, "- trial {} ({}, {}): {why}", trial.number, plain(&trial.variant), status(trial.status));
    }
    out.push('\n');
}

fn fairness(out: &mut String, verdict: &Verdict) {
    let is_suspicious =
        |class| class == DifferenceClass::ApplesToOranges || class == DifferenceClass::Unexplained;
    let suspicious: Vec<_> =
        verdict.fairness.iter().filter(|difference| is_suspicious(difference.class)).collect();
    if suspicious.is_empty() {
        return;
    }
    line!(out, "Differences between the variants besides what is compared:\n");
    for difference in suspicious {
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
    line!(out, "<details><summary>Known sources of error</summary>\n");
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

fn rerun(out: &mut String, run: &Run) {
    let head = ReportedRun::of(run);
    // A command of somebody else is not there to be copied.
    let own = head.command.filter(|command| !command.is_empty() && !run.is_imported());
    if let Some(command) = own {
        line!(out, "Run `{}`: {}", run.id, code(&command));
    } else {
        line!(out, "Run `{}`", run.id);
    }
}
