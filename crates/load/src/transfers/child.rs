//! One process of transfers as its parent sees it: orders go in, reports come out, and it ends. What the reports add up to is the
//! parent's.

use std::io::{self, BufRead, BufReader, Write};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::process::{TransferReport, serve};
use super::spec::{TransferAssignment, TransferOrder};
use crate::clock::ClientClock;
use crate::worker_groups::client::{ProcessEnd, ProcessPipes};
use crate::worker_groups::processes::lines::bounded_lines;

/// A process that reports no second for this long is lost. One that closes 20,000 connections is busy for a part of this.
pub(super) const SILENCE: Duration = Duration::from_mins(1);

/// Whether a process that ends has ended is looked up so often.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A report, with the number of the process.
pub(super) type Report = (usize, Result<TransferReport, String>);

/// A process of transfers. Dropping its input ends it.
pub(super) struct TransferProcess {
    /// Where it runs, if that is another machine.
    pub client: Option<String>,
    /// How far its clock is ahead of the one here. The difference drifts by milliseconds in minutes, and only moves its seconds.
    pub clock: ClientClock,
    /// None: it is to end.
    pub input: Option<Box<dyn Write + Send>>,
    pub end: Option<Box<dyn FnOnce(ProcessEnd) + Send>>,
    pub reader: Option<JoinHandle<()>>,
    /// When its last report was taken from the channel.
    pub heard: Instant,
}

impl TransferProcess {
    /// Gives it its share of the transfers, and passes on its reports.
    pub fn begin(
        client: Option<String>,
        clock: ClientClock,
        pipes: ProcessPipes,
        assignment: &TransferAssignment,
        sender: Sender<Report>,
    ) -> Self {
        let index = assignment.process as usize;
        let ProcessPipes { mut input, output, end } = pipes;
        let line = serde_json::to_string(assignment).expect("a share of transfers is plain data");
        // If the process is dead, its reader reports that.
        let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        let reader = thread::spawn(move || {
            for line in bounded_lines(output) {
                let report = line.map_err(|error| error.to_string());
                let report =
                    report.and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()));
                if sender.send((index, report)).is_err() {
                    return;
                }
            }
            let _ = sender.send((index, Err("it closed its output".to_owned())));
        });
        Self {
            client,
            clock,
            input: Some(input),
            end: Some(end),
            reader: Some(reader),
            heard: Instant::now(),
        }
    }

    /// It has reported nothing for too long.
    pub fn is_silent(&self) -> bool {
        self.heard.elapsed() >= SILENCE
    }

    /// Waits for its end, until the deadline. One that is silent is not waited for.
    pub fn end(&mut self, deadline: Instant) {
        let (Some(reader), Some(end)) = (self.reader.take(), self.end.take()) else { return };
        while !reader.is_finished() && !self.is_silent() && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        if reader.is_finished() {
            let _ = reader.join();
            end(ProcessEnd::Itself);
        } else {
            // Its reader ends with the pipe: on another machine, when the connection does.
            end(ProcessEnd::Killed);
        }
    }

    /// Gives an order. If the process is dead, its reader reports that.
    pub fn order(&mut self, order: TransferOrder) {
        if let Some(input) = &mut self.input {
            let line = serde_json::to_string(&order).expect("an order is plain data");
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }
}

/// A thread instead of a process, at the other end of two pipes.
pub(super) fn in_a_thread() -> io::Result<ProcessPipes> {
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
    let end = move |how| {
        if how == ProcessEnd::Itself {
            let _ = thread.join();
        }
    };
    Ok(ProcessPipes { input: Box::new(input), output: Box::new(BufReader::new(output)), end: Box::new(end) })
}
