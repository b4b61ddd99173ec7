//! Workers in further processes, for more connections than one process may have descriptors.
//!
//! The parent starts the same program with a hidden verb, writes its share of the run as one JSON line to
//! its standard input, and later `start <nanoseconds>`. The child answers on standard output with one JSON
//! line for each message of its workers. When either end closes, the other gives up: a child never outlives
//! its parent. Nothing is lost on the way: histograms cross whole.

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::division::share;
use crate::record::{Errors, PackedInterval};
use crate::spec::LoadSpec;
use crate::worker::FromWorker;
use crate::worker_threads::WorkerThreads;

/// Descriptors that a process keeps for other things than connections.
const RESERVED_DESCRIPTORS: u64 = 64;

/// How many connections one process can hold, after its limit has been raised as far as it may.
pub fn connections_a_process() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // Where it may not be raised, the old limit holds.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(RESERVED_DESCRIPTORS).max(1)
}

/// How many processes hold `connections`, and how many workers there are then: at least as many as asked, the
/// same number in each process, and none without a connection. A process has room for `room` descriptors of
/// connections and of workers but the first.
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

#[derive(Serialize, Deserialize)]
struct Assignment {
    spec: LoadSpec,
    workers: Range<u32>,
}

#[derive(Serialize, Deserialize)]
enum ProcessMessage {
    Ready { worker: u32, open: u32, errors: Errors },
    Interval { worker: u32, index: i64, stats: Box<PackedInterval> },
    Done { worker: u32, stopped: u64, ended: u64, failure: Option<String> },
}

impl From<FromWorker> for ProcessMessage {
    fn from(message: FromWorker) -> Self {
        match message {
            FromWorker::Ready { worker, open, errors } => Self::Ready { worker, open, errors },
            FromWorker::Interval { worker, index, stats } => {
                Self::Interval { worker, index, stats: Box::new(PackedInterval::pack(&stats)) }
            }
            FromWorker::Done { worker, stopped, ended, failure } => {
                Self::Done { worker, stopped: stopped.0, ended: ended.0, failure }
            }
        }
    }
}

impl ProcessMessage {
    fn into_message(self) -> Result<FromWorker, String> {
        Ok(match self {
            Self::Ready { worker, open, errors } => FromWorker::Ready { worker, open, errors },
            Self::Interval { worker, index, stats } => {
                let stats = Box::new(stats.unpack().map_err(|e| e.to_string())?);
                FromWorker::Interval { worker, index, stats }
            }
            Self::Done { worker, stopped, ended, failure } => {
                FromWorker::Done { worker, stopped: Nanos(stopped), ended: Nanos(ended), failure }
            }
        })
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
        to_collector: Sender<FromWorker>,
    ) -> std::io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().expect("standard input was asked to be a pipe");
        let stdout = child.stdout.take().expect("standard output was asked to be a pipe");
        let assignment = Assignment { spec: spec.clone(), workers: workers.clone() };
        serde_json::to_writer(&mut stdin, &assignment)?;
        stdin.write_all(b"\n")?;
        let reader = thread::spawn(move || forward(BufReader::new(stdout), workers, &to_collector));
        Ok(Self { child, stdin: Some(stdin), reader })
    }

    /// The run begins at `begin`; the clock is the same for all processes of a machine.
    pub fn start(&mut self, begin: Nanos) {
        if let Some(stdin) = &mut self.stdin {
            // A process that has died is noticed by its reader.
            let _ = writeln!(stdin, "start {}", begin.0);
        }
    }

    /// Tells it to end now, with what it has.
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

/// Passes a process's messages on; a process that ends without a last word for each worker has failed.
fn forward(lines: impl BufRead, workers: Range<u32>, to_collector: &Sender<FromWorker>) {
    let mut left = workers.clone().collect::<Vec<u32>>();
    let mut why = "a load process ended unexpectedly: was it killed, or out of memory?".to_owned();
    for line in lines.lines() {
        let message = line
            .map_err(|e| e.to_string())
            .and_then(|line| serde_json::from_str::<ProcessMessage>(&line).map_err(|e| e.to_string()))
            .and_then(ProcessMessage::into_message);
        match message {
            Ok(message) => {
                if let FromWorker::Done { worker, .. } = message {
                    left.retain(|w| *w != worker);
                }
                if to_collector.send(message).is_err() {
                    return;
                }
            }
            Err(reason) => {
                why = format!("a load process said something unintelligible: {reason}");
                break;
            }
        }
    }
    for worker in left {
        let (now, failure) = (Nanos::now(), Some(why.clone()));
        let _ = to_collector.send(FromWorker::Done { worker, stopped: now, ended: now, failure });
    }
}

/// The child's end: what the hidden verb does. Returns when the run is over or the parent is gone.
pub fn load_process_main() -> Result<(), String> {
    let mut stdin = BufReader::new(std::io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line).map_err(|e| e.to_string())?;
    let Assignment { spec, workers } =
        serde_json::from_str(&line).map_err(|e| format!("this verb is for showdown itself: {e}"))?;
    let _ = connections_a_process();
    let spec = Arc::new(spec);
    let (sender, messages) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let workers = WorkerThreads::spawn(&spec, workers, &sender, &stop).map_err(|e| e.to_string())?;
    drop(sender);
    let workers = Arc::new(workers);
    let starter = workers.clone();
    thread::spawn(move || {
        let mut line = String::new();
        while stdin.read_line(&mut line).is_ok_and(|count| count > 0) {
            if let Some(begin) = line.trim().strip_prefix("start ").and_then(|n| n.parse().ok()) {
                starter.start(Nanos(begin));
            }
            line.clear();
        }
        stop.store(true, Ordering::Relaxed);
        starter.start(Nanos::now());
    });
    let mut stdout = std::io::stdout().lock();
    for message in messages {
        let line = serde_json::to_string(&ProcessMessage::from(message)).map_err(|e| e.to_string())?;
        writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_process_does_where_the_descriptors_suffice() {
        assert_eq!(distribute(64, 1, 20_000), (1, 1));
        assert_eq!(distribute(64, 4, 20_000), (1, 4));
        assert_eq!(distribute(60_000, 2, 20_000), (3, 3));
    }

    proptest! {
        #[test]
        fn no_process_holds_more_than_it_has_room_for(
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
                let held: u64 = workers.map(|worker| share(connections.into(), worker, all)).sum();
                prop_assert!(held + u64::from(each) - 1 <= room);
            }
        }
    }
}
