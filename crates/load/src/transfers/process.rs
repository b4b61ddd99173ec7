//! A process of transfers: its share of them arrives as a line of JSON, then the orders; its reports leave in the same way. When
//! one end closes, the other stops.

use std::io::{self, BufRead, Write};
use std::sync::mpsc;
use std::thread;

use serde::{Deserialize, Serialize};

use super::record::{Advances, TransferSecond};
use super::spec::TransferAssignment;
use super::worker::{Unheard, Worker, WorkerReport};

/// A line from a process of transfers.
#[derive(Serialize, Deserialize)]
pub(super) enum TransferReport {
    Second(Box<TransferSecond>),
    Advances(Advances),
    /// It cannot go on.
    Failed(String),
}

/// Makes the transfers that `assignment` and `input` ask for, until `input` ends.
pub(crate) fn serve(
    assignment: &TransferAssignment,
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> io::Result<()> {
    let (orders, to_worker) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|count| count > 0) {
            if serde_json::from_str(&line).is_ok_and(|order| orders.send(order).is_err()) {
                return;
            }
            line.clear();
        }
    });
    let mut write = |report: &TransferReport| {
        let line = serde_json::to_string(report).expect("reports are plain data");
        writeln!(output, "{line}").and_then(|()| output.flush())
    };
    let worker = Worker::new(assignment);
    let ended = worker.and_then(|worker| {
        worker.run(&to_worker, &mut |report| {
            let report = match report {
                WorkerReport::Second(second) => TransferReport::Second(Box::new(second.compact())),
                WorkerReport::Advances(advances) => TransferReport::Advances(advances),
            };
            write(&report).map_err(|_| Unheard)
        })
    });
    match ended {
        Ok(()) => Ok(()),
        Err(errno) => write(&TransferReport::Failed(errno.to_string())),
    }
}
