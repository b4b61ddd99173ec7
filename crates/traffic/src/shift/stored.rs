//! Runs that were recorded: found below the directory of runs, read, and shown again. A run that was killed has a record without an answer.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use archive::RunId;
use thiserror::Error;

use super::page::{Told, body, page};
use super::record::{ANSWER, AnswerRecord, FOLDER, PAGE, PLAN, StepRecord, WINDOWS, WindowRecord};
use crate::name::Name;
use crate::plan::PlannedNames;

/// The largest file of a record that is read. A second has about 2 kB, so these are three days.
const MOST_BYTES: u64 = 512 << 20;

/// Why a record cannot be read, or its page not be written.
#[derive(Debug, Error)]
pub enum StoredError {
    /// A file is missing or damaged.
    #[error("cannot read {}: {reason}: choose another run (`showdown list`)", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The run goes on.
    #[error("{id} goes on: end it first, with `showdown shift --abort`")]
    Running {
        /// The run.
        id: RunId,
    },
    /// The folder cannot be removed.
    #[error("cannot remove {}: {source}: remove it as the user who owns it", directory.display())]
    Unremovable {
        /// The folder.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The page cannot be written.
    #[error("cannot write {}: {source}: free space, or write it elsewhere with -o", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// How a recorded run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredState {
    /// It has an answer about the candidate.
    Answered,
    /// It was stopped, or too little was shown.
    Stopped,
    /// Its process goes on with it.
    Running,
    /// It was killed, and nobody goes on with it.
    Killed,
}

/// A recorded run.
#[derive(Debug)]
pub struct StoredShift {
    /// Its id, the name of its folder.
    pub id: RunId,
    /// Its folder.
    pub directory: PathBuf,
    /// How it stands.
    pub state: StoredState,
    /// The new server and the old version, by the plan of the run.
    pub names: PlannedNames,
    /// Its answer. None in a run that goes on or was killed.
    pub answer: Option<AnswerRecord>,
}

/// The folders of all recorded runs below a directory of runs, the newest first.
pub fn folders(runs: &Path) -> Vec<(RunId, PathBuf)> {
    let mut found: Vec<(RunId, PathBuf)> = Vec::new();
    for entry in fs::read_dir(runs.join(FOLDER)).into_iter().flatten().flatten() {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(id) = id
            && is_record(&entry.path())
        {
            found.push((id, entry.path()));
        }
    }
    found.sort_by(|one, other| other.0.cmp(&one.0));
    found
}

/// Removes records, and calls `removed` after each. If one of these runs goes on, none is removed. What a record says is of no interest:
/// a damaged one is removed, too.
pub fn remove_all(records: &[(RunId, PathBuf)], removed: &mut dyn FnMut(&RunId)) -> Result<(), StoredError> {
    if let Some((id, _)) = records.iter().find(|(_, directory)| is_locked(&directory.join(WINDOWS))) {
        return Err(StoredError::Running { id: id.clone() });
    }
    for (id, directory) in records {
        // The hidden name is no id: no reader sees a part of a record.
        let hidden = directory.with_file_name(format!(".removing-{id}"));
        let gone = fs::rename(directory, &hidden).and_then(|()| fs::remove_dir_all(&hidden));
        gone.map_err(|source| StoredError::Unremovable { directory: directory.clone(), source })?;
        removed(id);
    }
    Ok(())
}

/// Whether a folder is the record of a run on live traffic.
pub fn is_record(directory: &Path) -> bool {
    directory.join(WINDOWS).is_file()
}

/// Makes the page, or a part of it.
type Render = fn(&PlannedNames, Told<'_>, &[WindowRecord]) -> String;

impl StoredShift {
    /// Reads a record without its seconds.
    pub fn open(directory: &Path) -> Result<Self, StoredError> {
        let id = directory.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let Some(id) = id else {
            return Err(unreadable(directory, "the name of its folder is no id of a run"));
        };
        let plan = directory.join(PLAN);
        let names = PlannedNames::read(&plan).map_err(|error| unreadable(&plan, error.to_string()))?;
        let answer_file = directory.join(ANSWER);
        let answer: Option<AnswerRecord> = match File::open(&answer_file) {
            Ok(file) => Some(
                serde_json::from_reader(file.take(MOST_BYTES))
                    .map_err(|error| unreadable(&answer_file, error.to_string()))?,
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&answer_file, error.to_string())),
        };
        let state = match &answer {
            Some(answer) if ["stopped", "not_shown"].contains(&answer.status.as_str()) => {
                StoredState::Stopped
            }
            Some(_) => StoredState::Answered,
            None if is_locked(&directory.join(WINDOWS)) => StoredState::Running,
            None => StoredState::Killed,
        };
        Ok(Self { id, directory: directory.to_owned(), state, names, answer })
    }

    /// Its seconds. The last line of a run that was killed may be cut off.
    pub fn windows(&self) -> Result<Vec<WindowRecord>, StoredError> {
        let file = self.directory.join(WINDOWS);
        let opened = File::open(&file).map_err(|error| unreadable(&file, error.to_string()))?;
        let mut windows = Vec::new();
        for line in BufReader::new(opened.take(MOST_BYTES)).lines() {
            let line = line.map_err(|error| unreadable(&file, error.to_string()))?;
            match serde_json::from_str(&line) {
                Ok(window) => windows.push(window),
                Err(error) if error.is_eof() => break,
                Err(error) => return Err(unreadable(&file, error.to_string())),
            }
        }
        Ok(windows)
    }

    /// What is known of it in a sentence.
    pub fn sentence(&self) -> String {
        match (&self.answer, self.state) {
            (Some(answer), _) => answer.answer.clone(),
            (None, StoredState::Running) => "goes on: see `showdown shift --status`".to_owned(),
            (None, _) => "was killed before it had an answer".to_owned(),
        }
    }

    /// The page, made again from the seconds.
    pub fn page(&self) -> Result<String, StoredError> {
        self.render(page)
    }

    /// What is below the heading of the page, for a page of another program: without a style.
    pub fn page_body(&self) -> Result<String, StoredError> {
        self.render(body)
    }

    fn render(&self, render: Render) -> Result<String, StoredError> {
        let windows = self.windows()?;
        let mut names = self.names.clone();
        // The plan of a ramp may have a control, which does not take part.
        names.control.take_if(|control| !has_server(&windows, control));
        let Some(answer) = &self.answer else {
            let (sentence, steps) = (self.sentence(), steps(&windows));
            let told = Told {
                sentence: &sentence,
                steps: &steps,
                programs: &[],
                before_breach: &[],
                sessions_left: &[],
            };
            return Ok(render(&names, told, &windows));
        };
        Ok(render(&names, answer.into(), &windows))
    }

    /// Writes the page to its place in the folder; returns the place.
    pub fn write_page(&self) -> Result<PathBuf, StoredError> {
        let file = self.directory.join(PAGE);
        fs::write(&file, self.page()?)
            .map_err(|source| StoredError::Unwritable { file: file.clone(), source })?;
        Ok(file)
    }
}

fn has_server(windows: &[WindowRecord], name: &Name) -> bool {
    windows.iter().flat_map(|window| &window.servers).any(|server| server.server == *name)
}

/// The steps of a run that was killed.
fn steps(windows: &[WindowRecord]) -> Vec<StepRecord> {
    let mut steps: Vec<StepRecord> = Vec::new();
    for (number, window) in (1..).zip(windows) {
        if steps.last().is_none_or(|step| step.phase != window.phase) {
            steps.push(StepRecord::new(number, window.share, window.phase.clone()));
        }
    }
    steps
}

/// Whether the process of a run goes on with its record.
fn is_locked(windows: &Path) -> bool {
    let Ok(file) = File::open(windows) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn unreadable(file: &Path, reason: impl Into<String>) -> StoredError {
    StoredError::Unreadable { file: file.to_owned(), reason: reason.into() }
}
