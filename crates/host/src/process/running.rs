//! A server that was started, as its owner sees it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, path};

use super::events::Events;
use super::{Ending, Error, LogTail, Pipes, Readiness, ServerCommand, Tree};
use crate::keeper::protocol as keeper;

/// How long starting may take: four execs of programs that are in memory.
const START: Duration = Duration::from_secs(10);

/// How long SIGKILL may take after the grace period is over.
const KILL: Duration = Duration::from_secs(10);

/// The pause between two probes of a server that starts: short at first, because most are up in milliseconds.
const PROBE_PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// A server that was started. It is stopped when this is dropped, and when we die.
#[derive(Debug)]
pub struct Running {
    name: String,
    log: PathBuf,
    grace: Duration,
    tree: Tree,
    /// The end of this pipe tells the keeper that we are gone.
    control: Mutex<ChildStdin>,
    events: Arc<Events>,
}

/// How a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// How its first process ended.
    pub ending: Ending,
    /// Whether it had to be killed because its grace period was over.
    pub killed: bool,
}

/// Starts a server under a keeper, which is `program` under its hidden verb.
pub(crate) fn start(program: &Path, command: &ServerCommand) -> Result<Running, Error> {
    let refused = |reason: String| Error::Refused { name: command.name.clone(), reason };
    let order = absolute(command).map_err(|e| refused(format!("its directory or log is no path: {e}")))?;
    let mut guard = Command::new(program)
        .arg0("sd-guard")
        .args([keeper::VERB, "guard"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| refused(format!("cannot start its keeper {}: {e}", program.display())))?;
    let guard_pid = guard.id();
    let (mut control, events) = guard.stdin.take().zip(guard.stdout.take()).expect("both were asked for");
    let events = Events::follow(guard, events, &command.name)
        .map_err(|e| refused(format!("cannot start a thread: {e}")))?;
    keeper::send_order(&mut control, &order)
        .map_err(|e| refused(format!("its keeper {} does not listen: {e}", program.display())))?;

    let mut story = events.wait(START, |s| s.started.is_some() || s.refused.is_some() || s.over);
    let Some((_, keeper)) = story.started else {
        return Err(refused(story.refused.take().unwrap_or_else(|| {
            format!("{} does not work as a keeper: it must call host::keeper_main first", program.display())
        })));
    };
    drop(story);
    Ok(Running {
        name: order.name,
        log: order.log,
        grace: order.grace,
        tree: Tree { guard: guard_pid, keeper },
        control: Mutex::new(control),
        events,
    })
}

/// The same command with paths that hold from any directory: the keeper has its own.
fn absolute(command: &ServerCommand) -> io::Result<ServerCommand> {
    let (dir, log) = (path::absolute(&command.dir)?, path::absolute(&command.log)?);
    let whole = |pipes: &Pipes| {
        io::Result::Ok(Pipes { stdin: path::absolute(&pipes.stdin)?, stdout: path::absolute(&pipes.stdout)? })
    };
    let pipes = command.pipes.as_ref().map(whole).transpose()?;
    Ok(ServerCommand { dir, log, pipes, ..command.clone() })
}

impl Running {
    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process number of the server's first process; of the eldest that it left, once it daemonised.
    pub fn pid(&self) -> u32 {
        self.events.story().started.map_or(0, |(pid, _)| pid)
    }

    /// All processes of the server, workers and daemons too. A copy can be followed from another thread.
    pub fn tree(&self) -> Tree {
        self.tree
    }

    /// The end of its log so far.
    pub fn log_tail(&self) -> LogTail {
        LogTail::read(&self.log)
    }

    /// Whether the server still runs: the error says how it ended, with the end of its log.
    pub fn check(&self) -> Result<(), Error> {
        let story = self.events.story();
        match (story.exited, story.over) {
            (None, false) => Ok(()),
            (None, true) => Err(Error::KeeperLost { name: self.name.clone() }),
            (Some((ending, _)), _) => {
                drop(story);
                Err(Error::Died { name: self.name.clone(), pid: self.pid(), ending, log: self.log_tail() })
            }
        }
    }

    /// Probes the server until it is ready; says how long that took.
    ///
    /// A server that dies meanwhile is noticed at once and is an error, so is one that is not ready in time.
    /// The probe should not block for long: it is not interrupted. See [`super::tcp_probe`] for the usual one.
    pub fn wait_ready(
        &self,
        within: Duration,
        mut probe: impl FnMut() -> Readiness,
    ) -> Result<Duration, Error> {
        let begin = Instant::now();
        let (mut pause, longest) = PROBE_PAUSES;
        loop {
            self.check()?;
            let readiness = probe();
            // Somebody else may have answered on the port of a server that could not have it.
            self.check()?;
            let (name, pid) = (self.name.clone(), self.pid());
            let left = within.saturating_sub(begin.elapsed());
            match readiness {
                Readiness::Ready => return Ok(begin.elapsed()),
                Readiness::Never(reason) => {
                    return Err(Error::GaveUp { name, pid, reason, log: self.log_tail() });
                }
                Readiness::NotYet(reason) if left.is_zero() => {
                    return Err(Error::NotReady { name, pid, within, reason, log: self.log_tail() });
                }
                Readiness::NotYet(_) => {
                    drop(self.events.wait(pause.min(left), |s| s.exited.is_some() || s.over));
                    pause = (pause * 2).min(longest);
                }
            }
        }
    }

    /// Stops the server: its signal, its grace period, then SIGKILL to all that is left of it. Comes back
    /// when nothing is left. A server that has ended already is simply reported.
    pub fn stop(&self) -> Result<Stopped, Error> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // A keeper that has gone cannot be told, and need not be.
        let _ = control.write_all(&[keeper::STOP]);
        let story = self.events.wait(self.grace.saturating_add(KILL), |s| s.over);
        match (story.over, story.exited) {
            (true, Some((ending, killed))) => Ok(Stopped { ending, killed }),
            (true, None) => Err(Error::KeeperLost { name: self.name.clone() }),
            (false, _) => Err(Error::Unkillable { name: self.name.clone(), left: self.tree.describe() }),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What cannot be killed stays with its keeper, which goes on trying.
        let _ = self.stop();
    }
}
