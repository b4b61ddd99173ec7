//! The parent's end of the processes of transfers: starts them, gives orders, and adds up their seconds.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::process::{TransferAssignment, TransferReport, serve};
use super::record::{Advances, TransferSecond};
use super::spec::{TransferOrder, TransferSpec};
use crate::client::ProcessPipes;
use crate::clock::Nanos;
use crate::division::share;
use crate::engine::RunContext;
use crate::processes::{child, connections_a_process};
use crate::record::Micros;

/// Descriptors that a process of transfers keeps for clients that only look, beside those that every process keeps.
const FOR_PROBES: u64 = 64;

/// A process that reports no second for this long is lost. One that closes 20,000 connections is busy for a part of this.
const SILENCE: Duration = Duration::from_mins(1);

/// Why transfers cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TransfersError {
    /// A process does not start.
    #[error("cannot start a process for transfers: {0}")]
    Start(#[source] io::Error),
    /// A process has ended, or says why it cannot go on.
    #[error("process {process} of the transfers has ended: {reason}")]
    Ended {
        /// Which one.
        process: usize,
        /// Why.
        reason: String,
    },
    /// No process reports.
    #[error("the processes of the transfers have reported nothing for {} s: the machine is overloaded", SILENCE.as_secs())]
    Silent,
}

type Report = (usize, Result<TransferReport, String>);

struct Process {
    input: Option<Box<dyn Write + Send>>,
    wait: Option<Box<dyn FnOnce() + Send>>,
    reader: Option<JoinHandle<()>>,
}

/// Transfers in processes of their own. Dropping it ends them.
pub struct Transfers {
    processes: Vec<Process>,
    reports: Receiver<Report>,
    /// Seconds that not all have reported.
    open: BTreeMap<u64, (usize, TransferSecond<Micros>)>,
    /// Seconds that all have reported, the oldest first.
    advances: Vec<Advances>,
    next: u64,
    wanted: u32,
}

impl Transfers {
    /// How many processes have room for so many transfers.
    pub fn processes_for(most: u32) -> u32 {
        let room = connections_a_process().saturating_sub(FOR_PROBES).max(1);
        u64::from(most).div_ceil(room).max(1) as u32
    }

    /// Starts the processes for at most so many transfers; none begins yet. Without a command for load processes in the
    /// context, a thread of this process makes them all.
    pub fn start(spec: &TransferSpec, most: u32, context: &RunContext) -> Result<Self, TransfersError> {
        let count = if context.load_process.is_some() { Self::processes_for(most) } else { 1 };
        let (sender, reports) = mpsc::channel();
        let mut transfers = Self {
            processes: Vec::new(),
            reports,
            open: BTreeMap::new(),
            advances: Vec::new(),
            // What happens before it is counted in it, also where a process starts late.
            next: Nanos::now().0 / 1_000_000_000,
            wanted: 0,
        };
        for process in 0..count {
            let pipes = match &context.load_process {
                Some(command) => child(command()),
                None => in_a_thread(),
            };
            let assignment = TransferAssignment {
                transfers: spec.clone(),
                process,
                processes: count,
                // A share, with the one more that a division may leave.
                most: most.div_ceil(count),
                first_second: transfers.next,
            };
            let pipes = pipes.map_err(TransfersError::Start)?;
            transfers.processes.push(Process::begin(pipes, &assignment, sender.clone()));
        }
        Ok(transfers)
    }

    /// How many processes there are.
    pub fn processes(&self) -> u32 {
        self.processes.len() as u32
    }

    /// The clients that want a transfer become this many, evenly over this time; those that are too many leave at once.
    pub fn hold(&mut self, transfers: u32, over: Duration) {
        let from = Nanos::now();
        self.wanted = transfers;
        let (count, until) = (self.processes(), from.after(over));
        for (index, process) in (0..).zip(&mut self.processes) {
            let transfers = share(transfers.into(), index, count) as u32;
            process.order(TransferOrder::Hold { transfers, from, until });
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
        while self.advances.len() < self.processes.len() {
            self.receive()?;
        }
        let mut sum = Advances::default();
        self.advances.drain(..).for_each(|part| sum.add(part));
        Ok(sum)
    }

    /// The next second, when all processes have reported it.
    pub fn next_second(&mut self) -> Result<TransferSecond<Micros>, TransfersError> {
        loop {
            if self.open.get(&self.next).is_some_and(|(count, _)| *count == self.processes.len()) {
                let (_, second) = self.open.remove(&self.next).expect("it was there");
                self.next += 1;
                return Ok(second);
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> Result<(), TransfersError> {
        let (process, report) = match self.reports.recv_timeout(SILENCE) {
            Ok(report) => report,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(TransfersError::Silent);
            }
        };
        match report {
            Ok(TransferReport::Second(second)) if second.second >= self.next => {
                let new = || (0, TransferSecond::new(second.second));
                let (count, sum) = self.open.entry(second.second).or_insert_with(new);
                *count += 1;
                sum.add(&second);
            }
            Ok(TransferReport::Second(second)) => {
                let reason = format!("it reports second {} again", second.second);
                return Err(TransfersError::Ended { process, reason });
            }
            Ok(TransferReport::Advances(part)) => self.advances.push(part),
            Ok(TransferReport::Failed(reason)) | Err(reason) => {
                return Err(TransfersError::Ended { process, reason });
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
        for process in &mut self.processes {
            process.reader.take().map(JoinHandle::join);
            if let Some(wait) = process.wait.take() {
                wait();
            }
        }
    }
}

impl Process {
    fn begin(pipes: ProcessPipes, assignment: &TransferAssignment, sender: Sender<Report>) -> Self {
        let index = assignment.process as usize;
        let ProcessPipes { mut input, output, wait } = pipes;
        let line = serde_json::to_string(assignment).expect("a share of transfers is plain data");
        // If the process is dead, its reader reports that.
        let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        let reader = thread::spawn(move || {
            for line in output.lines() {
                let report = line.map_err(|error| error.to_string());
                let report =
                    report.and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()));
                if sender.send((index, report)).is_err() {
                    return;
                }
            }
            let _ = sender.send((index, Err("it closed its output".to_owned())));
        });
        Self { input: Some(input), wait: Some(wait), reader: Some(reader) }
    }

    fn order(&mut self, order: TransferOrder) {
        if let Some(input) = &mut self.input {
            let line = serde_json::to_string(&order).expect("an order is plain data");
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }
}

/// A thread instead of a process, at the other end of two pipes.
fn in_a_thread() -> io::Result<ProcessPipes> {
    let (orders, input) = io::pipe()?;
    let (output, reports) = io::pipe()?;
    let thread = thread::spawn(move || {
        let mut orders = BufReader::new(orders);
        let mut line = String::new();
        if orders.read_line(&mut line).is_ok_and(|count| count > 0)
            && let Ok(assignment) = serde_json::from_str(&line)
        {
            let _ = serve(&assignment, orders, reports);
        }
    });
    let wait = move || {
        let _ = thread.join();
    };
    Ok(ProcessPipes {
        input: Box::new(input),
        output: Box::new(BufReader::new(output)),
        wait: Box::new(wait),
    })
}
