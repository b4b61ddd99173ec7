//! [`ServerProcess`]: a started server, from its owner's side.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, path, thread};

use rustix::process::Signal;

use super::events::SupervisorEvents;
use super::protocol;
use crate::affinity::CpuSet;
use crate::process::{
    Error, External, ExternalError, Listener, LogTail, MemoryKills, MemoryShortage, Pipes, ProcessExit,
    ProcessTree, Readiness, ServerCommand, StartError, addresses_of, descriptors, kept_from_cpus, role,
};
use crate::root::Root;

/// The time limit for starting: four execs of a program that is in memory.
const START: Duration = Duration::from_secs(10);

/// The time limit for SIGKILL after the grace period.
const KILL: Duration = Duration::from_secs(10);

/// How long a server that another program has started may need to end after its stop command.
const END_ELSEWHERE: Duration = Duration::from_secs(5);

/// The first and the longest pause between two probes. Most servers are ready within milliseconds.
const PROBE_PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// A started server. It stops when this is dropped and when this process dies.
#[derive(Debug)]
pub struct ServerProcess {
    name: String,
    log: PathBuf,
    grace: Duration,
    memory_settings: Vec<String>,
    cpus: Option<CpuSet>,
    listens: Option<SocketAddr>,
    /// Before its start.
    memory_kills: MemoryKills,
    tree: ProcessTree,
    /// When this pipe closes, the supervisor knows that this process died.
    control: Mutex<ChildStdin>,
    events: Arc<SupervisorEvents>,
}

/// How a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// How its first process exited.
    pub exit: ProcessExit,
    /// Whether it was killed because the grace period passed.
    pub killed: bool,
}

/// Starts a server under a supervisor, which is `program` with the hidden verb.
pub(crate) fn start(program: &Path, command: &ServerCommand) -> Result<ServerProcess, Error> {
    let not_started = |reason| Error::NotStarted { name: command.name.clone(), reason };
    let memory_kills = MemoryKills::read();
    let supervisor_program = || program.to_owned();
    let order = complete(command).map_err(|e| not_started(StartError::Path(e)))?;
    let mut guard = role::spawn(program, "sd-guard", ["guard"])
        .map_err(|source| not_started(StartError::Supervisor { program: supervisor_program(), source }))?;
    let guard_pid = guard.id();
    let (mut control, events) = guard.stdin.take().zip(guard.stdout.take()).expect("both are piped");
    let events = SupervisorEvents::follow(guard, events, &command.name)
        .map_err(|e| not_started(StartError::Thread(e)))?;
    protocol::send_order(&mut control, &order)
        .map_err(|source| not_started(StartError::Order { program: supervisor_program(), source }))?;

    let mut status = events.wait(START, |s| s.started.is_some() || s.refused.is_some() || s.is_over);
    let Some((_, supervisor)) = status.started else {
        let no_supervisor = if status.is_over {
            StartError::NotASupervisor { program: supervisor_program() }
        } else {
            StartError::Slow { seconds: START.as_secs() }
        };
        return Err(not_started(status.refused.take().unwrap_or(no_supervisor)));
    };
    drop(status);
    Ok(ServerProcess {
        name: order.name,
        log: order.log,
        grace: order.grace,
        memory_settings: order.memory_settings,
        cpus: order.cpus,
        listens: order.listens,
        memory_kills,
        tree: ProcessTree { guard: guard_pid, supervisor, external: None, listener: None },
        control: Mutex::new(control),
        events,
    })
}

/// The same command with absolute paths, as the supervisor has another working directory, and with a limit of descriptors.
fn complete(command: &ServerCommand) -> io::Result<ServerCommand> {
    let (dir, log) = (path::absolute(&command.dir)?, path::absolute(&command.log)?);
    let absolute = |pipes: &Pipes| {
        io::Result::Ok(Pipes { stdin: path::absolute(&pipes.stdin)?, stdout: path::absolute(&pipes.stdout)? })
    };
    let pipes = command.pipes.as_ref().map(absolute).transpose()?;
    let descriptors = command.descriptors.or_else(descriptors::original);
    Ok(ServerCommand { dir, log, pipes, descriptors, ..command.clone() })
}

impl ServerProcess {
    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process ID of the server's first process. After it daemonised, that of its oldest process.
    pub fn pid(&self) -> u32 {
        self.events.status().started.map_or(0, |(pid, _)| pid)
    }

    /// All processes of the server, with workers and daemons. Another thread can use a copy.
    pub fn tree(&self) -> ProcessTree {
        self.tree.clone()
    }

    /// The addresses at which its own processes listen.
    pub fn listens_at(&self) -> Vec<SocketAddr> {
        addresses_of(self.tree.processes().into_iter().map(|process| process.pid))
    }

    /// Finds the processes of a server that is ready and that another program has started: `named`, or those that listen at its
    /// address. They are in [`Self::tree`] then, and on its CPUs. Of a server whose own processes listen there, nothing changes.
    pub fn find_external(&mut self, named: Option<u32>) -> Result<(), Error> {
        let external = self.external(named).and_then(|found| {
            if let (Some(external), Some(cpus)) = (&found, &self.cpus) {
                external.pin(cpus)?;
            }
            Ok(found)
        });
        let external = external.map_err(|source| Error::External { name: self.name.clone(), source })?;
        self.tree.external = external.map(Arc::new);
        Ok(())
    }

    fn external(&mut self, named: Option<u32>) -> Result<Option<External>, ExternalError> {
        let root = Root::new("/");
        // If the supervisor is gone, so is the server.
        let tell_supervisor = || drop(self.control().write_all(&[protocol::EXTERNAL]));
        if let Some(pid) = named {
            let external = External::named(&root, pid, self.tree.guard)?;
            tell_supervisor();
            return Ok(Some(external));
        }
        let Some(address) = self.listens else { return Ok(None) };
        match Listener::at(&root, address, self.tree.guard) {
            Listener::External(external) => {
                tell_supervisor();
                external.check_no_forwarder(address)?;
                Ok(Some(external))
            }
            Listener::Earlier { pid, command } => Err(ExternalError::Earlier { address, pid, command }),
            Listener::Unseen => Err(ExternalError::Unseen(address)),
            Listener::Nobody if self.tree.processes().is_empty() => Err(ExternalError::Nobody(address)),
            Listener::Descendant(oldest) => {
                self.tree.listener = oldest;
                Ok(None)
            }
            Listener::Nobody => Ok(None),
        }
    }

    fn control(&self) -> MutexGuard<'_, ChildStdin> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current end of its log.
    pub fn log_tail(&self) -> LogTail {
        LogTail::read(&self.log)
    }

    /// Checks that the server still runs. The error describes how it exited, with the end of its log.
    pub fn check(&self) -> Result<(), Error> {
        let status = self.events.status();
        match (status.exited, status.is_over) {
            (None, false) => {
                drop(status);
                self.check_elsewhere()
            }
            (None, true) => Err(self.supervisor_lost()),
            (Some((exit, _)), _) => {
                if let Some(reason) = &status.log_too_long {
                    let (name, log, reason) = (self.name.clone(), self.log.clone(), reason.clone());
                    return Err(Error::LogTooLong { name, log, reason });
                }
                drop(status);
                let (name, pid, shortage) = (self.name.clone(), self.pid(), self.memory_shortage(exit));
                Err(Error::Died { name, pid, exit, shortage, log: self.log_tail() })
            }
        }
    }

    fn check_elsewhere(&self) -> Result<(), Error> {
        match self.runs_elsewhere() {
            Some((pid, false)) => {
                Err(Error::EndedElsewhere { name: self.name.clone(), pid, log: self.log_tail() })
            }
            _ => Ok(()),
        }
    }

    /// The process of a server that another program has started, and whether it runs.
    fn runs_elsewhere(&self) -> Option<(u32, bool)> {
        let external = self.tree.external.as_ref()?;
        Some((external.leader()?.pid, external.is_alive()))
    }

    fn supervisor_lost(&self) -> Error {
        Error::SupervisorLost {
            name: self.name.clone(),
            shortage: self.memory_shortage(ProcessExit::Signal(Signal::KILL.as_raw())),
        }
    }

    /// Whether the kernel has ended a process for lack of memory since the server's start.
    fn memory_shortage(&self, exit: ProcessExit) -> Option<Box<MemoryShortage>> {
        self.memory_kills.shortage(exit, &self.memory_settings).map(Box::new)
    }

    /// Probes the server until it is ready. Returns how long that took.
    ///
    /// It is an error if the server exits meanwhile (noticed at once) or is not ready in time. The probe should not
    /// block for long: it is not interrupted. See [`crate::process::tcp_probe`] for the usual probe.
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
            // If the server could not bind its port, another process may have answered the probe.
            self.check()?;
            let (name, pid) = (self.name.clone(), self.pid());
            let left = within.saturating_sub(begin.elapsed());
            match readiness {
                Readiness::Ready => return Ok(begin.elapsed()),
                Readiness::Never(reason) => {
                    return Err(Error::GaveUp { name, pid, reason, log: self.log_tail() });
                }
                Readiness::NotYet(reason) if left.is_zero() => {
                    let waited = kept_from_cpus(&self.tree, within);
                    return Err(Error::NotReady { name, pid, within, waited, reason, log: self.log_tail() });
                }
                Readiness::NotYet(_) => {
                    drop(self.events.wait(pause.min(left), |s| s.exited.is_some() || s.is_over));
                    pause = (pause * 2).min(longest);
                }
            }
        }
    }

    /// Stops the server: sends its stop signal, waits for the grace period, then sends SIGKILL to all its remaining
    /// processes. Returns when none is left. A server that has already exited is not an error.
    pub fn stop(&self) -> Result<Stopped, Error> {
        // The write fails if the supervisor is gone, and is not needed then.
        let _ = self.control().write_all(&[protocol::STOP]);
        let status = self.events.wait(self.grace.saturating_add(KILL), |s| s.is_over);
        match (status.is_over, status.exited) {
            (true, Some((exit, killed))) => {
                drop(status);
                self.wait_for_end_elsewhere()?;
                Ok(Stopped { exit, killed })
            }
            (true, None) => Err(self.supervisor_lost()),
            (false, _) => Err(Error::Unkillable { name: self.name.clone(), left: self.tree.describe() }),
        }
    }
}

impl ServerProcess {
    /// A process that the workload names is stopped by nobody but its stop command: it may listen elsewhere.
    fn wait_for_end_elsewhere(&self) -> Result<(), Error> {
        let until = Instant::now() + END_ELSEWHERE;
        while let Some((pid, true)) = self.runs_elsewhere() {
            if Instant::now() >= until {
                return Err(Error::LeftRunning { name: self.name.clone(), pid, log: self.log_tail() });
            }
            thread::sleep(PROBE_PAUSES.1);
        }
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The supervisor continues to kill processes that are left.
        let _ = self.stop();
    }
}
