//! Samples the CPU time of processes, with stacks of programs and, where permitted, of the kernel.
//!
//! The kernel copies registers and the top of the stack at each sample; a thread unwinds and counts them at once, so that
//! memory grows with the number of different stacks only.

mod collector;
pub(crate) mod events;
mod options;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use host::process::thread_cpu_time;

use self::collector::Collector;
use self::events::Events;
pub use self::options::CpuSamplerOptions;
use crate::{ProcessSet, ProfileError, Stacks};

/// How often samples are read: a buffer has room for several times as many.
const DRAIN: Duration = Duration::from_millis(50);

/// How often the processes are listed, which reads all of `/proc`. Those that start in between are known from the events of
/// their parents.
const LIST: Duration = Duration::from_secs(2);

/// How often an ordinary user's sampler looks for new threads.
const FOLLOW: Duration = Duration::from_millis(500);

/// Samples CPU time until it is stopped or dropped, on a thread that inherits the CPUs of its creator.
#[derive(Debug)]
pub struct CpuSampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Stacks>>,
}

impl CpuSampler {
    /// Starts to sample the processes and those that they start. It samples when this returns.
    pub fn start(processes: ProcessSet, options: &CpuSamplerOptions) -> Result<Self, ProfileError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (for_thread, options) = (Arc::clone(&stop), options.corrected());
        let (started, has_started) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("profile".into())
            .spawn(move || sample(&processes, &options, &for_thread, &started))
            .map_err(ProfileError::Thread)?;
        match has_started.recv() {
            Ok(Ok(())) => Ok(Self { stop, thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ProfileError::Thread(io::Error::other("its thread has ended"))),
        }
    }

    /// Ends sampling, and finds the names of the functions, which can take longer than a second for a large server.
    pub fn stop(mut self) -> Result<Stacks, ProfileError> {
        let ended = || ProfileError::Thread(io::Error::other("its thread has ended"));
        self.end().ok_or_else(ended)
    }

    fn end(&mut self) -> Option<Stacks> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for CpuSampler {
    fn drop(&mut self) {
        // Nobody needs the profile.
        let _ = self.end();
    }
}

fn sample(
    processes: &ProcessSet,
    options: &CpuSamplerOptions,
    stop: &AtomicBool,
    started: &Sender<Result<(), ProfileError>>,
) -> Stacks {
    let mut collector = Collector::new();
    let pids = processes.now();
    let opened = if pids.is_empty() { Err(ProfileError::NoProcesses) } else { Events::open(options, &pids) };
    let mut events = match opened {
        Ok(events) => events,
        Err(error) => {
            // The receiver waits for it.
            let _ = started.send(Err(error));
            return collector.finish(Duration::ZERO);
        }
    };
    collector.has_kernel = events.has_kernel;
    collector.source = events.source;
    collector.stack_bytes = events.stack_bytes;
    collector.period = Duration::from_secs(1) / options.samples_per_s;
    // Files and symbols of the kernel are read before, and not while it samples.
    collector.prepare(&pids);
    let begin_cpu = thread_cpu_time();
    events.enable();
    let begin = Instant::now();
    let _ = started.send(Ok(()));
    let (mut pids, mut listed, mut followed) = (pids, begin, begin);
    while !stop.load(Ordering::Relaxed) {
        thread::park_timeout(DRAIN);
        if listed.elapsed() >= LIST {
            pids = processes.now();
            collector.belong(&pids);
            listed = Instant::now();
        }
        if followed.elapsed() >= FOLLOW {
            events.follow(&pids);
            followed = Instant::now();
        }
        events.drain(&mut |event| collector.take(event));
    }
    events.disable();
    let length = begin.elapsed();
    events.drain(&mut |event| collector.take(event));
    collector.cost = thread_cpu_time().saturating_sub(begin_cpu);
    collector.losses.threads = events.missed_threads;
    drop(events);
    collector.finish(length)
}
