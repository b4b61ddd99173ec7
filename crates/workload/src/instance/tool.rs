//! Runs a short program and reads its output: a command that prepares the start, a version, how a server was built, whether
//! it is ready. It runs as the user of the server. A supervisor process stops it at a timeout, and when this program ends.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host::process::{Error, LogText, MemoryShortage, ProcessExit, RunAs};
use host::{Host, Readiness, ServerCommand};

/// The timeout; printing a version takes less.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout of a command that checks the server's work: some hundred pages on a busy machine.
pub const VERIFY_TIMEOUT: Duration = Duration::from_mins(2);

/// The environment variable with the directory for temporary files.
pub const TMPDIR: &str = "TMPDIR";

/// Each run has a log of its own: an earlier one that could not be removed is not read again.
static LOGS: AtomicU64 = AtomicU64::new(0);

/// Where and as whom programs run.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The host.
    pub host: Host,
    /// The working directory.
    pub working_directory: PathBuf,
    /// The directory for temporary files, which the user may write to.
    pub temporary: PathBuf,
    /// A directory that only this program's user may change: the output goes there.
    pub private: PathBuf,
    /// The user; if none, this program's.
    pub run_as: Option<RunAs>,
}

/// What a program printed, and how it ended.
#[derive(Debug)]
pub struct ToolOutput {
    /// Standard output and standard error: all of it, or beginning and end.
    pub text: String,
    /// How it ended.
    pub ending: ProcessExit,
    /// Whether that was for lack of memory.
    pub shortage: Option<Box<MemoryShortage>>,
}

impl ToolOutput {
    /// The last line that is not empty.
    pub fn last_line(&self) -> String {
        let mut lines = self.text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }
}

impl Tools {
    /// Runs a program until it ends; it is an error if that takes longer than `timeout`.
    pub fn run(&self, argv: &[String], timeout: Duration) -> Result<ToolOutput, Error> {
        let name = argv.first().cloned().unwrap_or_default();
        let log = self.private.join(format!("tool-{}.log", LOGS.fetch_add(1, Ordering::Relaxed)));
        let mut command = ServerCommand::new(name, argv.iter().cloned(), &self.working_directory, &log);
        command.run_as = self.run_as;
        command.env.insert(TMPDIR.to_owned(), self.temporary.to_string_lossy().into_owned());
        let running = self.host.start(&command)?;
        let outcome = running.wait_ready(timeout, || Readiness::NotYet("it still runs".to_owned()));
        let text = LogText::read(&log).map(|log| log.text).unwrap_or_default();
        let _ = fs::remove_file(log);
        match outcome {
            Err(Error::Died { exit, shortage, .. }) => Ok(ToolOutput { text, ending: exit, shortage }),
            Err(error) => Err(error),
            Ok(_) => unreachable!("the probe never reports ready"),
        }
    }
}
