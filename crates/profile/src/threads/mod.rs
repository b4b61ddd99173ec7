//! Samples the states of threads: what they wait for when they are off the CPU.
//!
//! A round reads the state of each thread, and of one that waits its system call and the kernel's function. The scheduler's
//! accounts (`schedstat`) have the exact times on and waiting for a CPU; the samples divide the rest. The sampler keeps to a
//! share of a CPU: a round takes as many threads as that permits, and the next round goes on with the others.

mod account;
pub(crate) mod read;
mod states;
pub(crate) mod waits;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::process::thread_cpu_time;

use self::account::Account;
pub use self::states::{ThreadGroup, ThreadStates, Wait, WaitKind};
use crate::background::{Background, Started};
use crate::{ProcessSet, ProfileError};

/// How states are sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSamplerOptions {
    /// Rounds a second, 1 to 100. A round takes fewer threads where all of them would cost more than `most_cpu`.
    pub rounds_per_s: u32,
    /// Most CPU time that the sampler may use, as a share of one CPU.
    pub most_cpu: f64,
}

impl Default for ThreadSamplerOptions {
    fn default() -> Self {
        Self { rounds_per_s: 25, most_cpu: 0.02 }
    }
}

impl ThreadSamplerOptions {
    /// With values in their ranges.
    fn corrected(&self) -> Self {
        Self { rounds_per_s: self.rounds_per_s.clamp(1, 100), most_cpu: self.most_cpu.clamp(0.001, 1.0) }
    }
}

/// How often processes and threads are listed, unless there are so many that it would cost too much.
const LIST: Duration = Duration::from_millis(500);

/// Share of the permitted CPU time that rounds get; listing gets the other part.
const FOR_ROUNDS: f64 = 0.7;

/// Samples states until it is stopped or dropped, on a thread that inherits the CPUs of its creator.
#[derive(Debug)]
pub struct ThreadSampler(Background<ThreadStates>);

impl ThreadSampler {
    /// Starts to sample the processes and those that they start.
    pub fn start(processes: ProcessSet, options: &ThreadSamplerOptions) -> Result<Self, ProfileError> {
        let mut account = Account::default();
        account.list(&processes.now());
        if account.is_empty() {
            return Err(ProfileError::NoProcesses);
        }
        let options = options.corrected();
        let work = move |stop: &AtomicBool, started: &Started| {
            started.tell(Ok(()));
            sample(&processes, &options, stop, account)
        };
        Background::start("thread states", work).map(Self)
    }

    /// Ends sampling.
    pub fn stop(self) -> Result<ThreadStates, ProfileError> {
        self.0.stop()
    }
}

fn sample(
    processes: &ProcessSet,
    options: &ThreadSamplerOptions,
    stop: &AtomicBool,
    mut account: Account,
) -> ThreadStates {
    let (begin, begin_cpu) = (Instant::now(), thread_cpu_time());
    let period = Duration::from_secs(1) / options.rounds_per_s;
    let mut rounds = 0_u64;
    let mut next_list = begin + LIST;
    // An estimate, which the rounds correct.
    let (mut thread_cost, mut spent) = (Duration::from_micros(50), Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        thread::park_timeout(pause(period, rounds));
        if Instant::now() >= next_list {
            let before = thread_cpu_time();
            account.list(&processes.now());
            let cost = thread_cpu_time().saturating_sub(before);
            next_list = Instant::now() + LIST.max(cost.div_f64(options.most_cpu * (1.0 - FOR_ROUNDS)));
        }
        // What the rounds may have used by now, without what they have; a pause does not permit a burst.
        let permitted = begin.elapsed().mul_f64(options.most_cpu * FOR_ROUNDS);
        let left = permitted.saturating_sub(spent).min(period.mul_f64(options.most_cpu * FOR_ROUNDS * 4.0));
        let most = left.div_duration_f64(thread_cost) as usize;
        let before = thread_cpu_time();
        let taken = account.round(most);
        let cost = thread_cpu_time().saturating_sub(before);
        spent += cost;
        if taken > 0 {
            thread_cost = ((thread_cost * 7 + cost / taken as u32) / 8).max(Duration::from_micros(1));
        }
        rounds += 1;
    }
    account.list(&processes.now());
    account.finish(begin.elapsed(), rounds, thread_cpu_time().saturating_sub(begin_cpu))
}

/// The time to the next round: half to one and a half periods, so that rounds are not in step with periodic work. Multiples
/// of the golden ratio fill the range evenly.
fn pause(period: Duration, round: u64) -> Duration {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    period.mul_f64(0.5 + (round as f64 * GOLDEN).fract())
}
