//! The log files of mail servers, read once a second: also after they were rotated or truncated.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;

use super::ledger::MailLedger;
use super::line::MOST_LINE_BYTES;
use crate::name::Name;
use crate::observation::Window;

/// What is read of a file in one second. A server that logs more is seen later, and after three seconds its log counts as missing.
const MOST_BYTES_A_WINDOW: usize = 16 << 20;

/// The log of a mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailLog {
    /// The server that joins the backend. None for an old one: of it only deliveries are of interest, which another server may repeat.
    pub server: Option<Name>,
    /// The file.
    pub file: PathBuf,
}

/// The logs of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// Each file once.
    pub logs: Vec<MailLog>,
    /// A message that is longer in the queue is overdue.
    pub overdue_s: u64,
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read the mail log {}: {source}: name a file that you may read, such as that of Postfix's `maillog_file`",
    file.display()
)]
pub struct MailLogError {
    file: PathBuf,
    source: io::Error,
}

/// Reads the logs of all servers.
#[derive(Debug)]
pub struct MailLogs {
    logs: Vec<(Option<Name>, Tail)>,
    ledger: MailLedger,
    began: Instant,
}

impl MailLogs {
    /// Begins at the end of each file: what was before is of no interest.
    pub fn open(settings: &MailSettings) -> Result<Self, MailLogError> {
        let mut logs = Vec::new();
        for MailLog { server, file } in &settings.logs {
            let tail = Tail::open(file).map_err(|source| MailLogError { file: file.clone(), source })?;
            logs.push((server.clone(), tail));
        }
        let ledger = MailLedger::new(logs.len(), settings.overdue_s);
        Ok(Self { logs, ledger, began: Instant::now() })
    }

    /// Reads what is new, and fills it in.
    pub fn fill(&mut self, window: &mut Window) {
        let now_s = self.began.elapsed().as_secs();
        let mut is_complete = Vec::new();
        for (number, (_, tail)) in self.logs.iter_mut().enumerate() {
            let ledger = &mut self.ledger;
            is_complete.push(tail.read(&mut |line| ledger.record(number, line, now_s)).unwrap_or(false));
        }
        // After all files were read: a message that was delivered twice counts for both of its servers.
        for (number, ((name, _), is_complete)) in self.logs.iter().zip(is_complete).enumerate() {
            let of_log = self.ledger.take(number, now_s, is_complete);
            let servers = window.servers.iter_mut();
            for server in servers.filter(|server| name.as_ref().is_some_and(|name| server.server == *name)) {
                server.mail = Some(of_log);
            }
        }
    }
}

/// A file that grows.
#[derive(Debug)]
struct Tail {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
    /// Whether the line is too long, and its rest is left out.
    is_skipping: bool,
}

impl Tail {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = open_plain(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path: path.to_owned(), file, partial: Vec::new(), is_skipping: false })
    }

    /// Reads whole lines. Returns whether all of them were read.
    fn read(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        let mut left = MOST_BYTES_A_WINDOW;
        self.read_to_end(&mut left, take)?;
        let (now, opened) = (fs::metadata(&self.path)?, self.file.metadata()?);
        if (now.dev(), now.ino()) != (opened.dev(), opened.ino()) {
            // Lines may have come between.
            self.read_to_end(&mut left, take)?;
            if left > 0 {
                self.file = open_plain(&self.path)?;
                self.begin_line();
                self.read_to_end(&mut left, take)?;
            }
        } else if now.len() < self.file.stream_position()? {
            self.file.seek(SeekFrom::Start(0))?;
            self.begin_line();
            self.read_to_end(&mut left, take)?;
        }
        Ok(left > 0)
    }

    fn begin_line(&mut self) {
        self.partial.clear();
        self.is_skipping = false;
    }

    fn read_to_end(&mut self, left: &mut usize, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        while *left > 0 {
            let most = buffer.len().min(*left);
            let length = self.file.read(&mut buffer[..most])?;
            if length == 0 {
                break;
            }
            *left -= length;
            self.split(&buffer[..length], take);
        }
        Ok(())
    }

    fn split(&mut self, mut bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            if !self.is_skipping {
                take(&self.partial);
            }
            self.begin_line();
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.partial.len() + bytes.len() > MOST_LINE_BYTES {
            self.is_skipping = true;
            self.partial.clear();
        }
        if !self.is_skipping {
            self.partial.extend_from_slice(bytes);
        }
    }
}

/// A pipe would block for ever, and a device has no end.
fn open_plain(path: &Path) -> io::Result<File> {
    let no_wait = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(no_wait).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no plain file")) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(tail: &mut Tail) -> (Vec<String>, bool) {
        let mut lines = Vec::new();
        let is_complete =
            tail.read(&mut |line| lines.push(String::from_utf8_lossy(line).into_owned())).unwrap_or(false);
        (lines, is_complete)
    }

    #[test]
    fn lines_are_read_once_also_after_a_rotation() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maillog");
        fs::write(&path, "before\n").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(read(&mut tail), (vec!["one".to_owned()], true));
        file.write_all(b"o\n").unwrap();
        fs::rename(&path, directory.path().join("maillog.1")).unwrap();
        assert_eq!(read(&mut tail), (vec!["two".to_owned()], false), "a file that is gone is incomplete");
        file.write_all(b"three\n").unwrap();
        fs::write(&path, "four\n").unwrap();
        assert_eq!(read(&mut tail), (vec!["three".to_owned(), "four".to_owned()], true));
        fs::write(&path, "5\n").unwrap();
        assert_eq!(read(&mut tail), (vec!["5".to_owned()], true), "it was truncated");
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_a_pipe_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maillog");
        fs::write(&path, "").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        fs::write(&path, format!("{}\nshort\n", "x".repeat(3 * MOST_LINE_BYTES))).unwrap();
        assert_eq!(read(&mut tail), (vec!["short".to_owned()], true));
        assert!(tail.partial.capacity() <= 2 * MOST_LINE_BYTES);
        let refused = Tail::open(Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(refused, "it is no plain file");
    }
}
