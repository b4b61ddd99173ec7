//! A journal: a file of JSON lines that is locked by its owner, and on disk before what a line says is done. What its lines mean is left
//! to those who write them: [`crate::knobs`] for kernel settings, others for what they change elsewhere.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ownership::{self, OwnershipError};

/// A run changes some dozens of settings, each for each trial.
const MOST_BYTES: u64 = 64 << 20;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalFileError {
    /// Another user may have written it.
    #[error(transparent)]
    Untrusted(#[from] OwnershipError),
    /// Another process has it locked. This is its text.
    #[error("another process uses it")]
    Busy(String),
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A journal that this process has locked. The kernel releases the lock when the process ends.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    /// Whether the file ends within a line, because a write failed or its writer was killed.
    is_torn: bool,
}

impl JournalFile {
    /// Locks the journal of this name in a directory, which is made where it is missing, and returns its text. What it says is done with
    /// this user's rights, so root or this user owns it, and nobody else may write to it. A link is not followed, and a pipe not waited for.
    pub fn lock(dir: &Path, name: &str) -> Result<(Self, String), JournalFileError> {
        let path = dir.join(name);
        fs::create_dir_all(dir)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).append(true).custom_flags(flags);
        ownership::check(dir)?;
        let mut file = options.create(true).open(&path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no plain file").into());
        }
        if metadata.len() > MOST_BYTES {
            return Err(io::Error::other("it is larger than a journal can be").into());
        }
        let locked = file.try_lock();
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalFileError::Busy(text)),
            Err(TryLockError::Error(source)) => return Err(source.into()),
        }
        let is_torn = !text.is_empty() && !text.ends_with('\n');
        Ok((Self { path, file, is_torn }, text))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line to the disk. Only then may be done what the line says.
    pub fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = if self.is_torn { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        self.is_torn = true;
        self.file.write_all(&bytes)?;
        self.is_torn = false;
        self.file.sync_all()
    }

    /// Removes all lines.
    pub fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.is_torn = false;
        self.file.sync_all()
    }
}

impl Drop for JournalFile {
    /// Releases the lock also for a process that another thread is just forking, which has a copy of the open file until
    /// it becomes its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The lines of a journal's text that can be read, oldest first. A truncated line is left out: its writer was killed while writing it, before
/// it did what the line says.
pub fn lines<T: DeserializeOwned>(text: &str) -> impl DoubleEndedIterator<Item = T> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_released_also_while_a_forked_process_has_a_copy_of_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut journal, text) = JournalFile::lock(dir.path(), "j").expect("it is free");
        assert_eq!(text, "");
        journal.write(&1).expect("it is written");
        let _copy = journal.file.try_clone().expect("a copy");
        let second = JournalFile::lock(dir.path(), "j");
        assert!(matches!(&second, Err(JournalFileError::Busy(text)) if text == "1\n"), "{second:?}");
        drop(journal);
        JournalFile::lock(dir.path(), "j").expect("it is free again");
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out_and_the_next_one_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("j"), "1\n2").expect("a file");
        let (mut journal, text) = JournalFile::lock(dir.path(), "j").expect("it is free");
        assert_eq!(lines::<Vec<u32>>(&text).count(), 0, "of another kind");
        journal.write(&3).expect("it is written");
        drop(journal);
        let (_, text) = JournalFile::lock(dir.path(), "j").expect("it is free");
        assert_eq!(text, "1\n2\n3\n");
        assert_eq!(lines::<u32>("1\n{\"a\n3\n").collect::<Vec<_>>(), [1, 3]);
    }
}
