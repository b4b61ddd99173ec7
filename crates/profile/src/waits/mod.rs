//! Waits of threads, with their stacks: for what, for how long, and who ends them.
//!
//! | who | what is seen |
//! |---|---|
//! | may see the whole machine (root) | each switch with its time; stacks of every n-th, of the program and the kernel; with tracefs the thread that ends a wait, with its stack |
//! | anybody else | the time of each thread off its CPU from the scheduler; samples of the stacks of waiting threads divide it |
//!
//! Watching ends by itself where it costs more than a share of a CPU. Waits for work are told apart from those within it.

mod finish;
mod kinds;
mod options;
mod result;
mod samples;
mod snapshot;
mod stack_table;
mod switch_events;
mod switches;
mod tally;
mod tracker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

pub use self::options::WaitSamplerOptions;
pub use self::result::{WaitSource, WaitStack, Waits, Waker, WakerKind};
use self::switch_events::SwitchEvents;
use crate::cpu::events::refusal;
use crate::{ProcessSet, ProfileError};

/// Watches waits until it is stopped or dropped, on a thread that inherits the CPUs of its creator.
#[derive(Debug)]
pub struct WaitSampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<Waits>>>,
}

impl WaitSampler {
    /// Starts to watch the processes and those that they start. It watches when this returns.
    pub fn start(processes: ProcessSet, options: &WaitSamplerOptions) -> Result<Self, ProfileError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (for_thread, options) = (Arc::clone(&stop), options.corrected());
        let (started, has_started) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("waits".into())
            .spawn(move || watch(&processes, &options, &for_thread, &started))
            .map_err(ProfileError::Thread)?;
        match has_started.recv() {
            Ok(Ok(())) => Ok(Self { stop, thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ended()),
        }
    }

    /// Ends watching, and finds the names of the functions, which can take longer than a second for a large server.
    pub fn stop(mut self) -> Result<Waits, ProfileError> {
        self.end().ok_or_else(ended)
    }

    fn end(&mut self) -> Option<Waits> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok().flatten()
    }
}

impl Drop for WaitSampler {
    fn drop(&mut self) {
        // Nobody needs the waits.
        let _ = self.end();
    }
}

fn ended() -> ProfileError {
    ProfileError::Thread(io::Error::other("its thread has ended"))
}

fn watch(
    processes: &ProcessSet,
    options: &WaitSamplerOptions,
    stop: &AtomicBool,
    started: &Sender<Result<(), ProfileError>>,
) -> Option<Waits> {
    // The receiver waits for it.
    let tell = |result| drop(started.send(result));
    if processes.now().is_empty() {
        tell(Err(ProfileError::NoProcesses));
        return None;
    }
    if !options.use_records {
        return Some(samples::watch(processes, "switches were not recorded", stop, || tell(Ok(()))));
    }
    match SwitchEvents::open(options.cpus.as_ref()) {
        Ok(events) => Some(switches::watch(processes, options, events, stop, || tell(Ok(())))),
        Err(error) => {
            let (reason, remedy) = refusal(&error);
            let why = format!("switches cannot be recorded: {reason}: {remedy}");
            Some(samples::watch(processes, &why, stop, || tell(Ok(()))))
        }
    }
}
