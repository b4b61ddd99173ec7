//! The file that remembers old values: JSON lines, locked by its owner, on disk before anything is changed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, Knob};
use crate::process::ProcessId;

const NAME: &str = "knobs.journal";

/// A setting that is about to be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) knob: Knob,
    /// The value to put back.
    pub(super) old: String,
    /// The start of the machine that this is about: another one has its settings from the beginning.
    pub(super) boot_id: Option<String>,
}

/// A line: the first says whose the journal is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Owner(ProcessId),
    Changing(Entry),
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
}

impl Journal {
    pub(super) fn exists(dir: &Path) -> bool {
        dir.join(NAME).exists()
    }

    /// Locks the journal of this directory and reads what is in it.
    pub(super) fn take(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(NAME);
        let failed = |source| Error::Journal { journal: path.clone(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        let locked = file.try_lock();
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { owner: owner(&text), journal: path }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut journal = Self { path, file, entries: entries(&text) };
        if journal.entries.is_empty() {
            journal.clear()?;
        }
        Ok(journal)
    }

    /// What was changed and not put back, in the order of time.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Writes an entry through to the disk. Only then may the setting be changed.
    pub(super) fn append(&mut self, entry: Entry) -> Result<(), Error> {
        self.entries.push(entry.clone());
        self.write(&Line::Changing(entry)).map_err(|source| self.failed(source))
    }

    /// Forgets all entries: they are put back.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.begin().map_err(|source| self.failed(source))?;
        self.entries.clear();
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        match ProcessId::of(std::process::id()) {
            Some(owner) => self.write(&Line::Owner(owner)),
            None => self.file.sync_all(),
        }
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.sync_all()
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Journal { journal: self.path.clone(), source }
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line> {
    // A line cut short was being written when its writer was killed: what it announces was not done.
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

fn entries(text: &str) -> Vec<Entry> {
    let entry = |line| match line {
        Line::Changing(entry) => Some(entry),
        Line::Owner(_) => None,
    };
    lines(text).filter_map(entry).collect()
}

fn owner(text: &str) -> String {
    let owner = lines(text).find_map(|line| match line {
        Line::Owner(owner) => Some(owner),
        Line::Changing(_) => None,
    });
    owner.map_or_else(|| "another showdown".to_owned(), |owner| format!("pid {}", owner.pid))
}
