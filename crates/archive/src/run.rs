//! Reading a run, whatever state it is in: what is there is given, what is not is named.

use crate::{
    error::{ArchiveError, Result},
    files,
    id::RunId,
    layout,
    model::{FORMAT, Facts, Plan, Record, Trial, Verdict},
    telemetry::Telemetry,
    writer,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// How far a run came. Derived, never written down: a crash writes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It has a verdict.
    Finished,
    /// It has none, and a process is at work on it.
    Running,
    /// It has none, and nobody is at work on it: it was stopped or cut off.
    Unfinished,
    /// It cannot be said: its plan or its verdict cannot be read.
    Damaged,
}

impl RunState {
    const ALL: [Self; 4] = [Self::Finished, Self::Running, Self::Unfinished, Self::Damaged];

    /// The state's name, as JSON and the index have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running => "running",
            Self::Unfinished => "unfinished",
            Self::Damaged => "damaged",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A run as its directory has it.
#[derive(Debug)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Where it lies.
    pub dir: PathBuf,
    /// How far it came.
    pub state: RunState,
    /// What was asked; `None` where it cannot be read.
    pub plan: Option<Plan>,
    /// What was found; `None` where it was not written yet or cannot be read.
    pub facts: Option<Facts>,
    /// The trials that have a record, by number.
    pub trials: Vec<TrialRecord>,
    /// What may be said; `None` where it was not written yet or cannot be read.
    pub verdict: Option<Verdict>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What of the directory is missing or cannot be read. The rest is sound.
    pub problems: Vec<Problem>,
}

/// A trial and the folder it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRecord {
    /// The folder relative to the run directory, such as `trials/003-apache`.
    pub folder: String,
    /// The record.
    pub trial: Trial,
}

/// Something that a reader of the run must know is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file or folder, relative to the run directory.
    pub file: String,
    /// What is wrong, where, and the mend.
    pub text: String,
}

impl Run {
    /// Reads a run directory. Files that cannot be read become [`Problem`]s; only a directory that is no run's, or
    /// that cannot be listed, is an error.
    pub fn open(dir: &Path) -> Result<Self> {
        let id = writer::run_id_of(dir)?;
        let Head { state, plan, verdict, tags, mut problems } = Head::read(dir);
        let facts = keep(layout::FACTS, read_record(dir, layout::FACTS), &mut problems);
        let trials = read_trials(dir, state, &mut problems)?;
        Ok(Self { id, dir: dir.to_path_buf(), state, plan, facts, trials, verdict, tags, problems })
    }

    /// The path of a file of the run; never one outside its directory, whatever the record says.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        files::inside(&self.dir, name)
    }

    /// A text file of the run, such as a configuration or a log, at most `most` bytes of it; bytes that are not
    /// UTF-8 are replaced.
    pub fn text(&self, name: &str, most: u64) -> Result<String> {
        use io::Read;
        let path = self.path(name)?;
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(most).read_to_end(&mut bytes))
            .map_err(ArchiveError::io(&path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A trial's telemetry; `None` where none was recorded.
    pub fn telemetry(&self, trial: &Trial) -> Result<Option<Telemetry>> {
        let Some(name) = &trial.files.telemetry else { return Ok(None) };
        let path = self.path(name)?;
        let bytes = files::read(&path)?;
        Telemetry::from_parquet(bytes).map(Some).map_err(|problem| ArchiveError::Telemetry { path, problem })
    }
}

/// What of a run can be said without looking at its trials: all that the index needs.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) state: RunState,
    pub(crate) plan: Option<Plan>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) tags: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

impl Head {
    pub(crate) fn read(dir: &Path) -> Self {
        let mut problems = Vec::new();
        // Looked at before the verdict: a run that ends in between has one.
        let running = is_running(dir);
        let plan = keep(layout::PLAN, read_plan(dir).map(Some), &mut problems);
        let verdict = keep(layout::VERDICT, read_record(dir, layout::VERDICT), &mut problems);
        let state = match (&plan, &verdict) {
            (Some(_), Some(_)) => RunState::Finished,
            _ if !problems.is_empty() => RunState::Damaged,
            _ if running => RunState::Running,
            _ => RunState::Unfinished,
        };
        let tags = keep(layout::TAGS, read_optional(dir, layout::TAGS), &mut problems);
        let tags = tags.or_else(|| plan.as_ref().map(|plan| plan.tags.clone())).unwrap_or_default();
        Self { state, plan, verdict, tags, problems }
    }
}

/// Whether a [`crate::RunWriter`] lives: it holds the directory's lock.
pub(crate) fn is_running(dir: &Path) -> bool {
    File::open(dir).is_ok_and(|handle| matches!(handle.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Turns a failure into a problem, and goes on without the file.
fn keep<T>(file: &str, read: Result<Option<T>>, problems: &mut Vec<Problem>) -> Option<T> {
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

fn read_plan(dir: &Path) -> Result<Plan> {
    let path = dir.join(layout::PLAN);
    let unreadable = |problem| ArchiveError::Unreadable { path: path.clone(), problem };
    let text =
        String::from_utf8(files::read(&path)?).map_err(|error| unreadable(format!("no text: {error}")))?;
    let plan: Plan = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        unreadable(format!("{place}{}: mend the line, or restore the file from an export", error.message()))
    })?;
    check_format(plan.format).map_err(unreadable)?;
    Ok(plan)
}

/// A JSON file that need not be there yet.
fn read_optional<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>> {
    let path = dir.join(name);
    if path.try_exists().map_err(ArchiveError::io(&path))? {
        files::read_json(&path).map(Some)
    } else {
        Ok(None)
    }
}

/// The same for one that says its format. A later format may parse and mean something else, or not parse at all;
/// either way the format is what the reader must hear of.
fn read_record<T: Record>(dir: &Path, name: &str) -> Result<Option<T>> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let read = read_optional::<T>(dir, name);
    let format = match &read {
        Ok(Some(record)) => Some(record.format()),
        Ok(None) => None,
        Err(_) => read_optional::<Format>(dir, name).ok().flatten().map(|head| head.format),
    };
    match format.map_or(Ok(()), check_format) {
        Ok(()) => read,
        Err(problem) => Err(ArchiveError::Unreadable { path: dir.join(name), problem }),
    }
}

fn check_format(format: u32) -> Result<(), String> {
    if format <= FORMAT {
        Ok(())
    } else {
        Err(format!(
            "written in format {format}, this showdown knows {FORMAT}: read it with a newer showdown"
        ))
    }
}

fn read_trials(dir: &Path, state: RunState, problems: &mut Vec<Problem>) -> Result<Vec<TrialRecord>> {
    let root = dir.join(layout::TRIALS);
    let mut trials = Vec::new();
    for name in folders(&root)? {
        let folder = format!("{}/{name}", layout::TRIALS);
        let file = format!("{folder}/{}", layout::TRIAL);
        match read_record(dir, &file) {
            Ok(None) if state == RunState::Running => {}
            Ok(None) => problems.push(Problem {
                file: folder,
                text: "the trial was cut off before its end: it does not count".to_owned(),
            }),
            read => {
                let trial = keep(&file, read, problems);
                trials.extend(trial.map(|trial| TrialRecord { folder, trial }));
            }
        }
    }
    trials.sort_by_key(|record| record.trial.number);
    Ok(trials)
}

/// The names of the folders in a folder, sorted; none where it is missing.
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
