//! The journal of kernel settings: old values that are on disk before a setting changes. Its file and lock are a
//! [`JournalFile`].

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Error, Knob};
use crate::files::journal_file::{JournalFile, JournalFileError, lines};
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
    /// A process uses the journal from here on.
    Owner(ProcessId),
    Changing(JournalEntry),
    /// The entries of this setting above are done with.
    Restored(Knob),
}

#[derive(Debug)]
pub(super) struct Journal {
    file: JournalFile,
    entries: Vec<JournalEntry>,
}

impl Journal {
    pub(super) fn exists(dir: &Path) -> bool {
        dir.join(NAME).exists()
    }

    /// Locks the journal of this directory and reads its entries.
    pub(super) fn lock(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(NAME);
        let (file, text) = match JournalFile::lock(dir, NAME) {
            Ok(locked) => locked,
            Err(JournalFileError::Untrusted(error)) => return Err(error.into()),
            Err(JournalFileError::Busy(text)) => {
                return Err(Error::Busy { owner: owner(&text), journal: path });
            }
            Err(JournalFileError::Io(source)) => return Err(Error::Journal { journal: path, source }),
        };
        let mut journal = Self { file, entries: entries(&text) };
        match journal.entries.as_slice() {
            [] => journal.clear()?,
            _ => journal.write_owner().map_err(|source| journal.failed(source))?,
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

    /// Removes the entries of settings that were restored.
    pub(super) fn restored(&mut self, restored: &[Knob]) -> Result<(), Error> {
        self.entries.retain(|entry| !restored.contains(&entry.knob));
        if self.entries.is_empty() {
            return self.clear();
        }
        // The file is only appended to, so a crash here loses no entry.
        let write = |knob: &Knob| self.write(&JournalLine::Restored(knob.clone()));
        restored.iter().try_for_each(write).map_err(|source| self.failed(source))
    }

    fn clear(&mut self) -> Result<(), Error> {
        self.entries.clear();
        let cleared = self.file.clear();
        cleared.and_then(|()| self.write_owner()).map_err(|source| self.failed(source))
    }

    fn write_owner(&mut self) -> io::Result<()> {
        match ProcessId::of(std::process::id()) {
            Some(owner) => self.write(&JournalLine::Owner(owner)),
            None => Ok(()),
        }
    }

    fn write(&mut self, line: &JournalLine) -> io::Result<()> {
        self.file.write(line)
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Journal { journal: self.file.path().to_owned(), source }
    }
}

fn entries(text: &str) -> Vec<JournalEntry> {
    let mut entries: Vec<JournalEntry> = Vec::new();
    for line in lines(text) {
        match line {
            JournalLine::Owner(_) => {}
            JournalLine::Changing(entry) => entries.push(entry),
            JournalLine::Restored(knob) => entries.retain(|entry| entry.knob != knob),
        }
    }
    entries
}

fn owner(text: &str) -> String {
    let owner = lines(text).rev().find_map(|line| match line {
        JournalLine::Owner(owner) => Some(owner),
        JournalLine::Changing(_) | JournalLine::Restored(_) => None,
    });
    owner.map_or_else(|| "another showdown process".to_owned(), |owner| format!("pid {}", owner.pid))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_journal_that_others_may_have_written_is_refused_and_left_as_it_is() {
        let text = "{\"changing\":{\"knob\":\"kernel.core_pattern\",\"old\":\"|/tmp/x\",\"boot_id\":null}}\n";
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is this test's");
        };
        let refused =
            |dir: &Path| Journal::lock(dir).err().map(|error| error.to_string()).unwrap_or_default();
        let create = |dir: &Path| {
            let path = dir.join(NAME);
            fs::write(&path, text).expect("a file");
            path
        };
        let open_folder = tempfile::tempdir().expect("a directory");
        let journal = create(open_folder.path());
        mode(open_folder.path(), 0o777);
        assert!(refused(open_folder.path()).contains("other users may write to "), "the folder");
        let open_file = tempfile::tempdir().expect("a directory");
        mode(&create(open_file.path()), 0o666);
        assert!(refused(open_file.path()).contains("other users may write to "), "the file");
        let link = tempfile::tempdir().expect("a directory");
        let target = link.path().join("passwd");
        fs::write(&target, "root:x:0:0").expect("a file");
        std::os::unix::fs::symlink(&target, link.path().join(NAME)).expect("a link");
        assert!(!refused(link.path()).is_empty(), "a link");
        assert_eq!(fs::read_to_string(&target).expect("it is there"), "root:x:0:0");
        let pipe = tempfile::tempdir().expect("a directory");
        let made_pipe = std::process::Command::new("mkfifo").arg(pipe.path().join(NAME)).status();
        assert!(made_pipe.expect("mkfifo(1)").success());
        assert!(refused(pipe.path()).contains("it is no plain file"), "{}", refused(pipe.path()));
        assert_eq!(fs::read_to_string(&journal).expect("it is there"), text);
        if rustix::process::geteuid().is_root() {
            let of_another = tempfile::tempdir().expect("a directory");
            std::os::unix::fs::chown(create(of_another.path()), Some(65_534), None).expect("root may");
            assert!(refused(of_another.path()).contains("belongs to user 65534"), "an owner");
        }
    }
}
