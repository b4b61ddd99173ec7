//! Errors of servers, each in one line with the end of the server's log.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use signal_hook::consts::{SIGKILL, SIGTERM};

use super::{ExternalError, LogTail, MemoryShortage, ProcessExit};

/// Why a server does not run, or no longer runs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server cannot be started.
    #[error("cannot start {name}: {reason}")]
    NotStarted {
        /// The server's name.
        name: String,
        /// The reason.
        reason: StartError,
    },
    /// The server exited by itself, at its start or later.
    #[error("{name} (pid {pid}) {exit}{}{log}", why_died(*exit, shortage.as_deref()))]
    Died {
        /// The server's name.
        name: String,
        /// Its first process.
        pid: u32,
        /// How it exited.
        exit: ProcessExit,
        /// Whether the kernel killed it for lack of memory.
        shortage: Option<Box<MemoryShortage>>,
        /// The end of its log.
        log: LogTail,
    },
    /// The server, which another program had started, has ended.
    #[error("{name} (pid {pid}), which another program had started, has ended{log}")]
    EndedElsewhere {
        /// The server's name.
        name: String,
        /// Its process.
        pid: u32,
        /// The end of the log of the command that asked for it.
        log: LogTail,
    },
    /// The processes of the server that another program has started are not known.
    #[error("{name}: {source}")]
    External {
        /// The server's name.
        name: String,
        /// Why.
        source: ExternalError,
    },
    /// The server, which another program has started, still runs after its stop command.
    #[error(
        "{name} still runs as pid {pid} after its stop command: stop it, and check the command of the key stop{log}"
    )]
    LeftRunning {
        /// The server's name.
        name: String,
        /// Its process.
        pid: u32,
        /// The end of the log of start and stop.
        log: LogTail,
    },
    /// The server runs, but was not ready in time.
    #[error("{name} (pid {pid}) was not ready within {within:?}: {reason}{}{log}", starved(*waited, *within))]
    NotReady {
        /// The server's name.
        name: String,
        /// Its first process.
        pid: u32,
        /// The time limit.
        within: Duration,
        /// How long other programs kept it from the CPUs in that time, if it was most of it.
        waited: Option<Duration>,
        /// What the last probe reported.
        reason: String,
        /// The end of its log.
        log: LogTail,
    },
    /// The probe gave up: the server cannot become ready.
    #[error("{name} (pid {pid}) cannot become ready: {reason}{log}")]
    GaveUp {
        /// The server's name.
        name: String,
        /// Its first process.
        pid: u32,
        /// What the probe reported.
        reason: String,
        /// The end of its log.
        log: LogTail,
    },
    /// The server was stopped because its log could not be limited.
    #[error("{name} was stopped: its log {} is long, and its middle cannot be removed: {reason}: let it log less", log.display())]
    LogTooLong {
        /// The server's name.
        name: String,
        /// Its log.
        log: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// Another process killed the supervisor or its guard, and the server was stopped because of that.
    #[error("another process killed the supervisor of {name}, which stopped {name}: {}", killer(shortage.as_deref()))]
    SupervisorLost {
        /// The server's name.
        name: String,
        /// Whether the kernel killed it for lack of memory.
        shortage: Option<Box<MemoryShortage>>,
    },
    /// Processes are left that SIGKILL does not end.
    #[error(
        "cannot kill {name}, these processes are left: {left}; kill them as root, or wait for their I/O to end"
    )]
    Unkillable {
        /// The server's name.
        name: String,
        /// The remaining processes, as "pid name (state)".
        left: String,
    },
}

impl Error {
    /// Whether the server itself did not start or serve; not the system that starts it, another process that killed it, or other programs
    /// that kept it from the CPUs.
    pub fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::Died { .. }
                | Self::EndedElsewhere { .. }
                | Self::NotReady { waited: None, .. }
                | Self::GaveUp { .. }
                | Self::LogTooLong { .. }
        )
    }
}

/// That a server was kept from the CPUs, and what to do.
fn starved(waited: Option<Duration>, within: Duration) -> String {
    let Some(waited) = waited else { return String::new() };
    format!(
        "; it waited for a CPU for {:.0} % of that time: stop other programs, or give it more time (ready.within)",
        waited.as_secs_f64() / within.as_secs_f64() * 100.0
    )
}

/// Why a server exited, if its signal says so, and what to do.
fn why_died(exit: ProcessExit, shortage: Option<&MemoryShortage>) -> String {
    match (shortage, exit) {
        (Some(shortage), _) => format!(": {shortage}"),
        (None, ProcessExit::Signal(signal)) if SENT_BY_OTHERS.contains(&signal) => {
            ": another process sent the signal: find out which one, such as a service manager, and let the server run".to_owned()
        }
        (None, _) => String::new(),
    }
}

/// No program sends these to itself.
const SENT_BY_OTHERS: [i32; 2] = [SIGKILL, SIGTERM];

/// What killed a supervisor.
fn killer(shortage: Option<&MemoryShortage>) -> String {
    let unknown = || "find out which one, such as the out-of-memory killer (dmesg)".to_owned();
    shortage.map_or_else(unknown, ToString::to_string)
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A path in the command cannot be made absolute.
    #[error("its directory, log or pipe is not a valid path: {0}")]
    Path(io::Error),
    /// The supervisor's program cannot be run.
    #[error("cannot start its supervisor {}: {source}", program.display())]
    Supervisor {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No thread for the supervisor's events.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The supervisor closed its input.
    #[error("its supervisor {} does not take orders: {source}", program.display())]
    Order {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program ended without an event.
    #[error(
        "its supervisor {} ended before it started the server: is memory short? (its main must call host::supervisor_main first)",
        program.display()
    )]
    NotASupervisor {
        /// The program.
        program: PathBuf,
    },
    /// The supervisor says nothing.
    #[error("its supervisor did not start within {seconds} s: is the machine overloaded? Start again")]
    Slow {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The supervisor cannot start the server: its message, with the remedy.
    #[error("{0}")]
    Refused(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_another_process_has_killed_says_what_to_do() {
        let died = |exit| {
            let (name, log) = ("companion database of shop".to_owned(), LogTail::default());
            Error::Died { name, pid: 7, exit, shortage: None, log }.to_string()
        };
        assert_eq!(
            died(ProcessExit::Signal(SIGKILL)),
            "companion database of shop (pid 7) was killed by SIGKILL: another process sent the signal: find out which one, such as a \
             service manager, and let the server run; its log is empty"
        );
        assert_eq!(
            died(ProcessExit::Code(1)),
            "companion database of shop (pid 7) exited with status 1; its log is empty"
        );
    }
}
