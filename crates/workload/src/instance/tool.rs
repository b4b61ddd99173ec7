//! Runs a short program and reads its output: a version, how a server was built, whether it is ready. A supervisor
//! process stops it at a timeout, and when this program ends.

use std::fs;
use std::path::Path;
use std::time::Duration;

use host::process::{Error, ProcessExit};
use host::{Host, Readiness, ServerCommand};

/// The timeout; printing a version takes less.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What a program printed, and how it ended.
#[derive(Debug)]
pub struct ToolOutput {
    /// Standard output and standard error.
    pub text: String,
    /// How it ended.
    pub ending: ProcessExit,
}

/// Runs a program until it ends. Its output goes to `log`, which is removed afterwards.
pub fn run(host: &Host, argv: &[String], directory: &Path, log: &Path) -> Result<ToolOutput, Error> {
    let name = argv.first().cloned().unwrap_or_default();
    run_command(host, &ServerCommand::new(name, argv.iter().cloned(), directory, log), TIMEOUT)
}

/// Runs a command until it ends; it is an error if that takes longer than `timeout`.
pub fn run_command(host: &Host, command: &ServerCommand, timeout: Duration) -> Result<ToolOutput, Error> {
    let log = &command.log;
    let running = host.start(command)?;
    let outcome = running.wait_ready(timeout, || Readiness::NotYet("it still runs".to_owned()));
    let text = fs::read(log).unwrap_or_default();
    let _ = fs::remove_file(log);
    match outcome {
        Err(Error::Died { exit, .. }) => {
            Ok(ToolOutput { text: String::from_utf8_lossy(&text).into_owned(), ending: exit })
        }
        Err(error) => Err(error),
        Ok(_) => unreachable!("the probe never reports ready"),
    }
}
