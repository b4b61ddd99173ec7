//! A server's log: made for it, and its end read for error messages.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much of the end is read: servers say why they stop in a few lines.
const TAIL_BYTES: u64 = 4096;

/// How many lines of it an error message carries.
const LINES_IN_A_MESSAGE: usize = 3;

pub(crate) fn open_log(path: &Path) -> Result<File, String> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| format!("cannot open its log {}: {e}", path.display()))
}

/// The end of a log. `Display` makes it the end of a one-line message; [`LogTail::lines`] has all of it.
#[derive(Debug, Clone)]
pub struct LogTail {
    path: PathBuf,
    lines: Vec<String>,
}

impl LogTail {
    /// Reads the last 4 KiB of a log. A log that cannot be read is an empty one: this is made to explain
    /// another error, not to be one.
    pub fn read(path: &Path) -> Self {
        Self { path: path.to_owned(), lines: last_lines(path).unwrap_or_default() }
    }

    /// The last lines, without empty ones, oldest first.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

fn last_lines(path: &Path) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // When we came in somewhere in the middle, the first line is only a part of one.
    let whole = text.lines().skip(usize::from(start > 0));
    Ok(whole.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return write!(f, "; its log {} is empty", self.path.display());
        }
        let from = self.lines.len().saturating_sub(LINES_IN_A_MESSAGE);
        write!(f, "; its log {} ends: {}", self.path.display(), self.lines[from..].join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_the_last_lines_in_one() -> std::io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), "one\ntwo\n\nthree\nfour\n")?;
        let said = LogTail::read(log.path()).to_string();
        assert!(said.ends_with("ends: two | three | four"), "{said}");
        Ok(())
    }

    #[test]
    fn of_a_long_log_only_whole_lines_of_its_end_are_read() -> std::io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), "0123456789\n".repeat(10_000))?;
        let tail = LogTail::read(log.path());
        assert!(tail.lines().iter().all(|line| line == "0123456789"));
        assert_eq!(tail.lines().len(), 4096 / 11);
        Ok(())
    }

    #[test]
    fn a_log_that_is_not_there_or_not_text_explains_what_it_can() -> std::io::Result<()> {
        assert!(LogTail::read(Path::new("/no/such/log")).to_string().ends_with("is empty"));
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(log.path(), [0xff, 0xfe, b'\n'])?;
        assert_eq!(LogTail::read(log.path()).lines().len(), 1);
        Ok(())
    }
}
