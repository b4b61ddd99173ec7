//! The journal: a file of JSON lines with old values, locked by its owner, and on disk before a setting changes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, Knob};
use crate::process::ProcessId;

const NAME: &str = "knobs.journal";

/// A setting that is about to be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    pub(super) knob: Knob,
    /// The value to restore.
    pub(super) old: String,
    /// The boot in which the entry was written. After a reboot, settings have their defaults.
    pub(super) boot_id: Option<String>,
}

/// A line of the journal. The first line names the owner.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    Owner(ProcessId),
    Changing(JournalEntry),
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    entries: Vec<JournalEntry>,
}

impl Journal {
    pub(super) fn exists(dir: &Path) -> bool {
        dir.join(NAME).exists()
    }

    /// Locks the journal of this directory and reads its entries.
    pub(super) fn lock(dir: &Path) -> Result<Self, Error> {
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

    /// The changes that were not restored, oldest first.
    pub(super) fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }

    /// Writes an entry to the disk. Only then may the setting be changed.
    pub(super) fn append(&mut self, entry: JournalEntry) -> Result<(), Error> {
        self.entries.push(entry.clone());
        self.write(&JournalLine::Changing(entry)).map_err(|source| self.failed(source))
    }

    /// Removes all entries, after their settings were restored.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.write_owner().map_err(|source| self.failed(source))?;
        self.entries.clear();
        Ok(())
    }

    fn write_owner(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        match ProcessId::of(std::process::id()) {
            Some(owner) => self.write(&JournalLine::Owner(owner)),
            None => self.file.sync_all(),
        }
    }

    fn write(&mut self, line: &JournalLine) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.sync_all()
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Journal { journal: self.path.clone(), source }
    }
}

fn lines(text: &str) -> impl Iterator<Item = JournalLine> {
    // A truncated line: its writer was killed while writing it, before it changed the setting.
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

fn entries(text: &str) -> Vec<JournalEntry> {
    let entry = |line| match line {
        JournalLine::Changing(entry) => Some(entry),
        JournalLine::Owner(_) => None,
    };
    lines(text).filter_map(entry).collect()
}

fn owner(text: &str) -> String {
    let owner = lines(text).find_map(|line| match line {
        JournalLine::Owner(owner) => Some(owner),
        JournalLine::Changing(_) => None,
    });
    owner.map_or_else(|| "another showdown process".to_owned(), |owner| format!("pid {}", owner.pid))
}
