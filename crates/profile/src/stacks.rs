//! A profile: stacks with the number of samples in which each was seen.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a sample stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleSource {
    /// A period of CPU time by the kernel's timer. Code that has interrupts disabled is counted where it enables them.
    CpuClock,
    /// A period of CPU time by the cycle counter.
    Cycles,
    /// A period of time in which a thread was off the CPU.
    OffCpu,
}

/// Where a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    /// In a program or a library.
    User,
    /// In the kernel.
    Kernel,
    /// No function, but a name for something else, such as a wait.
    Label,
}

/// A function on a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Its name, demangled. Without symbols: module and function's address in the file, `[nginx+0x1234]`.
    pub name: String,
    /// The name of its file without directories, such as `libc.so.6`; for the kernel `kernel` or a module's name. Empty
    /// where it is not known.
    pub module: String,
    /// Where it is.
    pub kind: FrameKind,
}

/// A stack and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StackCount {
    /// Indices in [`Stacks::frames`], outermost first.
    pub frames: Vec<u32>,
    /// Number of samples.
    pub samples: u64,
}

/// The stacks of all threads with one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStacks {
    /// The threads' name, `comm`.
    pub name: String,
    /// Each stack once, in ascending order of its frames.
    pub stacks: Vec<StackCount>,
}

/// What is missing in a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Samples that the kernel could not store.
    pub lost: u64,
    /// Samples whose stack does not reach the start of its thread.
    pub incomplete: u64,
    /// Samples of user code without a stack: the function that ran is all that is known.
    pub without_stack: u64,
    /// Threads that could not be sampled.
    pub threads: u64,
}

/// A profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stacks {
    /// What a sample stands for.
    pub source: SampleSource,
    /// The time that a sample stands for.
    pub period: Duration,
    /// How long the profile took.
    pub length: Duration,
    /// Whether code of the kernel is in it.
    pub has_kernel: bool,
    /// Each function once.
    pub frames: Vec<Frame>,
    /// By the threads' names, ascending.
    pub threads: Vec<ThreadStacks>,
    /// What is missing.
    pub losses: Losses,
    /// What a reader must know, a sentence each: "nginx has no symbols: install nginx-dbgsym".
    pub notes: Vec<String>,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
}

impl Stacks {
    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.threads.iter().flat_map(|thread| &thread.stacks).map(|stack| stack.samples).sum()
    }

    /// The time that its samples stand for.
    pub fn time(&self) -> Duration {
        self.period.mul_f64(self.samples() as f64)
    }
}
