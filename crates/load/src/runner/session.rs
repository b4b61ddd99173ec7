//! Lines to and from a runner, through two named pipes. No call blocks for longer than its argument.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::RunnerError;
use super::protocol::{RunnerMessage, parse_line};
use crate::drivers::protocol::RunnerSpec;

/// Longest line: about a thousand times the size of an interval with three histograms.
const LONGEST_LINE_BYTES: usize = 16 << 20;

const BLOCK_BYTES: usize = 8 << 10;

/// A session with a runner that runs. Another one can follow it: the program that started the runner keeps the pipes
/// open.
#[derive(Debug)]
pub struct RunnerSession<'a> {
    spec: &'a RunnerSpec,
    to: File,
    from: File,
    /// Received bytes of an incomplete line.
    pending: Vec<u8>,
    /// When bytes were last received.
    last_received: Instant,
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
            last_received: Instant::now(),
        })
    }

    /// Whether the runner has reported that it is ready, in this version of the protocol. No other line may come first.
    pub fn is_ready(&mut self) -> Result<bool, RunnerError> {
        match self.next(Duration::ZERO)? {
            None => Ok(false),
            Some(RunnerMessage::Ready) if self.pending.is_empty() => Ok(true),
            Some(_) => Err(order("something", "before it was started")),
        }
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), RunnerError> {
        // A line is far smaller than a pipe, so the write fails only if the runner has not read for long.
        match writeln!(self.to, "{line}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(RunnerError::Gone),
            other => Ok(other?),
        }
    }

    /// The next message, if one comes within this time.
    pub(super) fn next(&mut self, within: Duration) -> Result<Option<RunnerMessage>, RunnerError> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.pending) {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return parse_line(String::from_utf8_lossy(&line).trim(), &self.spec.mix).map(Some);
            }
            if self.pending.len() > LONGEST_LINE_BYTES {
                return Err(RunnerError::LineTooLong(LONGEST_LINE_BYTES));
            }
            if !self.wait(deadline.saturating_duration_since(Instant::now()))? {
                return Ok(None);
            }
            let mut block = [0; BLOCK_BYTES];
            match self.from.read(&mut block) {
                Ok(0) => return Err(RunnerError::Gone),
                Ok(count) => {
                    self.pending.extend_from_slice(&block[..count]);
                    self.last_received = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// How long nothing has been received.
    pub(super) fn silence(&self) -> Duration {
        self.last_received.elapsed()
    }

    /// Waits for bytes or the end, and returns whether they came within this time.
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
