//! A whole run as one JSON object, for `report --format json`.

use archive::{
    Problem, Run, RunId, RunState,
    model::{Concurrency, Explanation, Facts, Plan, Sessions, Trial, TuningRecord, Verdict},
};
use cost::metered::{MeteredReport, metered};
use serde::Serialize;

/// All JSON and TOML data of a run directory.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport<'a> {
    pub(crate) run: ReportedRun<'a>,
    pub(crate) plan: Option<&'a Plan>,
    pub(crate) facts: Option<&'a Facts>,
    pub(crate) verdict: Option<&'a Verdict>,
    /// In a run that explains; in short, in a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explanation: Option<&'a Explanation>,
    /// Only in a run of transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) concurrency: Option<&'a Concurrency>,
    /// Only in a run of `showdown tune`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tuning: Option<&'a TuningRecord>,
    /// Only in a run with a meter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) power: Option<MeteredReport>,
    /// Only where the plan was run in several sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sessions: Option<&'a Sessions>,
    pub(crate) trials: Vec<ReportedTrial<'a>>,
}

/// The run itself.
#[derive(Debug, Serialize)]
pub(crate) struct ReportedRun<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) state: RunState,
    pub(crate) dir: String,
    pub(crate) tags: &'a [String],
    pub(crate) problems: &'a [Problem],
    /// The command as typed, quoted for a shell.
    pub(crate) command: Option<String>,
    /// The command that repeats the plan with the same seed.
    pub(crate) rerun: String,
    /// Whether it came from elsewhere.
    pub(crate) imported: bool,
}

/// A trial with its folder.
#[derive(Debug, Serialize)]
pub(crate) struct ReportedTrial<'a> {
    pub(crate) folder: &'a str,
    #[serde(flatten)]
    pub(crate) trial: &'a Trial,
}

impl<'a> ReportedRun<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let dir = run.dir.display().to_string();
        let plan = run.dir.join(archive::layout::PLAN).display().to_string();
        let command = run.plan.as_ref().map(|plan| shell_words::join(&plan.command));
        Self {
            id: &run.id,
            state: run.state,
            tags: &run.tags,
            problems: &run.problems,
            command,
            rerun: shell_words::join(["showdown", "run", &plan]),
            imported: run.is_imported(),
            dir,
        }
    }
}

impl<'a> RunReport<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let in_folder =
            |record: &'a archive::TrialRecord| ReportedTrial { folder: &record.folder, trial: &record.trial };
        Self {
            run: ReportedRun::of(run),
            plan: run.plan.as_ref(),
            facts: run.facts.as_ref(),
            verdict: run.verdict.as_ref(),
            explanation: run.explanation.as_ref(),
            concurrency: run.concurrency.as_ref(),
            tuning: run.tuning.as_ref(),
            power: metered(run),
            sessions: run.sessions.as_ref(),
            trials: run.trials.iter().map(in_folder).collect(),
        }
    }
}
