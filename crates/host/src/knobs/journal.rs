//! The journal: a file of JSON lines with old values, locked by its owner, and on disk before a setting changes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{Error, Knob};
use crate::files::ownership;
use crate::process::ProcessId;

const NAME: &str = "knobs.journal";

/// A run changes some dozens of settings, each for each trial.
const MOST_BYTES: u64 = 64 << 20;

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
    path: PathBuf,
    file: File,
    entries: Vec<JournalEntry>,
    /// Whether the file ends within a line, because a write failed or its writer was killed.
    is_torn: bool,
}

impl Journal {
    pub(super) fn exists(dir: &Path) -> bool {
        dir.join(NAME).exists()
    }

    /// Locks the journal of this directory and reads its entries. What it says is done with this user's rights, so root or this user
    /// owns it, and nobody else may write to it. A link is not followed, and a pipe not waited for.
    pub(super) fn lock(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(NAME);
        let failed = |source| Error::Journal { journal: path.clone(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).append(true).custom_flags(flags);
        ownership::check(dir)?;
        let mut file = options.create(true).open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(io::Error::other("it is no plain file")));
        }
        if metadata.len() > MOST_BYTES {
            return Err(failed(io::Error::other("it is larger than a journal can be")));
        }
        let locked = file.try_lock();
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { owner: owner(&text), journal: path }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let is_torn = !text.is_empty() && !text.ends_with('\n');
        let mut journal = Self { path, file, entries: entries(&text), is_torn };
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
        let cleared = self.file.set_len(0);
        self.is_torn = false;
        cleared.and_then(|()| self.write_owner()).map_err(|source| self.failed(source))
    }

    fn write_owner(&mut self) -> io::Result<()> {
        match ProcessId::of(std::process::id()) {
            Some(owner) => self.write(&JournalLine::Owner(owner)),
            None => self.file.sync_all(),
        }
    }

    fn write(&mut self, line: &JournalLine) -> io::Result<()> {
        let mut bytes = if self.is_torn { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        self.is_torn = true;
        self.file.write_all(&bytes)?;
        self.is_torn = false;
        self.file.sync_all()
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Journal { journal: self.path.clone(), source }
    }
}

impl Drop for Journal {
    /// Releases the lock also for a process that another thread is just forking, which has a copy of the open file until
    /// it becomes its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn lines(text: &str) -> impl DoubleEndedIterator<Item = JournalLine> {
    // A truncated line: its writer was killed while writing it, before it changed the setting.
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
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

    #[test]
    fn the_lock_is_released_also_while_a_forked_process_has_a_copy_of_the_file() -> Result<(), Error> {
        let dir = tempfile::tempdir().expect("a directory");
        let journal = Journal::lock(dir.path())?;
        let _copy = journal.file.try_clone().expect("a copy");
        assert!(matches!(Journal::lock(dir.path()), Err(Error::Busy { .. })));
        drop(journal);
        Journal::lock(dir.path()).map(drop)
    }
}
