//! The reporter: merges the results of the threads and prints a line for each complete interval.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use crate::BuiltinRunnerError;
use crate::completed::CompletedOperations;
use crate::protocol::{RunnerCommand, print_interval};

/// How often the reporter checks for a stop command.
const COMMAND_POLL: Duration = Duration::from_millis(5);

/// One thread's results of an interval. The thread sends it when its first operation of a later interval completes.
pub struct ThreadReport {
    pub thread: usize,
    pub interval: u64,
    pub completed: CompletedOperations,
    /// The current interval of the thread.
    pub reached: u64,
}

/// Merges the reports of the threads. An interval is complete when every thread has reached a later one. A thread in a
/// long operation delays it, because the thread still has its results of the interval.
pub struct IntervalReporter<'a> {
    /// The latest known interval of each thread.
    reached: Vec<u64>,
    open: BTreeMap<u64, CompletedOperations>,
    names: &'a [String],
    bytes_each: u64,
}

impl<'a> IntervalReporter<'a> {
    pub fn new(threads: usize, names: &'a [String], bytes_each: u64) -> Self {
        Self { reached: vec![0; threads], open: BTreeMap::new(), names, bytes_each }
    }

    /// Prints complete intervals until a stop command arrives.
    pub fn report_until_stop(
        &mut self,
        reports: &Receiver<ThreadReport>,
        commands: &Receiver<Result<RunnerCommand, BuiltinRunnerError>>,
    ) -> Result<(), BuiltinRunnerError> {
        loop {
            match commands.try_recv() {
                Ok(Ok(RunnerCommand::Stop)) => return Ok(()),
                Ok(Ok(RunnerCommand::Start(_))) => return Err(BuiltinRunnerError::StartDuringRun),
                Ok(Err(error)) => return Err(error),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Err(BuiltinRunnerError::InputEnded),
            }
            match reports.recv_timeout(COMMAND_POLL) {
                Ok(report) => self.add(&report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(BuiltinRunnerError::ThreadsEnded),
            }
            let reached_by_all = self.reached.iter().copied().min().unwrap_or(0);
            self.print_before(reached_by_all)?;
        }
    }

    /// Prints all remaining intervals. All threads must have ended.
    pub fn finish(&mut self, reports: &Receiver<ThreadReport>) -> Result<(), BuiltinRunnerError> {
        for report in reports.try_iter() {
            self.add(&report);
        }
        self.print_before(u64::MAX)
    }

    fn add(&mut self, report: &ThreadReport) {
        self.reached[report.thread] = report.reached;
        let operations = self.names.len();
        let interval = self.open.entry(report.interval);
        interval.or_insert_with(|| CompletedOperations::new(operations)).add(&report.completed);
    }

    /// Prints the intervals before this one.
    fn print_before(&mut self, before: u64) -> Result<(), BuiltinRunnerError> {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < before) {
            let (interval, completed) = entry.remove_entry();
            print_interval(interval, &completed.to_json(self.names, self.bytes_each))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_waits_for_every_thread() {
        let names = ["read".to_owned(), "update".to_owned()];
        let mut reporter = IntervalReporter::new(2, &names, 0);
        let report = |thread, interval, reached| ThreadReport {
            thread,
            interval,
            completed: CompletedOperations::new(2),
            reached,
        };
        reporter.add(&report(0, 0, 5));
        assert_eq!(
            reporter.reached.iter().min(),
            Some(&0),
            "thread 1 may still have results of the interval"
        );
        reporter.add(&report(1, 0, 1));
        assert_eq!((reporter.reached.iter().min(), reporter.open.len()), (Some(&1), 1));
    }
}
