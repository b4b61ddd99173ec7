//! Runs of the archive on a terminal.

use std::fmt::Write;
use std::path::Path;

use archive::printable::one_line;
use archive::{ListedRun, Run};
use cost::metered::metered;

use super::concurrency;
use super::explanation;
use super::resume::{resume_command, when_resumed};
use super::table::table;
use super::units::plural;
use super::verdict::answer;
use crate::color;

/// One line for each run, the newest first.
pub fn list(listed: &[ListedRun], root: &Path) -> String {
    if listed.is_empty() {
        return format!("no runs in {}\n", root.display());
    }
    let mut rows = vec![["run", "state", "trials", "verdict"].map(str::to_owned).to_vec()];
    for run in listed {
        rows.push(vec![
            run.id.to_string(),
            run.state.name().to_owned(),
            if run.invalid == 0 {
                run.valid.to_string()
            } else {
                format!("{} of {}", run.valid, run.valid + run.invalid)
            },
            run.sentence.clone().unwrap_or_else(|| run.variants.join(" and ")),
        ]);
    }
    let mut out = table(&rows);
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
    let mut out = match (&run.verdict, &run.explanation, &run.concurrency) {
        (Some(verdict), ..) => answer(verdict, run, metered(run).as_ref(), None, &dir, report.as_deref()),
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
        let _ = writeln!(
            out,
            "repeat  showdown run {dir}/plan.toml   (was: {})",
            one_line(&plan.command.join(" "))
        );
    }
    out
}
