//! Closed loops of threads: each thread begins an operation when the previous one in the same slot is complete.
//!
//! A thread collects its times until its interval is over, and then sends them to the main thread at once. So no
//! operation takes a lock or updates a shared counter. An operation belongs to the interval in which it completed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::BuiltinRunnerError;
use crate::completed::CompletedOperations;
use crate::mix::OperationMix;
use crate::operations::{Completion, QueuedOperations};
use crate::protocol::{RunnerCommand, StartCommand, print_ready, print_stopped, read_commands};
use crate::reporter::{IntervalReporter, ThreadReport};

/// Checks each operation once, reports ready, and executes start commands until standard input ends.
pub fn serve(operations: &impl QueuedOperations, threads: u32) -> Result<(), BuiltinRunnerError> {
    let names = operations.operations();
    check_each(operations, &names)?;
    let commands = read_commands();
    print_ready()?;
    while let Ok(command) = commands.recv() {
        match command? {
            RunnerCommand::Start(start) => run(operations, threads, &start, &commands, &names)?,
            // A second stop command has no effect.
            RunnerCommand::Stop => {}
        }
    }
    Ok(())
}

fn check_each(operations: &impl QueuedOperations, names: &[String]) -> Result<(), BuiltinRunnerError> {
    let mut state = operations.thread_state()?;
    let mut rng = Pcg64Mcg::seed_from_u64(0);
    let mut completions = Vec::new();
    for (operation, name) in names.iter().enumerate() {
        operations.begin(&mut state, 0, operation, &mut rng);
        operations.wait(&mut state, &mut rng, &mut completions);
        for Completion { result, .. } in completions.drain(..) {
            result.map_err(|source| BuiltinRunnerError::Check { operation: name.clone(), source })?;
        }
    }
    Ok(())
}

fn run<O: QueuedOperations>(
    operations: &O,
    threads: u32,
    start: &StartCommand,
    commands: &Receiver<Result<RunnerCommand, BuiltinRunnerError>>,
    names: &[String],
) -> Result<(), BuiltinRunnerError> {
    let mix = OperationMix::new(&start.mix, names)?;
    let states: Result<Vec<O::ThreadState>, BuiltinRunnerError> =
        (0..threads).map(|_| operations.thread_state()).collect();
    let states = states?;
    let (stop, (to_reporter, reports)) = (AtomicBool::new(false), channel());
    let bytes_each = operations.bytes_each();
    let mut reporter = IntervalReporter::new(states.len(), names, bytes_each);
    let begin = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..)
            .zip(states)
            .map(|(thread, state)| {
                let rng = Pcg64Mcg::seed_from_u64(start.seed.wrapping_add(thread as u64));
                let (interval, to_reporter) = (start.interval, to_reporter.clone());
                let closed_loop =
                    ClosedLoop { operations, mix: &mix, begin, interval, stop: &stop, to_reporter };
                scope.spawn(move || closed_loop.run(thread, state, rng))
            })
            .collect();
        drop(to_reporter);
        let result = reporter.report_until_stop(&reports, commands);
        // Also after an error: the scope waits for all threads.
        stop.store(true, Ordering::Relaxed);
        let after = begin.elapsed();
        result?;
        let mut late = CompletedOperations::new(names.len());
        for worker in workers {
            late.add(&worker.join().map_err(|_| BuiltinRunnerError::ThreadPanicked)?);
        }
        reporter.finish(&reports)?;
        print_stopped(after, &late.to_json(names, bytes_each))
    })
}

/// The closed loop of one thread.
struct ClosedLoop<'a, O> {
    operations: &'a O,
    mix: &'a OperationMix,
    begin: Instant,
    interval: Duration,
    stop: &'a AtomicBool,
    to_reporter: Sender<ThreadReport>,
}

impl<O: QueuedOperations> ClosedLoop<'_, O> {
    /// Runs until the stop. Returns the operations that completed after it.
    fn run(self, thread: usize, mut state: O::ThreadState, mut rng: Pcg64Mcg) -> CompletedOperations {
        let interval_ns = self.interval.as_nanos() as u64;
        let new = || CompletedOperations::new(self.mix.operations());
        let (mut interval, mut completed, mut late) = (0, new(), new());
        // By slot: the operation in flight and its start time.
        let mut in_flight = vec![(0, Duration::ZERO); self.operations.depth()];
        let mut free: Vec<usize> = (0..in_flight.len()).collect();
        let mut completions = Vec::with_capacity(in_flight.len());
        // The end of an operation is the start of the next one: one clock reading for both.
        let mut now = self.begin.elapsed();
        let mut is_stopped = self.stop.load(Ordering::Relaxed);
        loop {
            if !is_stopped {
                for slot in free.drain(..) {
                    let operation = self.mix.draw(&mut rng);
                    in_flight[slot] = (operation, now);
                    self.operations.begin(&mut state, slot, operation, &mut rng);
                }
            }
            if free.len() == in_flight.len() {
                break;
            }
            self.operations.wait(&mut state, &mut rng, &mut completions);
            now = self.begin.elapsed();
            is_stopped = self.stop.load(Ordering::Relaxed);
            let reached = now.as_nanos() as u64 / interval_ns;
            if reached > interval {
                let completed = std::mem::replace(&mut completed, new());
                // The reporter may have ended after an error. The stop flag is set then.
                let _ = self.to_reporter.send(ThreadReport { thread, interval, completed, reached });
                interval = reached;
            }
            let counts = if is_stopped { &mut late } else { &mut completed };
            for Completion { slot, result } in completions.drain(..) {
                let (operation, sent) = in_flight[slot];
                match result {
                    Ok(()) => counts.succeeded(operation, now.saturating_sub(sent).as_micros() as u32),
                    Err(error) => counts.failed(operation, error.to_string()),
                }
                free.push(slot);
            }
        }
        let _ = self.to_reporter.send(ThreadReport { thread, interval, completed, reached: u64::MAX });
        late
    }
}
