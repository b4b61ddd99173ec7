//! The process that makes a share of a load: the child's end of `worker_groups/processes.rs`, or of transfers, whichever its first line
//! orders.

use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::transfers::{self, TransferAssignment};
use crate::worker_groups::processes::{Assignment, ProcessMessage, connections_a_process};
use crate::worker_groups::threads::{WorkerThreads, WorkerThreadsError};

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

/// The child's end: the hidden verb. Returns when the run is over or the parent is gone.
pub fn load_process_main() -> Result<(), LoadProcessError> {
    serve(BufReader::new(io::stdin()), io::stdout().lock())
}

/// Makes the share of a load that comes from `input`, and writes the messages of its workers to `output`.
pub(crate) fn serve(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> Result<(), LoadProcessError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(LoadProcessError::Read)?;
    let _ = connections_a_process();
    if let Ok(assignment) = serde_json::from_str::<TransferAssignment>(&line) {
        return transfers::serve(&assignment, input, output).map_err(LoadProcessError::Write);
    }
    let Assignment { spec, workers } = serde_json::from_str(&line).map_err(LoadProcessError::Assignment)?;
    let spec = Arc::new(spec);
    let (sender, messages) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let workers = WorkerThreads::spawn(&spec, workers, &sender, &stop)?;
    drop(sender);
    thread::spawn(move || {
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|count| count > 0) {
            if let Ok(order) = serde_json::from_str(&line) {
                workers.start(&order);
            }
            line.clear();
        }
        stop.store(true, Ordering::Relaxed);
        // Without a sender of orders the workers end.
        drop(workers);
    });
    for message in messages {
        let line = serde_json::to_string(&ProcessMessage::from(message)).expect("messages are plain data");
        writeln!(output, "{line}").and_then(|()| output.flush()).map_err(LoadProcessError::Write)?;
    }
    Ok(())
}
