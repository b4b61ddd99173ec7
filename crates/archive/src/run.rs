//! Reads a run in any state: returns the files that can be read, and names those that cannot.

use crate::{
    error::{ArchiveError, Result},
    files,
    id::RunId,
    layout,
    model::upgrade::{FormatNumber, upgrade},
    model::{
        Concurrency, Explanation, Facts, Plan, PlanParseError, RunFile, RunKind, Sessions, Trial,
        TuningRecord, Verdict,
    },
    origin,
    telemetry::Telemetry,
    writer,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The state of a run. It is derived and never written, because a crash writes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It has a verdict, and no trial is left to run; or it has an explanation; or the steps of a run of them.
    Finished,
    /// It has a verdict over the trials until it was interrupted or stopped; others are left to run.
    Interrupted,
    /// It has no verdict, and a process is writing it.
    Running,
    /// It has no verdict, and no process is writing it: it was stopped or killed.
    Unfinished,
    /// Unknown: its plan or its verdict cannot be read.
    Damaged,
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Finished, Self::Interrupted, Self::Running, Self::Unfinished, Self::Damaged];

    /// The name in JSON and in the index.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
            Self::Unfinished => "unfinished",
            Self::Damaged => "damaged",
        }
    }

    /// Whether `showdown resume` goes on with a run of this kind: without a plan, nobody knows what is left to run.
    pub(crate) fn is_resumable(self, kind: Option<RunKind>) -> bool {
        matches!(self, Self::Interrupted | Self::Unfinished) && kind.is_some_and(RunKind::has_trials)
    }

    /// The state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A run as read from its directory.
#[derive(Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// Its state.
    pub state: RunState,
    /// The plan; `None` where it cannot be read.
    pub plan: Option<Plan>,
    /// The facts; `None` where they are not written yet or cannot be read.
    pub facts: Option<Facts>,
    /// The trials that have a `trial.json`, by number.
    pub trials: Vec<TrialRecord>,
    /// The verdict; `None` where it is not written yet or cannot be read.
    pub verdict: Option<Verdict>,
    /// What limits its servers; `None` where it does not explain, or that cannot be read.
    pub explanation: Option<Explanation>,
    /// How many downloads it has in progress at once; `None` in any other run, or where that cannot be read.
    pub concurrency: Option<Concurrency>,
    /// What `showdown tune` has tried and kept; `None` in a run of another command, or where it cannot be read.
    pub tuning: Option<TuningRecord>,
    /// The answer of all runs of its plan, where others confirm it, or it confirms another. [`crate::Archive::open`] reads it from
    /// their directories; [`Run::open`], which reads one directory, does not.
    pub sessions: Option<Sessions>,
    /// Words to find the run by.
    pub tags: Vec<String>,
    /// Files that are missing or cannot be read. All others are complete.
    pub problems: Vec<Problem>,
}

/// A trial with its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRecord {
    /// The folder relative to the run directory, such as `trials/003-apache`.
    pub folder: String,
    /// The content of `trial.json`.
    pub trial: Trial,
}

/// A file of a run that is missing or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file or folder, relative to the run directory.
    pub file: String,
    /// What is wrong, where, and what to do.
    pub text: String,
}

impl Run {
    /// Whether it came from elsewhere: nobody here knows who wrote it.
    pub fn is_imported(&self) -> bool {
        origin::is_imported(&self.dir)
    }

    /// Whether `showdown resume` goes on with it.
    pub fn is_resumable(&self) -> bool {
        self.state.is_resumable(self.plan.as_ref().map(|plan| plan.kind))
    }

    /// Reads a run directory. Files that cannot be read become [`Problem`]s. It is an error if the directory is not
    /// a run or cannot be listed.
    pub fn open(dir: &Path) -> Result<Self> {
        let mut run = Self::open_without_trials(dir)?;
        run.trials = read_trials(dir, run.state, &mut run.problems)?;
        Ok(run)
    }

    /// Reads a run directory but its trials: a history of many runs needs none.
    pub fn open_without_trials(dir: &Path) -> Result<Self> {
        let id = writer::run_id_of(dir)?;
        let RunHead { state, plan, verdict, explanation, concurrency, tuning, tags, mut problems } =
            RunHead::read(dir);
        let facts = or_problem(layout::FACTS, read_run_file(dir, layout::FACTS), &mut problems);
        Ok(Self {
            id,
            dir: dir.to_path_buf(),
            state,
            plan,
            facts,
            trials: Vec::new(),
            verdict,
            explanation,
            concurrency,
            tuning,
            sessions: None,
            tags,
            problems,
        })
    }

    /// Writes the explanation of a run that has ended, in place of an earlier one.
    pub fn explain(&mut self, explanation: Explanation) -> Result<()> {
        writer::write_explanation(&self.dir, &explanation)?;
        self.explanation = Some(explanation);
        Ok(())
    }

    /// Writes what a search for tunings has found, in place of an earlier record.
    pub fn tune(&mut self, record: TuningRecord) -> Result<()> {
        writer::write_tuning(&self.dir, &record)?;
        self.tuning = Some(record);
        Ok(())
    }

    /// The path of a file of the run. A name that leads out of the directory is refused.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        files::inside(&self.dir, name)
    }

    /// The first `max_bytes` bytes of a text file of the run, such as a configuration or a log. Bytes that are not
    /// UTF-8 are replaced.
    pub fn text(&self, name: &str, max_bytes: u64) -> Result<String> {
        use io::Read;
        let path = self.path(name)?;
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(max_bytes).read_to_end(&mut bytes))
            .map_err(ArchiveError::io(&path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The telemetry of a trial; `None` where none was recorded.
    pub fn telemetry(&self, trial: &Trial) -> Result<Option<Telemetry>> {
        self.table(trial.files.telemetry.as_deref())
    }

    /// The watts of the meters of a trial over time; `None` where there are none.
    pub fn power(&self, trial: &Trial) -> Result<Option<Telemetry>> {
        self.table(trial.files.power.as_deref())
    }

    fn table(&self, name: Option<&str>) -> Result<Option<Telemetry>> {
        let Some(name) = name else { return Ok(None) };
        let path = self.path(name)?;
        let bytes = files::read(&path)?;
        Telemetry::from_parquet(bytes).map(Some).map_err(|source| ArchiveError::Telemetry { path, source })
    }
}

/// A run without its trials: all that the index needs.
#[derive(Debug)]
pub(crate) struct RunHead {
    pub(crate) state: RunState,
    pub(crate) plan: Option<Plan>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) explanation: Option<Explanation>,
    pub(crate) concurrency: Option<Concurrency>,
    pub(crate) tuning: Option<TuningRecord>,
    pub(crate) tags: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

impl RunHead {
    pub(crate) fn read(dir: &Path) -> Self {
        let mut problems = Vec::new();
        // Checked before the verdict is read: a run that ends in between has one.
        let running = is_running(dir);
        let plan = or_problem(layout::PLAN, read_plan(dir).map(Some), &mut problems);
        let verdict: Option<Verdict> =
            or_problem(layout::VERDICT, read_run_file(dir, layout::VERDICT), &mut problems);
        let explanation: Option<Explanation> =
            or_problem(layout::EXPLANATION, read_run_file(dir, layout::EXPLANATION), &mut problems);
        let concurrency: Option<Concurrency> =
            or_problem(layout::CONCURRENCY, read_run_file(dir, layout::CONCURRENCY), &mut problems);
        let tuning: Option<TuningRecord> =
            or_problem(layout::TUNING, read_run_file(dir, layout::TUNING), &mut problems);
        let state = match (&plan, &verdict) {
            // Written after each step.
            (Some(plan), None) if plan.kind == RunKind::Concurrency && !running && concurrency.is_some() => {
                RunState::Finished
            }
            (Some(plan), None) if plan.kind == RunKind::Explain && explanation.is_some() => {
                RunState::Finished
            }
            (Some(_), Some(verdict)) if verdict.is_interrupted() => RunState::Interrupted,
            (Some(_), Some(_)) => RunState::Finished,
            _ if !problems.is_empty() => RunState::Damaged,
            _ if running => RunState::Running,
            _ => RunState::Unfinished,
        };
        let tags = or_problem(layout::TAGS, read_optional(dir, layout::TAGS), &mut problems);
        let tags = tags.or_else(|| plan.as_ref().map(|plan| plan.tags.clone())).unwrap_or_default();
        Self { state, plan, verdict, explanation, concurrency, tuning, tags, problems }
    }
}

/// Whether a [`crate::RunWriter`] exists in some process: it has locked the directory.
pub(crate) fn is_running(dir: &Path) -> bool {
    File::open(dir).is_ok_and(|handle| matches!(handle.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Turns an error into a problem, so that reading continues without the file.
fn or_problem<T>(file: &str, read: Result<Option<T>>, problems: &mut Vec<Problem>) -> Option<T> {
    read.unwrap_or_else(|error| {
        let text = match error {
            ArchiveError::Unreadable { problem, .. } => problem,
            ArchiveError::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        problems.push(Problem { file: file.to_owned(), text });
        None
    })
}

/// Reads the plan.
pub(crate) fn read_plan(dir: &Path) -> Result<Plan> {
    let path = dir.join(layout::PLAN);
    let unreadable = |problem| ArchiveError::Unreadable { path: path.clone(), problem };
    let text = String::from_utf8(files::read(&path)?).map_err(|error| {
        unreadable(format!("not UTF-8 text: {error}: restore it from an export of the run"))
    })?;
    text.parse().map_err(|error: PlanParseError| {
        unreadable(format!("{error}: fix the line, or restore the file from an export of the run"))
    })
}

/// Reads the facts, if there are any.
pub(crate) fn read_facts(dir: &Path) -> Result<Option<Facts>> {
    read_run_file(dir, layout::FACTS)
}

/// Reads the verdict, if there is one.
pub(crate) fn read_verdict(dir: &Path) -> Result<Option<Verdict>> {
    read_run_file(dir, layout::VERDICT)
}

/// A JSON file that may be missing.
fn read_optional<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>> {
    let path = dir.join(name);
    if exists(&path)? { files::read_json(&path).map(Some) } else { Ok(None) }
}

/// A JSON file with a format number that may be missing. The number decides how it is read: a file of another format
/// may parse and mean something else.
fn read_run_file<T: RunFile>(dir: &Path, name: &str) -> Result<Option<T>> {
    let path = dir.join(name);
    if !exists(&path)? {
        return Ok(None);
    }
    let bytes = files::read(&path)?;
    run_file(&path, &bytes).map(Some)
}

/// Reads the bytes of a JSON file with a format number. The error is why they cannot be read.
pub(crate) fn parse_run_file<T: RunFile>(path: &Path, bytes: &[u8]) -> std::result::Result<(), String> {
    run_file::<T>(path, bytes).map(drop).map_err(|error| error.to_string())
}

fn run_file<T: RunFile>(path: &Path, bytes: &[u8]) -> Result<T> {
    let current = serde_json::from_slice::<T>(bytes);
    let format = match &current {
        Ok(file) => Some(file.format()),
        Err(_) => serde_json::from_slice::<FormatNumber>(bytes).ok().map(|number| number.format),
    };
    let upgraded = format.map_or(Ok(None), |format| {
        upgrade(T::DOCUMENT, format, || serde_json::from_slice(bytes).ok())
            .map_err(|error| ArchiveError::Unreadable { path: path.to_owned(), problem: error.to_string() })
    })?;
    upgraded.map_or(current, serde_json::from_value).map_err(|error| ArchiveError::malformed(path, &error))
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(ArchiveError::io(path))
}

fn read_trials(dir: &Path, state: RunState, problems: &mut Vec<Problem>) -> Result<Vec<TrialRecord>> {
    let root = dir.join(layout::TRIALS);
    let mut trials = Vec::new();
    for name in folders(&root)? {
        let folder = format!("{}/{name}", layout::TRIALS);
        let file = format!("{folder}/{}", layout::TRIAL);
        match read_run_file(dir, &file) {
            Ok(None) if state == RunState::Running => {}
            Ok(None) => problems.push(Problem {
                file: folder,
                text: "the trial was cut off before its end: it does not count".to_owned(),
            }),
            read => {
                let trial = or_problem(&file, read, problems);
                trials.extend(trial.map(|trial| TrialRecord { folder, trial }));
            }
        }
    }
    trials.sort_by_key(|record| record.trial.number);
    Ok(trials)
}

/// The names of the folders in a folder, sorted; empty where the folder is missing.
pub(crate) fn folders(root: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(ArchiveError::io(root))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(ArchiveError::io(root))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !layout::is_hidden(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
