//! The runner's side of the protocol in `docs/BYOD.md`: commands from standard input, JSON lines to standard output.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::BuiltinRunnerError;

/// The version of the protocol.
const VERSION: u64 = 1;

/// A command to the runner.
#[derive(Clone, Debug, PartialEq)]
pub enum RunnerCommand {
    /// Start a run.
    Start(StartCommand),
    /// Begin no more operations.
    Stop,
}

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StartCommand {
    /// The length of the intervals.
    pub interval: Duration,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The operations with their weights.
    pub mix: Vec<(String, f64)>,
}

/// Parses a line.
pub fn parse(line: &str) -> Result<RunnerCommand, BuiltinRunnerError> {
    let invalid = || BuiltinRunnerError::InvalidCommand(line.to_owned());
    let mut fields = line.split_whitespace();
    match fields.next() {
        Some("stop") => Ok(RunnerCommand::Stop),
        Some("start") => {
            let mut number = || fields.next()?.parse::<u64>().ok();
            let (interval_ms, seed) = number().filter(|ms| *ms > 0).zip(number()).ok_or_else(invalid)?;
            let pair = |field: &str| {
                let (name, weight) = field.split_once('=')?;
                Some((name.to_owned(), weight.parse().ok().filter(|weight| *weight > 0.0)?))
            };
            let mix: Vec<(String, f64)> = fields.map(pair).collect::<Option<_>>().ok_or_else(invalid)?;
            if mix.is_empty() {
                return Err(invalid());
            }
            let interval = Duration::from_millis(interval_ms);
            Ok(RunnerCommand::Start(StartCommand { interval, seed, mix }))
        }
        _ => Err(invalid()),
    }
}

/// Reads commands in a thread. The channel closes when standard input ends, and after an invalid command.
pub fn read_commands() -> Receiver<Result<RunnerCommand, BuiltinRunnerError>> {
    let (sender, commands) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let command = parse(&line);
            let is_invalid = command.is_err();
            if sender.send(command).is_err() || is_invalid {
                return;
            }
        }
    });
    commands
}

/// Prints a version. This is not part of the protocol.
pub fn print_version(version: &str) -> Result<(), BuiltinRunnerError> {
    writeln!(io::stdout(), "{version}").map_err(BuiltinRunnerError::Output)
}

/// Reports that the runner is ready for a start command.
pub fn print_ready() -> Result<(), BuiltinRunnerError> {
    print(&json!({ "runner": VERSION }))
}

/// Reports the operations that completed in an interval.
pub fn print_interval(index: u64, operations: &Value) -> Result<(), BuiltinRunnerError> {
    print(&json!({ "interval": index, "operations": operations }))
}

/// Reports the end of a run.
pub fn print_stopped(after: Duration, operations: &Value) -> Result<(), BuiltinRunnerError> {
    print(&json!({ "stopped": after.as_secs_f64(), "operations": operations }))
}

fn print(line: &Value) -> Result<(), BuiltinRunnerError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(BuiltinRunnerError::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parsed_as_documented() -> Result<(), BuiltinRunnerError> {
        let mix = vec![("read".to_owned(), 9.0), ("update".to_owned(), 0.5)];
        let start = StartCommand { interval: Duration::from_millis(100), seed: 42, mix };
        assert_eq!(parse("start 100 42 read=9 update=0.5")?, RunnerCommand::Start(start));
        assert_eq!(parse("stop")?, RunnerCommand::Stop);
        for invalid in
            ["", "go", "start", "start 0 1 a=1", "start 100 1", "start 100 1 a", "start 100 1 a=-1"]
        {
            assert!(parse(invalid).is_err(), "{invalid}");
        }
        Ok(())
    }
}
