//! Samples the states of threads: what they wait for when they are off the CPU.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ProcessSet, ProfileError, Stacks};

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitKind {
    /// A lock, a condition variable or another thread: futex.
    Futex,
    /// Events of connections: epoll, poll, select.
    Events,
    /// A connection to accept.
    Accept,
    /// Data from a connection or room to send.
    Socket,
    /// A pipe.
    Pipe,
    /// Data of a file.
    FileRead,
    /// Room for data of a file.
    FileWrite,
    /// A flush of a file: fsync, fdatasync, msync.
    Flush,
    /// A lock of files or between processes: flock, fcntl, semop.
    FileLock,
    /// A time.
    Sleep,
    /// A child process.
    Child,
    /// A signal.
    Signal,
    /// Memory: a page fault.
    Memory,
    /// Another system call.
    Other,
    /// Not readable for this user.
    Unknown,
}

/// How long threads waited for something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// For what.
    pub kind: WaitKind,
    /// The system call, such as `fdatasync`; `page fault`; empty where it is not known.
    pub call: String,
    /// The kernel's function, `wchan`; empty where it is not known.
    pub kernel_function: String,
    /// Whether it cannot be interrupted (state D).
    pub is_uninterruptible: bool,
    /// Share of the threads' time, 0 to 1.
    pub share: f64,
}

/// The states of all threads with one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadGroup {
    /// Their name, `comm`.
    pub name: String,
    /// Largest number of them at a time.
    pub threads: u32,
    /// Samples of them.
    pub samples: u64,
    /// Share of their time on a CPU, 0 to 1.
    pub running: f64,
    /// Share of their time in which they waited for a CPU, 0 to 1. From the scheduler's accounts (`schedstat`) where the
    /// kernel has them.
    pub runnable: f64,
    /// What they waited for, the longest first. Its shares, `running` and `runnable` sum to 1.
    pub waits: Vec<Wait>,
    /// The largest share of time that one of them was on a CPU, 0 to 1.
    pub busiest_thread: f64,
}

/// The states of threads over a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadStates {
    /// How long.
    pub length: Duration,
    /// By name; the one with the most CPU time first.
    pub groups: Vec<ThreadGroup>,
    /// Number of rounds of samples.
    pub rounds: u64,
    /// Whether the kernel accounts for waits for a CPU (`schedstat`). If not, `runnable` is a share of samples.
    pub has_schedstat: bool,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
}

impl ThreadStates {
    /// The waits as stacks: thread, kind of wait, system call, function of the kernel.
    pub fn to_stacks(&self) -> Stacks {
        unimplemented!("follows")
    }
}

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

/// Samples states until it is stopped or dropped, on a thread that inherits the CPUs of its creator.
#[derive(Debug)]
pub struct ThreadSampler {}

impl ThreadSampler {
    /// Starts to sample the processes and those that they start.
    pub fn start(processes: ProcessSet, options: &ThreadSamplerOptions) -> Result<Self, ProfileError> {
        let _ = (processes, options);
        Err(ProfileError::NoProcesses)
    }

    /// Ends sampling.
    pub fn stop(self) -> ThreadStates {
        unreachable!("a sampler does not start yet")
    }
}
