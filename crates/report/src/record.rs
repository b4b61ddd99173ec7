//! A whole run as one object: what `report --format json` prints, and the greater part of what the page holds.

use archive::{
    Problem, Run, RunId, RunState,
    model::{Facts, Plan, Trial, Verdict},
};
use serde::Serialize;

/// Everything that a run directory says in JSON and TOML.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a> {
    pub(crate) run: Head<'a>,
    pub(crate) plan: Option<&'a Plan>,
    pub(crate) facts: Option<&'a Facts>,
    pub(crate) verdict: Option<&'a Verdict>,
    pub(crate) trials: Vec<InFolder<'a>>,
}

/// The run itself.
#[derive(Debug, Serialize)]
pub(crate) struct Head<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) state: RunState,
    pub(crate) dir: String,
    pub(crate) tags: &'a [String],
    pub(crate) problems: &'a [Problem],
    /// The command as it was typed, quoted for a shell.
    pub(crate) command: Option<String>,
    /// The command that runs the same plan again, with the same seed.
    pub(crate) rerun: String,
}

/// A trial and the folder it came from.
#[derive(Debug, Serialize)]
pub(crate) struct InFolder<'a> {
    pub(crate) folder: &'a str,
    #[serde(flatten)]
    pub(crate) trial: &'a Trial,
}

impl<'a> Head<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let dir = run.dir.display().to_string();
        let plan = run.dir.join(archive::layout::PLAN).display().to_string();
        Self {
            id: &run.id,
            state: run.state,
            tags: &run.tags,
            problems: &run.problems,
            command: run.plan.as_ref().map(|plan| shell_words::join(&plan.command)),
            rerun: shell_words::join(["showdown", "run", &plan]),
            dir,
        }
    }
}

impl<'a> Record<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let in_folder =
            |record: &'a archive::TrialRecord| InFolder { folder: &record.folder, trial: &record.trial };
        Self {
            run: Head::of(run),
            plan: run.plan.as_ref(),
            facts: run.facts.as_ref(),
            verdict: run.verdict.as_ref(),
            trials: run.trials.iter().map(in_folder).collect(),
        }
    }
}
