//! Workers in further processes: for more connections than one process may have descriptors, and on other machines.
//!
//! The parent starts the same program with a hidden verb. It writes the process's share of the run as one JSON line to
//! its standard input, and later one for each part of the load. The child writes one JSON line to its standard output for each
//! message of its workers. When one end closes, the other stops: a child never outlives its parent. Nothing is lost on
//! the way: histograms are sent complete. Instants are on the clock of the process; its parent converts them.

mod check;
pub(crate) mod lines;

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::check::{MessageCheck, OrderedPart};
use self::lines::bounded_lines;
use crate::clock::ClientClock;
use crate::clock::Nanos;
use crate::inputs::worker_share::{WorkerSet, share};
use crate::record::{CompactInterval, Errors, SingleOperation};
use crate::spec::LoadSpec;
use crate::worker::{PartStart, WorkerFailure, WorkerMessage};
use crate::worker_groups::client::{ProcessEnd, ProcessPipes};

/// The verb with which this program is a load process.
pub const VERB: &str = "__load-process";

/// Descriptors that a process keeps for other things than connections.
const RESERVED_DESCRIPTORS: u64 = 64;

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
/// process, and none without a connection. Each of the `clients` has the same number of processes. A process has room for
/// `room` descriptors of connections and of all its workers but the first.
pub(crate) fn distribute(connections: u32, workers: u32, room: u64, clients: u32) -> (u32, u32) {
    let workers_in = |processes: u32| {
        let wanted = workers.min(connections).max(processes).next_multiple_of(processes);
        if wanted <= connections { wanted } else { connections / processes * processes }
    };
    let fits = |processes: &u32| {
        let all = workers_in(*processes);
        // The first process has the largest share.
        let first = WorkerSet::part(all, 0, *processes);
        let open: u64 = first.iter().map(|worker| share(connections.into(), worker, all)).sum();
        open + u64::from(all / processes) - 1 <= room
    };
    let least = u64::from(connections).div_ceil(room).clamp(1, connections.into()) as u32;
    let least = least.next_multiple_of(clients);
    let most = connections / clients * clients;
    let processes = (least..most).step_by(clients as usize).find(fits).unwrap_or(most);
    (processes, workers_in(processes))
}

/// The first line to a load process.
#[derive(Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub spec: LoadSpec,
    pub workers: WorkerSet,
}

/// A [`WorkerMessage`] as JSON.
#[derive(Serialize, Deserialize)]
pub(crate) enum ProcessMessage {
    Ready { worker: u32, open: u32, errors: Errors },
    Interval { worker: u32, index: i64, stats: Box<CompactInterval> },
    Singles { worker: u32, operations: Vec<SingleOperation> },
    Done { worker: u32, stopped: u64, ended: u64, failure: Option<WorkerFailure> },
}

impl From<WorkerMessage> for ProcessMessage {
    fn from(message: WorkerMessage) -> Self {
        match message {
            WorkerMessage::Ready { worker, open, errors } => Self::Ready { worker, open, errors },
            WorkerMessage::Interval { worker, index, stats } => {
                Self::Interval { worker, index, stats: Box::new(stats.compact()) }
            }
            WorkerMessage::Singles { worker, operations } => Self::Singles { worker, operations },
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
            ProcessMessage::Singles { worker, operations } => Self::Singles { worker, operations },
            ProcessMessage::Done { worker, stopped, ended, failure } => {
                Self::Done { worker, stopped: Nanos(stopped), ended: Nanos(ended), failure }
            }
        }
    }
}

/// Starts `command` as a load process of this machine.
pub(crate) fn child(mut command: Command) -> io::Result<ProcessPipes> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let stdin = child.stdin.take().expect("standard input is a pipe");
    let stdout = child.stdout.take().expect("standard output is a pipe");
    let end = move |how| {
        if how == ProcessEnd::Killed {
            let _ = child.kill();
        }
        let _ = child.wait();
    };
    Ok(ProcessPipes { input: Box::new(stdin), output: Box::new(BufReader::new(stdout)), end: Box::new(end) })
}

/// The parent's end of one load process.
pub(crate) struct LoadProcess {
    input: Option<Box<dyn Write + Send>>,
    end: Box<dyn FnOnce(ProcessEnd) + Send>,
    reader: thread::JoinHandle<()>,
    /// How far its clock is ahead, for the instants of its messages.
    ahead_ns: Arc<AtomicI64>,
    /// What it makes now, for the check of its messages.
    ordered: Arc<OrderedPart>,
}

/// How long a process may take to end once its input has ended. One of another machine is then left to its connection.
const END: Duration = Duration::from_secs(20);

/// How often it is looked whether it has.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

impl LoadProcess {
    /// Gives the process some of the run's workers, and passes their messages on.
    pub fn assign(
        pipes: ProcessPipes,
        spec: &LoadSpec,
        workers: WorkerSet,
        to_collector: Sender<WorkerMessage>,
    ) -> Self {
        let ProcessPipes { mut input, output, end } = pipes;
        let line = serde_json::to_string(&Assignment { spec: spec.clone(), workers });
        let line = line.expect("a share of a run is plain data");
        // If the process is dead, its reader reports that.
        let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        let ahead_ns = Arc::new(AtomicI64::new(0));
        let ordered = Arc::new(OrderedPart::none(spec));
        let (ahead, of_reader) = (Arc::clone(&ahead_ns), Arc::clone(&ordered));
        let check = MessageCheck::new(spec, workers);
        let reader =
            thread::spawn(move || forward(output, workers, check, (&ahead, &of_reader), &to_collector));
        Self { input: Some(input), end, reader, ahead_ns, ordered }
    }

    /// Its workers begin a part of the load. The order has the instant on the clock here.
    pub fn start(&mut self, order: &PartStart, clock: &ClientClock) {
        self.ahead_ns.store(clock.ahead_ns, Ordering::Relaxed);
        self.ordered.begin(&order.part);
        if let Some(input) = &mut self.input {
            let order = PartStart { begin: clock.there(order.begin), part: order.part.clone() };
            let line = serde_json::to_string(&order).expect("an order is plain data");
            // If the process is dead, its reader reports that.
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// Asks it to end now and to send what it has.
    pub fn interrupt(&mut self) {
        self.input = None;
    }

    /// Waits for its end, for a time.
    pub fn join(mut self) {
        self.input = None;
        let until = Instant::now() + END;
        while !self.reader.is_finished() && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        if self.reader.is_finished() {
            let _ = self.reader.join();
            (self.end)(ProcessEnd::Itself);
        } else {
            (self.end)(ProcessEnd::Killed);
        }
    }
}

/// Passes a process's messages on. When they end, its workers are gone: a failure of the part under way, and of no part that
/// they have ended.
fn forward(
    lines: impl BufRead,
    workers: WorkerSet,
    mut check: MessageCheck,
    (ahead_ns, ordered): (&AtomicI64, &OrderedPart),
    to_collector: &Sender<WorkerMessage>,
) {
    let mut failure = WorkerFailure::ProcessEnded;
    for line in bounded_lines(lines) {
        let message = line.map_err(|error| unread(&error)).and_then(|line| {
            let message = serde_json::from_str::<ProcessMessage>(&line).map_err(|error| error.to_string());
            let message = message.and_then(|message| match &message {
                ProcessMessage::Interval { stats, .. } => check.interval(stats).map(|()| message),
                _ => Ok(message),
            });
            message.map_err(WorkerFailure::ProcessMessage)
        });
        let clock = ClientClock { ahead_ns: ahead_ns.load(Ordering::Relaxed), ..ClientClock::default() };
        match message.map(WorkerMessage::from).map(|message| message.on_clock_here(&clock)) {
            Ok(message) => {
                if let Err(why) = check.check(&message, ordered) {
                    failure = WorkerFailure::ProcessMessage(why);
                    break;
                }
                if to_collector.send(message).is_err() {
                    return;
                }
            }
            Err(reason) => {
                failure = reason;
                break;
            }
        }
    }
    for worker in workers.iter() {
        let (now, failure) = (Nanos::now(), Some(failure.clone()));
        let _ = to_collector.send(WorkerMessage::Done { worker, stopped: now, ended: now, failure });
    }
}

/// Why a line was not read: what is no line comes from the process, anything else from the way to it, which says whose it is.
fn unread(error: &io::Error) -> WorkerFailure {
    match error.kind() {
        io::ErrorKind::InvalidData => WorkerFailure::ProcessMessage(error.to_string()),
        _ => WorkerFailure::ProcessLost(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use proptest::prelude::*;

    use super::*;
    use crate::outcome::example;

    fn forward_all(
        lines: &[u8],
        workers: WorkerSet,
        clock: &AtomicI64,
        to_collector: &Sender<WorkerMessage>,
    ) {
        let spec = example::outcome().spec;
        let check = MessageCheck::new(&spec, workers);
        forward(lines, workers, check, (clock, &OrderedPart::none(&spec)), to_collector);
    }

    #[test]
    fn one_process_is_enough_where_the_descriptors_suffice() {
        assert_eq!(distribute(64, 1, 20_000, 1), (1, 1));
        assert_eq!(distribute(64, 4, 20_000, 1), (1, 4));
        assert_eq!(distribute(60_000, 2, 20_000, 1), (3, 3));
    }

    #[test]
    fn each_client_has_a_process_and_as_many_workers_as_the_others() {
        assert_eq!(distribute(64, 3, 20_000, 3), (3, 3));
        assert_eq!(distribute(64, 4, 20_000, 3), (3, 6));
        assert_eq!(distribute(3, 9, 20_000, 3), (3, 3));
        assert_eq!(distribute(60_000, 2, 20_000, 2), (4, 4));
    }

    #[test]
    fn workers_of_a_process_that_is_gone_have_failed() {
        let (sender, messages) = mpsc::channel();
        let done = ProcessMessage::Done { worker: 4, stopped: 1, ended: 2, failure: None };
        let line = serde_json::to_string(&done).expect("plain data") + "\n";
        let (set, clock) = (|first| WorkerSet::part(6, first, 4), AtomicI64::new(0));
        forward_all(line.as_bytes(), set(0), &clock, &sender);
        forward_all(&b"rubbish\n"[..], set(3), &clock, &sender);
        drop(sender);
        let failures: Vec<(u32, Option<WorkerFailure>)> = messages
            .iter()
            .map(|message| match message {
                WorkerMessage::Done { worker, failure, .. } => (worker, failure),
                other => unreachable!("only ends were sent: {other:?}"),
            })
            .collect();
        let gone = Some(WorkerFailure::ProcessEnded);
        assert_eq!(failures[..3], [(4, None), (0, gone.clone()), (4, gone)]);
        assert!(matches!(failures[3], (3, Some(WorkerFailure::ProcessMessage(_)))), "{failures:?}");
    }

    #[test]
    fn a_message_of_a_worker_that_a_process_does_not_have_is_a_failure() {
        let (sender, messages) = mpsc::channel();
        let done = ProcessMessage::Done { worker: 1, stopped: 1, ended: 2, failure: None };
        let line = serde_json::to_string(&done).expect("plain data") + "\n";
        forward_all(line.as_bytes(), WorkerSet::part(2, 0, 2), &AtomicI64::new(0), &sender);
        let failure = messages.try_iter().last();
        let is_named = |why: &str| why == "worker 1 is not its own";
        assert!(
            matches!(&failure, Some(WorkerMessage::Done { worker: 0, failure: Some(WorkerFailure::ProcessMessage(why)), .. }) if is_named(why)),
            "{failure:?}"
        );
    }

    #[test]
    fn instants_of_another_clock_are_converted() {
        let (sender, messages) = mpsc::channel();
        let done = ProcessMessage::Done { worker: 0, stopped: 1_000, ended: 2_000, failure: None };
        let line = serde_json::to_string(&done).expect("plain data") + "\n";
        forward_all(line.as_bytes(), WorkerSet::all(1), &AtomicI64::new(-500), &sender);
        let first = messages.try_iter().next();
        assert!(
            matches!(first, Some(WorkerMessage::Done { stopped: Nanos(1_500), ended: Nanos(2_500), .. })),
            "{first:?}"
        );
    }

    proptest! {
        #[test]
        fn no_process_has_more_descriptors_than_room(
            connections in 1_u32..5_000,
            workers in 1_u32..40,
            room in 2_u64..3_000,
            clients in 1_u32..9,
        ) {
            let connections = connections.max(clients);
            let (processes, all) = distribute(connections, workers, room, clients);
            prop_assert!(processes <= all && all <= connections && all.is_multiple_of(processes));
            prop_assert!(processes >= clients && processes.is_multiple_of(clients));
            prop_assert!(all >= workers.min(connections) || all + processes > connections);
            let each = all / processes;
            for process in 0..processes {
                let workers = WorkerSet::part(all, process, processes);
                let open: u64 = workers.iter().map(|worker| share(connections.into(), worker, all)).sum();
                prop_assert!(open + u64::from(each) - 1 <= room);
            }
        }
    }
}
