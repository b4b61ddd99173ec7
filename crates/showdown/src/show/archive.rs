//! Runs of the archive on a terminal.

use std::fmt::Write;
use std::path::Path;

use archive::layout::IMPORTED;
use archive::printable::one_line;
use archive::{ListedRun, Run};
use cost::metered::metered;
use runs::resume_command;

use super::concurrency;
use super::explanation;
use super::layout::table::table_within;
use super::layout::units::plural;
use super::resume::when_resumed;
use super::verdict::answer as verdict_text;
use crate::color;

/// One line for each run, the newest first.
pub fn list(listed: &[ListedRun], root: &Path) -> String {
    if listed.is_empty() {
        return format!("no runs in {}\n", root.display());
    }
    let mut rows = vec![["run", "state", "trials", "verdict"].map(str::to_owned).to_vec()];
    for run in listed {
        let is_imported = root.join(run.id.as_str()).join(IMPORTED).exists();
        rows.push(vec![
            run.id.to_string(),
            format!("{}{}", run.state.name(), if is_imported { ", imported" } else { "" }),
            if run.kind.as_deref() == Some("shift") {
                "–".to_owned()
            } else if run.invalid == 0 {
                run.valid.to_string()
            } else {
                format!("{} of {}", run.valid, run.valid + run.invalid)
            },
            run.sentence.clone().unwrap_or_else(|| run.variants.join(" and ")),
        ]);
    }
    let mut out =
        table_within(&rows, console::Term::stdout().size_checked().map(|(_, columns)| columns.into()));
    let mut resumable = listed.iter().filter(|run| run.is_resumable());
    if let Some(newest) = resumable.next() {
        let command = resume_command(&root.join(newest.id.as_str()));
        let others = if resumable.next().is_some() { "; it takes the id of another one, too" } else { "" };
        let _ = writeln!(out, "\n{command} goes on with the {} run{others}", newest.state.name());
    }
    out
}

/// One run: its answer, what cannot be read of it, and how to repeat it.
pub fn run(run: &Run) -> String {
    let dir = run.dir.display().to_string();
    let report = run.dir.join(report::FILE_NAME);
    let report = report.exists().then(|| report.display().to_string());
    let is_imported = run.is_imported();
    let origin = if is_imported {
        "Imported run: nobody has checked its numbers. To check them, run its plan again.\n\n"
    } else {
        ""
    };
    let answer = match (&run.verdict, &run.explanation, &run.concurrency) {
        (Some(verdict), ..) => {
            verdict_text(verdict, run, metered(run).as_ref(), None, &dir, report.as_deref())
        }
        (None, Some(explanation), _) => explanation::text(explanation, &dir, report.as_deref()),
        (None, None, Some(found)) => concurrency::text(found, &dir, report.as_deref()),
        (None, None, None) => format!(
            "{}: {} without a verdict after {}\n\n{}run     {dir}\n",
            run.id,
            run.state.name(),
            plural(run.trials.len() as u64, "trial"),
            when_resumed(run.facts.as_ref()),
        ),
    };
    let mut out = origin.to_owned() + &answer;
    if run.is_resumable() {
        let _ = writeln!(out, "resume  {}", resume_command(&run.dir));
    }
    for problem in &run.problems {
        let _ = writeln!(
            out,
            "{} {}: {}",
            color::bad("problem"),
            one_line(&problem.file),
            one_line(&problem.text)
        );
    }
    if let Some(plan) = &run.plan {
        // A command of somebody else is not there to be copied.
        let own = if is_imported {
            String::new()
        } else {
            format!("   (was: {})", one_line(&plan.command.join(" ")))
        };
        let _ = writeln!(out, "repeat  showdown run {dir}/plan.toml{own}");
    }
    out
}
