//! The runner's side of the protocol: what comes on standard input, what goes to standard output. `docs/BYOD.md`
//! describes it.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::RunnerError;

/// The version that is spoken here.
const VERSION: u64 = 1;

/// What we are told.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// Begin a run.
    Start(Start),
    /// Begin no more operations.
    Stop,
}

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Length of the intervals.
    pub interval: Duration,
    /// What is drawn at random follows from it.
    pub seed: u64,
    /// Operations with their weights.
    pub mix: Vec<(String, f64)>,
}

/// Reads a line.
pub fn read(line: &str) -> Result<Word, RunnerError> {
    let wrong = || RunnerError(format!("{line:?} is no word to a runner: see docs/BYOD.md"));
    let mut words = line.split_whitespace();
    match words.next() {
        Some("stop") => Ok(Word::Stop),
        Some("start") => {
            let mut number = || words.next()?.parse::<u64>().ok();
            let (interval_ms, seed) = number().filter(|ms| *ms > 0).zip(number()).ok_or_else(wrong)?;
            let pair = |word: &str| {
                let (name, weight) = word.split_once('=')?;
                Some((name.to_owned(), weight.parse().ok().filter(|weight| *weight > 0.0)?))
            };
            let mix: Vec<(String, f64)> = words.map(pair).collect::<Option<_>>().ok_or_else(wrong)?;
            if mix.is_empty() {
                return Err(wrong());
            }
            Ok(Word::Start(Start { interval: Duration::from_millis(interval_ms), seed, mix }))
        }
        _ => Err(wrong()),
    }
}

/// Words as they come, read by a thread of their own; closed at the end of standard input, or after a wrong one.
pub fn words() -> Receiver<Result<Word, RunnerError>> {
    let (sender, words) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let word = read(&line);
            let is_wrong = word.is_err();
            if sender.send(word).is_err() || is_wrong {
                return;
            }
        }
    });
    words
}

/// The answer to another question than those of the protocol.
pub fn say_version(version: &str) -> Result<(), RunnerError> {
    writeln!(io::stdout(), "{version}").map_err(|e| RunnerError::of("standard output", e))
}

/// We wait for a start.
pub fn say_ready() -> Result<(), RunnerError> {
    say(&json!({ "runner": VERSION }))
}

/// What ended in an interval.
pub fn say_interval(index: u64, operations: &Value) -> Result<(), RunnerError> {
    say(&json!({ "interval": index, "operations": operations }))
}

/// The run is over.
pub fn say_stopped(after: Duration, operations: &Value) -> Result<(), RunnerError> {
    say(&json!({ "stopped": after.as_secs_f64(), "operations": operations }))
}

fn say(line: &Value) -> Result<(), RunnerError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| RunnerError::of("standard output", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_the_document_has_them() -> Result<(), RunnerError> {
        let mix = vec![("read".to_owned(), 9.0), ("update".to_owned(), 0.5)];
        let start = Start { interval: Duration::from_millis(100), seed: 42, mix };
        assert_eq!(read("start 100 42 read=9 update=0.5")?, Word::Start(start));
        assert_eq!(read("stop")?, Word::Stop);
        for wrong in ["", "go", "start", "start 0 1 a=1", "start 100 1", "start 100 1 a", "start 100 1 a=-1"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
