//! Workers in further processes, for more connections than one process may have descriptors.
//!
//! The parent starts the same program with a hidden verb. It writes the process's share of the run as one JSON line to
//! its standard input, and later one for each part of the load. The child writes one JSON line to its standard output for each
//! message of its workers. When one end closes, the other stops: a child never outlives its parent. Nothing is lost on
//! the way: histograms are sent complete.

use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::division::share;
use crate::record::{CompactInterval, Errors};
use crate::spec::LoadSpec;
use crate::worker::{PartStart, WorkerFailure, WorkerMessage};
use crate::worker_threads::{WorkerThreads, WorkerThreadsError};

/// Descriptors that a process keeps for other things than connections.
const RESERVED_DESCRIPTORS: u64 = 64;

/// Why a load process ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum LoadProcessError {
    /// Its share of the run does not arrive.
    #[error("the load process cannot read its share of the run: {0}")]
    Read(#[source] io::Error),
    /// Its share of the run cannot be read.
    #[error("showdown starts this verb itself, with a share of a run on its standard input: {0}")]
    Assignment(#[source] serde_json::Error),
    /// Its workers cannot be started.
    #[error(transparent)]
    Workers(#[from] WorkerThreadsError),
    /// Its parent does not read its messages.
    #[error("the load process cannot report to its parent: {0}")]
    Write(#[source] io::Error),
}

/// How many connections one process can have open. Raises the limit of descriptors as far as allowed.
pub fn connections_a_process() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // Where it may not be raised, the old limit applies.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(RESERVED_DESCRIPTORS).max(1)
}

/// Number of processes for `connections`, and the number of workers: at least `workers`, the same number in each
/// process, and none without a connection. A process has room for `room` descriptors of connections and of all its
/// workers but the first.
pub(crate) fn distribute(connections: u32, workers: u32, room: u64) -> (u32, u32) {
    let workers_in = |processes: u32| {
        let wanted = workers.min(connections).max(processes).next_multiple_of(processes);
        if wanted <= connections { wanted } else { connections / processes * processes }
    };
    let fits = |processes: &u32| {
        let all = workers_in(*processes);
        let workers = all / processes;
        // The first process has the largest share.
        let first: u64 = (0..workers).map(|worker| share(connections.into(), worker, all)).sum();
        first + u64::from(workers) - 1 <= room
    };
    let least = u64::from(connections).div_ceil(room).clamp(1, connections.into()) as u32;
    let processes = (least..connections).find(fits).unwrap_or(connections);
    (processes, workers_in(processes))
}

/// The first line to a load process.
#[derive(Serialize, Deserialize)]
struct Assignment {
    spec: LoadSpec,
    workers: Range<u32>,
}

/// A [`WorkerMessage`] as JSON.
#[derive(Serialize, Deserialize)]
enum ProcessMessage {
    Ready { worker: u32, open: u32, errors: Errors },
    Interval { worker: u32, index: i64, stats: Box<CompactInterval> },
    Done { worker: u32, stopped: u64, ended: u64, failure: Option<WorkerFailure> },
}

impl From<WorkerMessage> for ProcessMessage {
    fn from(message: WorkerMessage) -> Self {
        match message {
            WorkerMessage::Ready { worker, open, errors } => Self::Ready { worker, open, errors },
            WorkerMessage::Interval { worker, index, stats } => {
                Self::Interval { worker, index, stats: Box::new(stats.compact()) }
            }
            WorkerMessage::Done { worker, stopped, ended, failure } => {
                Self::Done { worker, stopped: stopped.0, ended: ended.0, failure }
            }
        }
    }
}

impl From<ProcessMessage> for WorkerMessage {
    fn from(message: ProcessMessage) -> Self {
        match message {
            ProcessMessage::Ready { worker, open, errors } => Self::Ready { worker, open, errors },
            ProcessMessage::Interval { worker, index, stats } => {
                Self::Interval { worker, index, stats: Box::new(stats.expand()) }
            }
            ProcessMessage::Done { worker, stopped, ended, failure } => {
                Self::Done { worker, stopped: Nanos(stopped), ended: Nanos(ended), failure }
            }
        }
    }
}

/// The parent's end of one load process.
pub(crate) struct LoadProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    reader: thread::JoinHandle<()>,
}

impl LoadProcess {
    /// Starts `command` as a load process for some of the run's workers.
    pub fn spawn(
        mut command: Command,
        spec: &LoadSpec,
        workers: Range<u32>,
        to_collector: Sender<WorkerMessage>,
    ) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let assignment = Assignment { spec: spec.clone(), workers: workers.clone() };
        serde_json::to_writer(&mut stdin, &assignment)?;
        stdin.write_all(b"\n")?;
        let reader = thread::spawn(move || forward(BufReader::new(stdout), workers, &to_collector));
        Ok(Self { child, stdin: Some(stdin), reader })
    }

    /// Its workers begin a part of the load.
    pub fn start(&mut self, order: &PartStart) {
        if let Some(stdin) = &mut self.stdin {
            let line = serde_json::to_string(order).expect("an order is plain data");
            // If the process is dead, its reader reports that.
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Asks it to end now and to send what it has.
    pub fn interrupt(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end.
    pub fn join(mut self) {
        self.stdin = None;
        let _ = self.reader.join();
        let _ = self.child.wait();
    }
}

/// Passes a process's messages on. When they end, its workers are gone: a failure of the part under way, and of no part that
/// they have ended.
fn forward(lines: impl BufRead, workers: Range<u32>, to_collector: &Sender<WorkerMessage>) {
    let mut failure = WorkerFailure::ProcessEnded;
    for line in lines.lines() {
        let message = line
            .map_err(|e| e.to_string())
            .and_then(|line| serde_json::from_str::<ProcessMessage>(&line).map_err(|e| e.to_string()));
        match message.map(WorkerMessage::from) {
            Ok(message) => {
                if to_collector.send(message).is_err() {
                    return;
                }
            }
            Err(reason) => {
                failure = WorkerFailure::ProcessMessage(reason);
                break;
            }
        }
    }
    for worker in workers {
        let (now, failure) = (Nanos::now(), Some(failure.clone()));
        let _ = to_collector.send(WorkerMessage::Done { worker, stopped: now, ended: now, failure });
    }
}

/// The child's end: the hidden verb. Returns when the run is over or the parent is gone.
pub fn load_process_main() -> Result<(), LoadProcessError> {
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line).map_err(LoadProcessError::Read)?;
    let Assignment { spec, workers } = serde_json::from_str(&line).map_err(LoadProcessError::Assignment)?;
    let _ = connections_a_process();
    let spec = Arc::new(spec);
    let (sender, messages) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let workers = WorkerThreads::spawn(&spec, workers, &sender, &stop)?;
    drop(sender);
    thread::spawn(move || {
        let mut line = String::new();
        while stdin.read_line(&mut line).is_ok_and(|count| count > 0) {
            if let Ok(order) = serde_json::from_str(&line) {
                workers.start(&order);
            }
            line.clear();
        }
        stop.store(true, Ordering::Relaxed);
        // Without a sender of orders the workers end.
        drop(workers);
    });
    let mut stdout = io::stdout().lock();
    for message in messages {
        let line = serde_json::to_string(&ProcessMessage::from(message)).expect("messages are plain data");
        writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(LoadProcessError::Write)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_process_is_enough_where_the_descriptors_suffice() {
        assert_eq!(distribute(64, 1, 20_000), (1, 1));
        assert_eq!(distribute(64, 4, 20_000), (1, 4));
        assert_eq!(distribute(60_000, 2, 20_000), (3, 3));
    }

    #[test]
    fn workers_of_a_process_that_is_gone_have_failed() {
        let (sender, messages) = mpsc::channel();
        let done = ProcessMessage::Done { worker: 4, stopped: 1, ended: 2, failure: None };
        let line = serde_json::to_string(&done).expect("plain data") + "\n";
        forward(line.as_bytes(), 4..6, &sender);
        forward(&b"rubbish\n"[..], 6..7, &sender);
        drop(sender);
        let failures: Vec<(u32, Option<WorkerFailure>)> = messages
            .iter()
            .map(|message| match message {
                WorkerMessage::Done { worker, failure, .. } => (worker, failure),
                other => unreachable!("only ends were sent: {other:?}"),
            })
            .collect();
        let gone = Some(WorkerFailure::ProcessEnded);
        assert_eq!(failures[..3], [(4, None), (4, gone.clone()), (5, gone)]);
        assert!(matches!(failures[3], (6, Some(WorkerFailure::ProcessMessage(_)))), "{failures:?}");
    }

    proptest! {
        #[test]
        fn no_process_has_more_descriptors_than_room(
            connections in 1_u32..5_000,
            workers in 1_u32..40,
            room in 2_u64..3_000,
        ) {
            let (processes, all) = distribute(connections, workers, room);
            prop_assert!(processes <= all && all <= connections && all.is_multiple_of(processes));
            prop_assert!(all >= workers.min(connections) || all + processes > connections);
            let each = all / processes;
            for process in 0..processes {
                let workers = process * each..(process + 1) * each;
                let open: u64 = workers.map(|worker| share(connections.into(), worker, all)).sum();
                prop_assert!(open + u64::from(each) - 1 <= room);
            }
        }
    }
}
