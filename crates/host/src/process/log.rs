//! The log of a server: creates it, and reads its end for error messages.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::fchown;
use rustix::process::{Gid, Uid};
use serde::{Deserialize, Serialize};

use super::RunAs;
use crate::files::regular_file;
use crate::secrets;

/// How much of the beginning and of the end of a long log is kept.
pub(crate) const KEPT_LOG_BYTES: u64 = 1 << 20;

/// How much of the end is read for a message. Servers report why they stop in a few lines.
const TAIL_BYTES: u64 = 4096;

/// How many lines an error message contains.
const LINES_IN_A_MESSAGE: usize = 3;

/// The log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open its log {}: {source}", path.display())]
pub(crate) struct OpenLogError {
    path: PathBuf,
    source: io::Error,
}

/// Opens a log for appending, and creates it if needed, with the rights of this process: the directory need not be open to
/// the user whose output it gets. That user becomes its owner and can open it again, as `/dev/stderr`.
pub(crate) fn open_log(path: &Path, owner: Option<RunAs>) -> Result<File, OpenLogError> {
    let open = || {
        let file = regular_file::append(path, owner.map(|user| user.uid))?;
        give_to(&file, owner)?;
        Ok(file)
    };
    open().map_err(|source| OpenLogError { path: path.to_owned(), source })
}

/// Makes a user the owner of an open file.
pub(crate) fn give_to(file: &File, owner: Option<RunAs>) -> io::Result<()> {
    let Some(RunAs { uid, gid }) = owner else { return Ok(()) };
    Ok(fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
}

/// The end of a log. `Display` formats the last lines as the end of a one-line message, without the path: the file goes with the
/// server's directory. [`LogTail::lines`] returns all lines that were read.
#[derive(Debug, Clone, Default)]
pub struct LogTail {
    lines: Vec<String>,
}

impl LogTail {
    /// Reads the last 4 KiB of a log. A log that cannot be read counts as empty: this explains another error and
    /// must not be an error itself.
    pub fn read(path: &Path) -> Self {
        Self { lines: last_lines(path).unwrap_or_default() }
    }

    /// The last lines, without empty ones, oldest first.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// A log: all of it, or its beginning and its end with a line between them that says how much is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogText {
    /// What is kept.
    pub text: String,
    /// The bytes that are left out.
    pub left_out: u64,
}

impl LogText {
    /// Reads a log, at most 2 MiB of it, with secrets masked.
    pub fn read(path: &Path) -> io::Result<Self> {
        let (bytes, left_out) = Self::read_bytes(path)?;
        Ok(Self { text: secrets::mask_text(&String::from_utf8_lossy(&bytes)), left_out })
    }

    /// What is kept, and how many bytes are left out.
    fn read_bytes(path: &Path) -> io::Result<(Vec<u8>, u64)> {
        let mut file = regular_file::open(path)?;
        let length = file.metadata()?.len();
        let mut text = Vec::new();
        if length <= 2 * KEPT_LOG_BYTES {
            file.take(2 * KEPT_LOG_BYTES).read_to_end(&mut text)?;
            return Ok((text, 0));
        }
        (&mut file).take(KEPT_LOG_BYTES).read_to_end(&mut text)?;
        let left_out = length - 2 * KEPT_LOG_BYTES;
        text.extend_from_slice(format!("\n[showdown: {left_out} bytes are left out here]\n").as_bytes());
        file.seek(SeekFrom::Start(length - KEPT_LOG_BYTES))?;
        file.take(KEPT_LOG_BYTES).read_to_end(&mut text)?;
        Ok((text, left_out))
    }
}

fn last_lines(path: &Path) -> io::Result<Vec<String>> {
    let mut file = regular_file::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = secrets::mask_text(&String::from_utf8_lossy(&bytes));
    // If reading starts in the middle of the file, the first line is incomplete.
    let whole = text.lines().skip(usize::from(start > 0));
    Ok(whole.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Whether a line is about a full disk: in words, or with the number of the error (ENOSPC is 28).
fn says_disk_is_full(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let words: Vec<&str> =
        line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let is_number = |pair: &[&str]| matches!(pair, ["error" | "errno" | "errcode" | "number", "28"]);
    line.contains("no space left on device") || line.contains("disk full") || words.windows(2).any(is_number)
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return f.write_str("; its log is empty");
        }
        let from = self.lines.len().saturating_sub(LINES_IN_A_MESSAGE);
        // Servers remove the file that did not fit, and their last lines are of what follows from it.
        if let Some(line) = self.lines.iter().find(|line| says_disk_is_full(line)) {
            write!(f, "; its disk is full: free some space ({line})")?;
        }
        write!(f, "; its log ends: {}", self.lines[from..].join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_the_last_three_lines() -> io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), "one\ntwo\n\nthree\nfour\n")?;
        let text = LogTail::read(log.path()).to_string();
        assert!(text.ends_with("ends: two | three | four"), "{text}");
        Ok(())
    }

    #[test]
    fn a_message_says_that_the_disk_is_full_where_the_log_said_it_before() -> io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        for line in [
            "[ERROR] InnoDB: preallocating 100663296 bytes for file ./ib_logfile101 failed with error 28",
            "Error writing file './mysql-bin.~rec~' (errno: 28 \"No space left on device\")",
            "FATAL:  could not write to file \"pg_wal/xlogtemp.9\": No space left on device",
        ] {
            std::fs::write(log.path(), format!("up\n{line}\nUnknown engine\nAborting\nbye\n"))?;
            let text = LogTail::read(log.path()).to_string();
            assert!(
                text.starts_with(&format!("; its disk is full: free some space ({line}); its log ends: ")),
                "{text}"
            );
            assert!(text.ends_with("ends: Unknown engine | Aborting | bye"), "{text}");
        }
        std::fs::write(log.path(), "error 281\n28 errors\nline 28\n")?;
        assert!(!LogTail::read(log.path()).to_string().contains("full"));
        Ok(())
    }

    #[test]
    fn only_whole_lines_of_the_end_are_read() -> io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), "0123456789\n".repeat(10_000))?;
        let tail = LogTail::read(log.path());
        assert!(tail.lines().iter().all(|line| line == "0123456789"));
        assert_eq!(tail.lines().len(), 4096 / 11);
        Ok(())
    }

    #[test]
    fn beginning_and_end_of_a_long_log_are_kept() -> io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), "short\n")?;
        assert_eq!(LogText::read(log.path())?, LogText { text: "short\n".to_owned(), left_out: 0 });
        // Holes take no space, so a server can make a file of any length.
        log.as_file().set_len(1 << 40)?;
        let LogText { text, left_out } = LogText::read(log.path())?;
        assert_eq!(left_out, (1 << 40) - (2 << 20));
        let line = format!("\n[showdown: {left_out} bytes are left out here]\n");
        assert_eq!(text.len(), (2 << 20) + line.len());
        assert!(text.starts_with("short\n") && text[1 << 20..].starts_with(&line));
        Ok(())
    }

    #[test]
    fn a_missing_log_is_empty_and_invalid_utf_8_is_readable() -> io::Result<()> {
        assert!(LogTail::read(Path::new("/no/such/log")).to_string().ends_with("is empty"));
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), [0xff, 0xfe, b'\n'])?;
        assert_eq!(LogTail::read(log.path()).lines().len(), 1);
        Ok(())
    }
}
