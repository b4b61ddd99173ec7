//! `runner`: a program that makes its load itself, until standard input ends.

use runners::Runner;

use crate::exit::Ending;

/// Is the runner.
pub fn run(runner: &Runner) -> anyhow::Result<Ending> {
    runners::run(runner)?;
    Ok(Ending::Success)
}
