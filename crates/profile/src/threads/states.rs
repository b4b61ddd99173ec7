//! What threads did over a time: on a CPU, waiting for one, or waiting for something else.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Stacks;
use crate::stacks::{Frame, FrameKind, StacksBuilder};

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitKind {
    /// A lock, a condition variable or another thread: futex.
    Futex,
    /// A lock: a futex whose callers show that it is one. Only waits with stacks tell.
    Lock,
    /// A condition variable, a semaphore or the end of a thread: a futex whose callers show that it is one.
    Condition,
    /// A CPU, which was taken away. Only waits with switches tell; a [`ThreadGroup`] has its time as `runnable`.
    Cpu,
    /// Events of connections: epoll, poll, select.
    Events,
    /// The answer to a name lookup. Only waits with stacks tell.
    Lookup,
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

impl WaitKind {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Futex => "lock or condition",
            Self::Lock => "lock",
            Self::Condition => "condition",
            Self::Cpu => "a CPU",
            Self::Events => "events of connections",
            Self::Lookup => "a name lookup",
            Self::Accept => "a connection to accept",
            Self::Socket => "a connection's data",
            Self::Pipe => "a pipe",
            Self::FileRead => "reading a file",
            Self::FileWrite => "writing a file",
            Self::Flush => "flushing a file",
            Self::FileLock => "a lock of files or processes",
            Self::Sleep => "sleep",
            Self::Child => "a child process",
            Self::Signal => "a signal",
            Self::Memory => "memory",
            Self::Other => "another system call",
            Self::Unknown => "not known",
        }
    }
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
    /// The sum of the times that each of them existed.
    pub time: Duration,
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

/// What a sample of [`ThreadStates::to_stacks`] stands for.
const STACK_PERIOD: Duration = Duration::from_millis(1);

impl ThreadStates {
    /// The waits as stacks: kind of wait, system call, function of the kernel. A sample stands for 1 ms of a thread.
    pub fn to_stacks(&self) -> Stacks {
        let mut builder = StacksBuilder::default();
        for group in &self.groups {
            for wait in &group.waits {
                let samples = (wait.share * group.time.div_duration_f64(STACK_PERIOD)).round() as u64;
                let mut frames = vec![Frame::label(wait.kind.name())];
                if !wait.call.is_empty() {
                    frames.push(Frame::label(&wait.call));
                }
                if !wait.kernel_function.is_empty() {
                    let (name, module) = (wait.kernel_function.clone(), "kernel".to_owned());
                    frames.push(Frame { name, module, kind: FrameKind::Kernel });
                }
                if samples > 0 {
                    builder.add(&group.name, frames, samples);
                }
            }
        }
        builder.off_cpu(STACK_PERIOD, self.length, self.cost)
    }
}
