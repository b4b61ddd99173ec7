//! The parent's end of the processes of transfers: starts them, gives orders, and adds up their seconds.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use super::child::{Report, SILENCE, TransferProcess, in_a_thread};
use super::process::TransferReport;
use super::record::{Advances, TransferSecond};
use super::spec::{TransferAssignment, TransferOrder, TransferSpec};
use super::worker::PROBE_SLOTS;
use crate::clock::ClientClock;
use crate::clock::Nanos;
use crate::inputs::worker_share::share;
use crate::record::Micros;
use crate::session::engine::RunContext;
use crate::worker_groups::client::{ClientError, LoadClient};
use crate::worker_groups::processes::{child, connections_a_process};

/// A user who has interrupted waits no longer than this for the processes.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Why transfers cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TransfersError {
    /// A process does not start.
    #[error("cannot start a process for transfers: {0}")]
    Start(#[source] io::Error),
    /// A machine that was to make a part of the load cannot do so.
    #[error("client {client}: {reason}")]
    Client {
        /// Its name.
        client: String,
        /// Why.
        reason: ClientError,
    },
    /// A process has ended, or says why it cannot go on.
    #[error("process {process} of the transfers{of} has ended: {reason}")]
    Ended {
        /// Which one.
        process: usize,
        /// On which client, if on one.
        of: String,
        /// Why.
        reason: String,
    },
    /// The user has interrupted the run, and the processes are too busy to report.
    #[error("interrupted while the processes of the transfers were too busy to report")]
    Interrupted,
    /// A process reports nothing.
    #[error(
        "process {process} of the transfers{of} has reported nothing for {} s: it is stopped, or its machine is overloaded: look at both, or use fewer transfers",
        SILENCE.as_secs()
    )]
    Silent {
        /// Which one.
        process: usize,
        /// On which client, if on one.
        of: String,
    },
}

/// Transfers in processes of their own. Dropping it ends them.
pub struct Transfers {
    processes: Vec<TransferProcess>,
    reports: Receiver<Report>,
    /// Seconds that not all have reported.
    open: BTreeMap<u64, (usize, TransferSecond<Micros>)>,
    /// Seconds that all have reported, the oldest first.
    advances: Vec<Advances>,
    next: u64,
    wanted: u32,
    interrupted: Arc<AtomicBool>,
}

impl Transfers {
    /// How many processes have room for so many transfers: of each client as many.
    fn processes_for(most: u32, clients: &[Arc<dyn LoadClient>]) -> u32 {
        let there = clients.iter().map(|client| client.connections_a_process()).min();
        let room = there.unwrap_or_else(connections_a_process).saturating_sub(PROBE_SLOTS.into()).max(1);
        let needed = u64::from(most).div_ceil(room).max(1) as u32;
        needed.next_multiple_of(clients.len().max(1) as u32)
    }

    /// Starts the processes for at most so many transfers; none begins yet. Without a command for load processes in the
    /// context, a thread of this process makes them all.
    pub fn start(spec: &TransferSpec, most: u32, context: &RunContext) -> Result<Self, TransfersError> {
        let has_processes = context.load_process.is_some() || !context.clients.is_empty();
        let count = if has_processes { Self::processes_for(most, &context.clients) } else { 1 };
        let clocks = clocks(&context.clients)?;
        let (sender, reports) = mpsc::channel();
        let mut transfers = Self {
            processes: Vec::new(),
            reports,
            open: BTreeMap::new(),
            advances: Vec::new(),
            // What happens before it is counted in it, also where a process starts late.
            next: Nanos::now().0 / 1_000_000_000,
            wanted: 0,
            interrupted: Arc::clone(&context.interrupted),
        };
        for process in 0..count {
            let at = process as usize % clocks.len().max(1);
            let client = context.clients.get(at);
            let pipes = match (client, &context.load_process) {
                (Some(client), _) => client.start().map_err(|reason| lost(client.as_ref(), reason))?,
                (None, Some(command)) => child(command()).map_err(TransfersError::Start)?,
                (None, None) => in_a_thread().map_err(TransfersError::Start)?,
            };
            let clock = clocks.get(at).copied().unwrap_or_default();
            let assignment = TransferAssignment {
                transfers: client.map_or_else(|| spec.clone(), |client| from_client(spec, client.as_ref())),
                ahead_ns: clock.ahead_ns,
                process,
                processes: count,
                // A share, with the one more that a division may leave.
                most: most.div_ceil(count),
                first_second: transfers.next,
            };
            let name = client.map(|client| client.name().to_owned());
            transfers.processes.push(TransferProcess::begin(name, clock, pipes, &assignment, sender.clone()));
        }
        Ok(transfers)
    }

    /// How many processes there are.
    pub fn processes(&self) -> u32 {
        self.processes.len() as u32
    }

    /// The clients that want a transfer become this many, evenly over this time; those that are too many leave at once.
    pub fn maintain(&mut self, transfers: u32, over: Duration) {
        let from = Nanos::now();
        self.wanted = transfers;
        let (count, until) = (self.processes(), from.after(over));
        for (index, process) in (0..).zip(&mut self.processes) {
            let transfers = share(transfers.into(), index, count) as u32;
            let (from, until) = (process.clock.there(from), process.clock.there(until));
            process.order(TransferOrder::Maintain { transfers, from, until });
        }
    }

    /// So many clients a second come to see whether they are answered.
    pub fn probe(&mut self, per_s: f64) {
        let each = per_s / f64::from(self.processes());
        self.order(TransferOrder::Probe { per_s: each });
    }

    /// Counts from now on how often each transfer advances.
    pub fn mark(&mut self) {
        self.order(TransferOrder::Mark);
    }

    /// How often each transfer has advanced since the mark.
    pub fn advances(&mut self) -> Result<Advances, TransfersError> {
        self.advances.clear();
        self.order(TransferOrder::Advances);
        let asked = Instant::now();
        while self.advances.len() < self.processes.len() {
            self.receive(asked)?;
        }
        let mut sum = Advances::default();
        self.advances.drain(..).for_each(|part| sum.add(part));
        Ok(sum)
    }

    /// The next second, when all processes have reported it.
    pub fn next_second(&mut self) -> Result<TransferSecond<Micros>, TransfersError> {
        let asked = Instant::now();
        loop {
            if self.open.get(&self.next).is_some_and(|(count, _)| *count == self.processes.len()) {
                let (_, second) = self.open.remove(&self.next).expect("it was there");
                self.next += 1;
                return Ok(second);
            }
            self.receive(asked)?;
        }
    }

    /// The next report. `asked`: since when its caller waits for something that all processes are to report.
    fn next_report(&self, asked: Instant) -> Result<Report, TransfersError> {
        loop {
            match self.reports.try_recv() {
                Ok(report) => return Ok(report),
                Err(TryRecvError::Disconnected) => {
                    return Err(self.ended(0, "none of them is left".to_owned()));
                }
                Err(TryRecvError::Empty) => {}
            }
            // All that was reported has been taken: who is still silent is not only waiting for its turn. The others go on
            // reporting beside a silent one.
            if self.interrupted.load(Ordering::Relaxed) && asked.elapsed() >= POLL_INTERVAL {
                return Err(TransfersError::Interrupted);
            }
            if let Some(process) = self.processes.iter().position(TransferProcess::is_silent) {
                return Err(TransfersError::Silent { process, of: self.place_of(process) });
            }
            match self.reports.recv_timeout(POLL_INTERVAL) {
                Ok(report) => return Ok(report),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn place_of(&self, process: usize) -> String {
        let client = self.processes.get(process).and_then(|process| process.client.as_ref());
        client.map_or_else(String::new, |client| format!(" (on client {client})"))
    }

    fn ended(&self, process: usize, reason: String) -> TransfersError {
        TransfersError::Ended { process, of: self.place_of(process), reason }
    }

    fn receive(&mut self, asked: Instant) -> Result<(), TransfersError> {
        let (process, report) = self.next_report(asked)?;
        if let Some(reporting) = self.processes.get_mut(process) {
            reporting.heard = Instant::now();
        }
        match report {
            Ok(TransferReport::Second(second)) if second.second >= self.next => {
                let new = || (0, TransferSecond::new(second.second));
                let (count, sum) = self.open.entry(second.second).or_insert_with(new);
                *count += 1;
                sum.add(&second);
            }
            Ok(TransferReport::Second(second)) => {
                return Err(self.ended(process, format!("it reports second {} again", second.second)));
            }
            Ok(TransferReport::Advances(part)) => self.advances.push(part),
            Ok(TransferReport::Failed(reason)) | Err(reason) => {
                return Err(self.ended(process, reason));
            }
        }
        Ok(())
    }

    fn order(&mut self, order: TransferOrder) {
        self.processes.iter_mut().for_each(|process| process.order(order));
    }

    /// How many clients want a transfer, or will when all have begun.
    pub fn wanted(&self) -> u32 {
        self.wanted
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        // All of them close their connections at the same time.
        self.processes.iter_mut().for_each(|process| process.input = None);
        let deadline = Instant::now() + SILENCE;
        self.processes.iter_mut().for_each(|process| process.end(deadline));
    }
}

/// The clocks of all clients, compared at the same time.
fn clocks(clients: &[Arc<dyn LoadClient>]) -> Result<Vec<ClientClock>, TransfersError> {
    thread::scope(|scope| {
        let ask =
            |client: &Arc<dyn LoadClient>| client.clock().map_err(|reason| lost(client.as_ref(), reason));
        let threads: Vec<_> = clients.iter().map(|client| scope.spawn(move || ask(client))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("a clock does not panic"));
        joined.collect()
    })
}

fn lost(client: &dyn LoadClient, reason: ClientError) -> TransfersError {
    TransfersError::Client { client: client.name().to_owned(), reason }
}

/// The transfers of a client. A loopback address is one of each machine.
fn from_client(spec: &TransferSpec, client: &dyn LoadClient) -> TransferSpec {
    let is_loopback = spec.addresses.iter().all(|to| to.ip().is_loopback());
    let source = if is_loopback { None } else { client.source() };
    let sources = source.map_or_else(|| spec.sources.clone(), |source| vec![source]);
    TransferSpec { sources, ..spec.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_says_nothing_is_found_while_the_others_report() {
        let process = |heard: Instant| TransferProcess {
            client: None,
            clock: ClientClock::default(),
            input: None,
            end: None,
            reader: None,
            heard,
        };
        let long_ago = Instant::now().checked_sub(SILENCE).expect("a machine that runs for a minute");
        let (sender, reports) = mpsc::channel();
        let mut transfers = Transfers {
            processes: vec![process(Instant::now()), process(long_ago)],
            reports,
            open: BTreeMap::new(),
            advances: Vec::new(),
            next: 7,
            wanted: 0,
            interrupted: Arc::default(),
        };
        sender
            .send((0, Ok(TransferReport::Second(Box::new(TransferSecond::new(7).compact())))))
            .expect("it is received");
        let reason = transfers.next_second().expect_err("one is silent").to_string();
        assert!(reason.starts_with("process 1 of the transfers has reported nothing for 60 s"), "{reason}");
    }
}
