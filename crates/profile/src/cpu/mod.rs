//! Samples the CPU time of processes, with stacks of programs and, where permitted, of the kernel.
//!
//! The kernel copies registers and the top of the stack at each sample; a thread unwinds and counts them at once, so that
//! memory grows with the number of different stacks only.

mod collector;
pub(crate) mod events;
mod running;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::process::thread_cpu_time;

use self::collector::Collector;
pub use self::events::CpuSamplerOptions;
use self::events::Events;
use self::running::RunningTime;
use crate::background::{Background, Started};
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
pub struct CpuSampler(Background<Stacks>);

impl CpuSampler {
    /// Starts to sample the processes and those that they start. It samples when this returns.
    pub fn start(processes: ProcessSet, options: &CpuSamplerOptions) -> Result<Self, ProfileError> {
        let options = options.corrected();
        Background::start("profile", move |stop, started| sample(&processes, &options, stop, started))
            .map(Self)
    }

    /// Ends sampling, and finds the names of the functions, which can take longer than a second for a large server.
    pub fn stop(self) -> Result<Stacks, ProfileError> {
        self.0.stop()
    }
}

fn sample(
    processes: &ProcessSet,
    options: &CpuSamplerOptions,
    stop: &AtomicBool,
    started: &Started,
) -> Stacks {
    let mut collector = Collector::new();
    let pids = processes.now();
    let opened = if pids.is_empty() { Err(ProfileError::NoProcesses) } else { Events::open(options, &pids) };
    let mut events = match opened {
        Ok(events) => events,
        Err(error) => {
            started.tell(Err(error));
            return collector.finish(Duration::ZERO);
        }
    };
    collector.has_kernel = events.has_kernel;
    collector.source = events.source;
    collector.stack_bytes = events.stack_bytes;
    collector.period = Duration::from_secs(1) / options.samples_per_s;
    // Files and symbols of the kernel are read before, and not while it samples.
    collector.prepare(&pids);
    let running = RunningTime::count(&pids, events.has_kernel);
    let begin_cpu = thread_cpu_time();
    events.enable();
    let begin = Instant::now();
    started.tell(Ok(()));
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
    collector.running = running.and_then(|counted| counted.so_far());
    let length = begin.elapsed();
    events.drain(&mut |event| collector.take(event));
    collector.cost = thread_cpu_time().saturating_sub(begin_cpu);
    collector.losses.threads = events.missed_threads;
    drop(events);
    collector.finish(length)
}
