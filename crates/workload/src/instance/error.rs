//! Errors of a server's start, check and end. Each is one line with the reason and, where there is one, the remedy.

use std::io;
use std::path::PathBuf;

use host::process::{LogTail, LogText};
use load::connecting::UnixSocketError;
use load::engine::RunError;
use load::runner::RunnerError;

use super::replies::exposition::MalformedMetrics;
use super::replies::query::ServerQueryError;
use crate::data::DataError;
use crate::definition::{DefaultValueError, FileError};
use crate::names::UnknownName;
use crate::render::RenderError;

/// Why a server does not run, or does not work.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// The workload's files could not be generated.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No port is available.
    #[error(transparent)]
    Port(#[from] host::ports::Error),
    /// The process did not start, become ready or stop.
    #[error(transparent)]
    Process(Box<host::process::Error>),
    /// The server could not have a port. Servers of a block are up at the same time.
    #[error(
        "{0}: give each start ports of its own, which follow from {{{{ port }}}}, such as {{{{ port + 1 }}}}: the servers of a block are up \
         at the same time"
    )]
    PortTaken(Box<host::process::Error>),
    /// The command of `start` has ended, and nothing is left of it.
    #[error(
        "{0}: let the server stay in the foreground; if another program runs it (systemctl start, docker run --detach), give the command that \
         stops it as the key stop"
    )]
    Returned(Box<host::process::Error>),
    /// What names the process of the server names none.
    #[error("{server}: pid: {why}: name a file with the process ID, or a command that prints nothing else")]
    Pid {
        /// The server.
        server: String,
        /// What was read.
        why: String,
    },
    /// A file in the directory of the start could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Not every copy of a server can have a CPU for itself.
    #[error(
        "{server}: {instances} instances cannot have CPUs of their own, for the server has only CPU {cpus}: start fewer \
         instances, give the server more CPUs, or leave out isolation=cpus"
    )]
    FewCpus {
        /// The server.
        server: String,
        /// How many there are.
        instances: u16,
        /// All CPUs of the server.
        cpus: host::CpuSet,
    },
    /// A path cannot be written in configuration files.
    #[error(
        "the path {0:?} has a quote, a backslash, a $ or a line feed in it, which configuration files cannot quote: \
         choose another directory"
    )]
    Path(PathBuf),
    /// The server's workers cannot read the data.
    #[error("{server} runs its workers as {user}, who may not enter {path}: let others enter it (chmod o+x)")]
    Unreachable {
        /// The server.
        server: String,
        /// The user of its workers.
        user: String,
        /// The directory that the user may not enter.
        path: PathBuf,
    },
    /// A template or a knob is wrong with the values of this start.
    #[error("{server}: {source}")]
    Configuration {
        /// The server.
        server: String,
        /// What is wrong.
        source: ConfigurationError,
    },
    /// A server or an operation that the workload does not have.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The numbers of the load, with the knobs of this start.
    #[error(transparent)]
    Numbers(#[from] FileError),
    /// A reply differs from what its operation expects.
    #[error("{server} fails the check of operation {operation:?}: {error}{log}")]
    Check {
        /// The server.
        server: String,
        /// The operation.
        operation: String,
        /// The difference.
        error: String,
        /// The end of the server's log.
        log: Box<LogTail>,
    },
    /// Keys were not stored, or tables not created.
    #[error("{server}: {failed} of {operations} operations failed while loading the data: {error}{log}")]
    Populate {
        /// The server.
        server: String,
        /// How many operations failed.
        failed: u64,
        /// How many operations load the data.
        operations: u64,
        /// The first error.
        error: String,
        /// The end of the server's log.
        log: Box<LogTail>,
    },
    /// Only root can run the server.
    #[error("{server} needs root, because its processes run as several users: run this command as root")]
    NeedsRoot {
        /// The server.
        server: String,
    },
    /// A command that prepares the start failed.
    #[error("{server}: {program} {ending}: {output}")]
    Prepare {
        /// The server.
        server: String,
        /// The program.
        program: String,
        /// How it ended.
        ending: String,
        /// The last lines of its output.
        output: String,
    },
    /// A command that prepares the start takes too long.
    #[error(
        "{server}: `{command}` did not end within {seconds} s: if it keeps what it makes, run it once by hand; else let it do less"
    )]
    SlowPrepare {
        /// The server.
        server: String,
        /// The command, with its arguments.
        command: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The library of an allocator is missing.
    #[error("{server}: allocator: {source}")]
    AllocatorLibrary {
        /// The server.
        server: String,
        /// Why, and what to do.
        source: host::packages::Error,
    },
    /// A process of the server does not have the allocator that its variant asks for.
    #[error(
        "{server}: its process {pid} does not have {file} mapped, so allocator={name} has no effect: a static program, or one \
         that clears its environment, keeps its own; leave the knob out"
    )]
    AllocatorNotUsed {
        /// The server.
        server: String,
        /// The value of the knob.
        name: &'static str,
        /// The file of the library.
        file: &'static str,
        /// The process.
        pid: u32,
    },
    /// The server's own count of operations cannot be read.
    #[error("cannot read the statistics of {server}: {source}")]
    Statistics {
        /// The server.
        server: String,
        /// The reason.
        source: StatisticsError,
    },
    /// The load engine failed.
    #[error(transparent)]
    Load(#[from] RunError),
    /// It did not start. The logs of its parts tell more.
    #[error("{error}")]
    NotStarted {
        /// Why.
        error: Box<InstanceError>,
        /// The logs with their names, which are gone with the directory of the start.
        logs: Vec<(String, LogText)>,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl InstanceError {
    /// Whether the server itself did not start, serve, or reply as it should; not its files, its user, its port or the client.
    pub fn is_of_server(&self) -> bool {
        match self {
            Self::Process(error) | Self::Returned(error) => error.is_of_server(),
            Self::Load(error) => error.is_of_server(),
            Self::Check { .. }
            | Self::Populate { .. }
            | Self::Prepare { .. }
            | Self::SlowPrepare { .. }
            | Self::Statistics { .. } => true,
            Self::NotStarted { error, .. } => error.is_of_server(),
            _ => false,
        }
    }

    /// The logs of a server that did not start, with their names.
    pub fn logs(&self) -> &[(String, LogText)] {
        if let Self::NotStarted { logs, .. } = self { logs } else { &[] }
    }

    /// The error with the logs of what had been started, if the server is the reason.
    pub(super) fn with_logs(self, mut started: Vec<(String, LogText)>) -> Self {
        match self {
            Self::NotStarted { error, logs } => {
                started.extend(logs);
                Self::NotStarted { error, logs: started }
            }
            error if error.is_of_server() && !started.is_empty() => {
                Self::NotStarted { error: Box::new(error), logs: started }
            }
            error => error,
        }
    }

    /// The error of a companion, whose log has its name.
    pub(super) fn with_prefix(mut self, prefix: &str) -> Self {
        if let Self::NotStarted { logs, .. } = &mut self {
            for (name, _) in logs {
                name.insert_str(0, prefix);
            }
        }
        self
    }
}

/// What is wrong with a server's configuration at a start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The default of a knob, which may be a template, is not a value that the knob accepts.
    #[error("knob {knob}: {source}: set it to a value that it accepts")]
    Knob {
        /// The knob.
        knob: String,
        /// What is wrong with its default.
        source: DefaultValueError,
    },
    /// A word of a command or the value of an environment variable cannot be rendered.
    #[error(transparent)]
    Template(#[from] RenderError),
    /// A configuration file cannot be rendered.
    #[error("{file}:{}: {source}", source.line)]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: RenderError,
    },
    /// The path of its socket is not one of its own.
    #[error("socket: {0}")]
    Socket(#[from] UnixSocketError),
    /// Clients on other machines, or another machine, would load a socket.
    #[error(
        "socket: only clients of its own machine reach a Unix socket: leave out hosts and clients elsewhere, or let it listen on \
         {{{{ host }}}} and {{{{ port }}}}"
    )]
    RemoteSocket,
    /// The pipes to a runner cannot be opened.
    #[error(transparent)]
    Runner(#[from] RunnerError),
}

impl ConfigurationError {
    /// The error of this server.
    pub(super) fn of(self, server: &str) -> InstanceError {
        InstanceError::Configuration { server: server.to_owned(), source: self }
    }
}

/// What servers write about a port that another one has: the text of EADDRINUSE, and what Node and Java make of it.
const PORT_TAKEN: [&str; 3] = ["Address already in use", "EADDRINUSE", "address in use"];

impl From<host::process::Error> for InstanceError {
    fn from(error: host::process::Error) -> Self {
        let is_taken = |line: &String| PORT_TAKEN.iter().any(|text| line.contains(text));
        match &error {
            host::process::Error::Died { log, .. } if log.lines().iter().any(is_taken) => {
                Self::PortTaken(Box::new(error))
            }
            _ => Self::Process(Box::new(error)),
        }
    }
}

/// Why a server's statistics cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    /// The template of the query cannot be rendered.
    #[error(transparent)]
    Template(#[from] RenderError),
    /// The query has no usable reply.
    #[error(transparent)]
    Query(#[from] ServerQueryError),
    /// Metrics that do not parse.
    #[error(transparent)]
    Metrics(#[from] MalformedMetrics),
    /// A counter is missing.
    #[error("there is no counter {counter:?} in the reply, which begins {beginning:?}")]
    NoCounter {
        /// The counter.
        counter: String,
        /// The first characters of the reply.
        beginning: String,
    },
}
