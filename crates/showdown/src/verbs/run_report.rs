//! The end of a run: its report, and the answer that is printed.

use std::path::{Path, PathBuf};

use anyhow::Context;
use archive::model::{RunKind, Sessions, Verdict};
use bakeoff::event::{Event, Observer};
use bakeoff::{FinishedRun, RunPlanError};
use cost::metered::MeteredReport;
use cost::pricing::CostReport;
use serde::Serialize;

use super::meters::NamedTargets;
use super::options::{AnswerFormat, ProgressOption};
use super::run_failure::in_words;
use crate::exit::CommandStatus;
use crate::fail_if::Worse;
use crate::print::note;
use crate::show::bakeoff_progress::BakeoffProgress;
use crate::show::resume::resume_command;
use crate::show::verdict::answer;

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownRun {
    /// The form of the answer.
    pub format: AnswerFormat,
    /// The form of the progress.
    pub progress: ProgressOption,
}

/// A run that has ended, and the path of its report, if that could be written: on a full disk there is an answer, too.
struct ReportedRun {
    run: archive::Run,
    costs: Option<CostReport>,
    report: anyhow::Result<PathBuf>,
}

/// Writes what probably limited the servers of a run that has ended, and its report.
fn reported(dir: &Path, targets: Option<&NamedTargets>) -> anyhow::Result<ReportedRun> {
    let mut run = archive::Run { sessions: archive::sessions(dir), ..archive::Run::open(dir)? };
    let explained = ::explain::explain_trials(&run).map_or(Ok(()), |explanation| run.explain(explanation));
    let costs = targets.filter(|_| run.verdict.is_some()).map(|targets| targets.costs(&run)).transpose()?;
    let report = explained
        .map_err(anyhow::Error::from)
        .and_then(|()| super::archive::write_report(&run, costs.as_ref()));
    Ok(ReportedRun { run, costs, report })
}

/// The answer of a run for a program: the verdict, and what meters, prices and other sessions add to it.
#[derive(Serialize)]
struct RunAnswer<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<&'a MeteredReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'a CostReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<&'a Sessions>,
}

/// Runs trials with `run`, writes the report and prints the verdict. An answer that `fail_if` names has an exit code of its own.
pub fn report_on(
    kind: RunKind,
    shown: ShownRun,
    targets: Option<&NamedTargets>,
    fail_if: Option<Worse>,
    run: impl FnOnce(&mut Observer<'_>) -> Result<FinishedRun, RunPlanError>,
) -> anyhow::Result<CommandStatus> {
    let mut progress = BakeoffProgress::new(shown.progress.mode());
    let finished = run(&mut |event| {
        if let Event::RunBegins { dir, .. } = &event {
            // The report of a run that is resumed is out of date.
            let _ = std::fs::remove_file(Path::new(dir).join(report::FILE_NAME));
        }
        progress.observe(&event);
    });
    progress.finish();
    let finished = finished.map_err(in_words)?;
    let resume = resume_command(&finished.dir);
    let dir = finished.dir.display().to_string();
    let kept = || format!("cannot write the report (the run is kept in {dir})");
    let ReportedRun { run, costs, report } = reported(&finished.dir, targets).with_context(kept)?;
    let path = report.as_ref().ok().map(|path| path.display().to_string());
    let metered = cost::metered::metered(&run);
    let document = RunAnswer {
        verdict: &finished.verdict,
        power: metered.as_ref(),
        cost: costs.as_ref(),
        sessions: run.sessions.as_ref(),
    };
    shown.format.print(&document, || {
        answer(&finished.verdict, &run, metered.as_ref(), costs.as_ref(), &dir, path.as_deref())
    })?;
    if let Some(why) = finished.stopped {
        anyhow::bail!(
            "the run stopped early: {why} (the finished trials are kept in {dir}): {resume} goes on"
        );
    }
    if !finished.unrestored.is_empty() {
        anyhow::bail!("{} (the run is kept in {dir})", finished.unrestored.join("; "));
    }
    report.with_context(kept)?;
    if finished.verdict.is_interrupted() {
        note(&format!("interrupted: {resume} goes on"));
    }
    let has_verdict = match kind {
        RunKind::Compare => finished.verdict.comparisons.iter().any(|c| !c.verdict.is_inconclusive()),
        RunKind::Sweep | RunKind::Explain | RunKind::Concurrency => {
            finished.verdict.variants.iter().any(|variant| variant.valid > 0)
        }
    };
    let fails = fail_if.filter(|_| !finished.interrupted).and_then(|worse| worse.why(&finished.verdict));
    if let Some(why) = &fails {
        note(why);
    }
    Ok(match (finished.interrupted, has_verdict) {
        (true, _) => CommandStatus::Interrupted,
        (false, true) if fails.is_some() => CommandStatus::FailsIf,
        (false, true) => CommandStatus::Success,
        (false, false) => CommandStatus::Invalid,
    })
}
