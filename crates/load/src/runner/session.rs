//! Lines to and from a runner, through two named pipes. Nothing here blocks for longer than it is told to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::protocol::{RunnerMessage, read};
use super::{RunnerError, RunnerSpec};

/// Longest line: some thousand times what an interval of three histograms takes.
const LONGEST_LINE_BYTES: usize = 16 << 20;

const BLOCK_BYTES: usize = 8 << 10;

/// A conversation with a runner that has been started. Another one can follow when this has ended: the pipes are
/// held open by whoever started the runner.
#[derive(Debug)]
pub struct RunnerSession<'a> {
    spec: &'a RunnerSpec,
    to: File,
    from: File,
    /// What has come and is no whole line yet.
    pending: Vec<u8>,
    /// When something came last.
    heard: Instant,
}

impl<'a> RunnerSession<'a> {
    /// Opens both pipes.
    pub fn open(spec: &'a RunnerSpec) -> Result<Self, RunnerError> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        Ok(Self {
            spec,
            to: OpenOptions::new().write(true).custom_flags(flags).open(&spec.stdin)?,
            from: OpenOptions::new().read(true).custom_flags(flags).open(&spec.stdout)?,
            pending: Vec::new(),
            heard: Instant::now(),
        })
    }

    /// Whether the runner has said by now that it is ready, and in our version. Nothing else may come before that.
    pub fn is_ready(&mut self) -> Result<bool, RunnerError> {
        match self.next(Duration::ZERO)? {
            None => Ok(false),
            Some(RunnerMessage::Ready) if self.pending.is_empty() => Ok(true),
            Some(_) => Err(order("something", "before it was started")),
        }
    }

    pub(super) fn say(&mut self, line: &str) -> Result<(), RunnerError> {
        // Far less than a pipe holds, so that it goes at once or the runner has not read for long.
        match writeln!(self.to, "{line}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(RunnerError::Gone),
            other => Ok(other?),
        }
    }

    /// The next line, if one comes within this time.
    pub(super) fn next(&mut self, within: Duration) -> Result<Option<RunnerMessage>, RunnerError> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.pending) {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return read(String::from_utf8_lossy(&line).trim(), &self.spec.mix).map(Some);
            }
            if self.pending.len() > LONGEST_LINE_BYTES {
                return Err(RunnerError::Long(LONGEST_LINE_BYTES));
            }
            if !self.wait(deadline.saturating_duration_since(Instant::now()))? {
                return Ok(None);
            }
            let mut block = [0; BLOCK_BYTES];
            match self.from.read(&mut block) {
                Ok(0) => return Err(RunnerError::Gone),
                Ok(count) => {
                    self.pending.extend_from_slice(&block[..count]);
                    self.heard = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How long nothing has come.
    pub(super) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Whether there is something to read, or the end, within this time.
    fn wait(&self, within: Duration) -> Result<bool, RunnerError> {
        let timeout = Timespec::try_from(within).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}

pub(super) fn order(what: &str, when: &str) -> RunnerError {
    RunnerError::Order { what: what.to_owned(), when: when.to_owned() }
}
