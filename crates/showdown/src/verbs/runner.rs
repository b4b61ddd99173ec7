//! `showdown runner`: a program that generates its own load, until standard input ends.

use runners::Runner;

use crate::exit::CommandStatus;

/// Runs it.
pub fn run(runner: &Runner) -> anyhow::Result<CommandStatus> {
    runners::run(runner)?;
    Ok(CommandStatus::Success)
}
