//! The events of a run for a program that has started it: numbered lines with their times, on a descriptor of its own.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bakeoff::event::Event;
use load::engine::RunContext;
use runs::{RunAnswer, RunRequest};
use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::exit::usage;

/// Version of the lines, see docs/FORMATS.md.
const FORMAT: u32 = 1;

/// Writes the lines.
pub struct EventStream {
    file: File,
    began: Instant,
    seq: u64,
}

/// What the stream says of itself.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum OfStream<'a> {
    StreamBegins { plan_sha256: Option<String> },
    StreamEnds { run: &'a str, dir: String },
}

/// A line.
#[derive(Serialize)]
struct Line<'a, E: Serialize> {
    format: u32,
    seq: u64,
    at_ms: u64,
    unix_ms: u64,
    #[serde(flatten)]
    event: &'a E,
}

impl EventStream {
    /// Takes the descriptor, and writes the first line. No server inherits it: its reader would wait for the end of all of them.
    pub fn open(fd: u32, request: &RunRequest, context: &RunContext) -> anyhow::Result<Self> {
        // The standard library marks what it opens, so that a new program does not inherit it.
        let file = OpenOptions::new().write(true).open(format!("/proc/self/fd/{fd}"));
        let file = file.map_err(|error| unusable(fd, &error))?;
        if fd > 2 {
            let number = i32::try_from(fd).unwrap_or(i32::MAX);
            nix::unistd::close(number).map_err(|errno| unusable(fd, &errno.into()))?;
        }
        let watched = file.try_clone().map_err(|error| unusable(fd, &error))?;
        let interrupted = Arc::clone(&context.interrupted);
        thread::spawn(move || {
            // Without any flag, it returns at an error only: nobody reads.
            while !matches!(poll(&mut [PollFd::new(&watched, PollFlags::empty())], None), Ok(1..)) {}
            interrupted.store(true, Ordering::Relaxed);
        });
        let mut stream = Self { file, began: Instant::now(), seq: 0 };
        stream.write(&OfStream::StreamBegins { plan_sha256: plan_digest(request)? });
        Ok(stream)
    }

    /// Writes a line for an event.
    pub fn tell(&mut self, event: &Event) {
        self.write(event);
    }

    /// Writes the last line.
    pub fn end(&mut self, answer: &RunAnswer) {
        let (run, dir) = (answer.run.id.as_str(), answer.run.dir.display().to_string());
        self.write(&OfStream::StreamEnds { run, dir });
    }

    /// One write a line: a reader never sees a part of one.
    fn write(&mut self, event: &impl Serialize) {
        self.seq += 1;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = Line {
            format: FORMAT,
            seq: self.seq,
            at_ms: self.began.elapsed().as_millis() as u64,
            unix_ms: since.as_millis() as u64,
            event,
        };
        if let Ok(mut text) = serde_json::to_string(&line) {
            text.push('\n');
            // The thread that waits for its end sees a reader that has gone.
            let _ = self.file.write_all(text.as_bytes());
        }
    }
}

/// The descriptor is not one that can be written to.
fn unusable(fd: u32, error: &std::io::Error) -> anyhow::Error {
    usage(format!("cannot write to the file descriptor {fd} of --progress-fd: {error}: pass an open one"))
}

fn plan_digest(request: &RunRequest) -> anyhow::Result<Option<String>> {
    let RunRequest::Plan(plan) = request else { return Ok(None) };
    let digest = Sha256::digest(toml::to_string(plan)?.as_bytes());
    let mut text = String::new();
    for byte in digest {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(Some(text))
}
