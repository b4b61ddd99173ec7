//! The run of an attempt: `showdown run` or `showdown resume` as a child, whose progress comes through a pipe.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use queue::Outcome;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long the run has after each signal: it stops the load and its servers, and writes what it has measured.
const AFTER_FIRST: Duration = Duration::from_secs(30);
const AFTER_SECOND: Duration = Duration::from_secs(10);

/// What is kept of the end of standard error.
const MOST_ERROR_BYTES: usize = 4096;

/// A child, and how far its end was asked for.
#[derive(Debug)]
pub struct RunningChild {
    child: Child,
    folder: PathBuf,
    asked: Option<(Instant, u8)>,
}

impl RunningChild {
    /// Starts it in a process group of its own: Ctrl-C on a terminal reaches the controller, which decides. The other end of its
    /// progress is returned.
    pub fn start(mut command: Command, folder: &Path) -> io::Result<(Self, File)> {
        fs::create_dir_all(folder)?;
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // Only this child inherits it; no other program is started meanwhile.
        fcntl_setfd(&write, FdFlags::empty())?;
        command
            .args(["--progress-fd", &write.as_raw_fd().to_string()])
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("answer.json"))?)
            .stderr(File::create(folder.join("log.txt"))?)
            .process_group(0);
        let child = command.spawn()?;
        drop(write);
        Ok((Self { child, folder: folder.to_owned(), asked: None }, File::from(read)))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks it to end, and insists: SIGINT, SIGINT, SIGKILL. Called again and again until it has.
    pub fn stop(&mut self) {
        let signal = match self.asked {
            None => Signal::INT,
            Some((at, 1)) if at.elapsed() >= AFTER_FIRST => Signal::INT,
            Some((at, 2)) if at.elapsed() >= AFTER_SECOND => Signal::KILL,
            Some(_) => return,
        };
        let times = self.asked.map_or(1, |(_, times)| times + 1);
        self.asked = Some((Instant::now(), times));
        let pid = Pid::from_child(&self.child);
        // It may have ended meanwhile.
        let _ =
            if signal == Signal::KILL { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
    }

    /// What its end says.
    pub fn outcome(&self, status: ExitStatus, stopped_why: Option<&str>) -> Outcome {
        match (status.code(), stopped_why) {
            (Some(130) | None, Some(why)) => Outcome::Stopped { reason: why.to_owned() },
            (Some(130), None) => Outcome::Stopped { reason: "interrupted on its machine".to_owned() },
            (Some(0 | 3 | 4), _) => Outcome::Answered,
            (Some(code), _) => {
                Outcome::Failed { reason: self.last_error().unwrap_or_else(|| format!("exit code {code}")) }
            }
            (None, None) => {
                let signal = status.signal().unwrap_or_default();
                Outcome::Failed { reason: format!("signal {signal} ended it") }
            }
        }
    }

    /// The line of standard error that says why.
    fn last_error(&self) -> Option<String> {
        let text = fs::read(self.folder.join("log.txt")).ok()?;
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(MOST_ERROR_BYTES)..]).into_owned();
        let line = text.lines().rev().find(|line| line.starts_with("showdown: "))?;
        Some(line.trim_start_matches("showdown: ").to_owned())
    }
}

impl Drop for RunningChild {
    /// A controller that ends early leaves no run behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
        }
    }
}
