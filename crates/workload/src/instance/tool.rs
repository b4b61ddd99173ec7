//! A program that runs for a moment and says something: its version, how it was built, whether a server is
//! ready. Under a keeper as servers are, so it is gone in time and with us.

use std::fs;
use std::path::Path;
use std::time::Duration;

use host::process::{Error, ProcessExit};
use host::{Host, Readiness, ServerCommand};

/// Longer than any program needs to say its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Output {
    /// Standard output and standard error.
    pub text: String,
    /// How it ended.
    pub ending: ProcessExit,
}

/// Runs a program to its end. `log` gets what it says, and is removed again.
pub fn run(host: &Host, argv: &[String], directory: &Path, log: &Path) -> Result<Output, Error> {
    let name = argv.first().cloned().unwrap_or_default();
    run_command(host, &ServerCommand::new(name, argv.iter().cloned(), directory, log), PATIENCE)
}

/// Runs a command to its end, which must come within `patience`.
pub fn run_command(host: &Host, command: &ServerCommand, patience: Duration) -> Result<Output, Error> {
    let log = &command.log;
    let running = host.start(command)?;
    let outcome = running.wait_ready(patience, || Readiness::NotYet("it goes on and on".to_owned()));
    let text = fs::read(log).unwrap_or_default();
    let _ = fs::remove_file(log);
    match outcome {
        Err(Error::Died { exit, .. }) => {
            Ok(Output { text: String::from_utf8_lossy(&text).into_owned(), ending: exit })
        }
        Err(error) => Err(error),
        Ok(_) => unreachable!("its probe is never content"),
    }
}
