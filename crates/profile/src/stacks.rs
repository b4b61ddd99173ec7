//! A profile: stacks with the number of samples in which each was seen.

use std::collections::{BTreeMap, HashMap};
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

impl Frame {
    /// A name for something that is no function.
    pub fn label(name: impl Into<String>) -> Self {
        Self { name: name.into(), module: String::new(), kind: FrameKind::Label }
    }
}

/// The name of a function of the C library as programs call it: debug files have internal ones, such as `__GI_getaddrinfo` and
/// `__libc_malloc`.
pub fn called_name(name: &str) -> &str {
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    let name = name.trim_start_matches('_');
    name.strip_prefix("libc_").unwrap_or(name)
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
    /// Samples whose outermost functions are those of another sample of the thread with the same function at the same place,
    /// or were read some ms later, because the kernel could not copy the stack beyond a page that was not in memory.
    pub completed: u64,
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
    /// Each function once, ascending.
    pub frames: Vec<Frame>,
    /// By the threads' names, ascending.
    pub threads: Vec<ThreadStacks>,
    /// What is missing.
    pub losses: Losses,
    /// What a reader must know, a sentence each: "nginx has no symbols: install nginx-dbgsym".
    pub notes: Vec<String>,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
    /// How long the threads ran, from switch to switch. None where that was not counted.
    pub running: Option<Duration>,
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

    /// Several profiles as one: samples, lengths, losses and costs are summed. None of an empty list, or if their samples
    /// do not stand for the same.
    pub fn merged(profiles: &[Self]) -> Option<Self> {
        let first = profiles.first()?;
        let is_alike = |other: &Self| other.source == first.source && other.period == first.period;
        if !profiles.iter().all(is_alike) {
            return None;
        }
        let mut builder = StacksBuilder::default();
        let (mut length, mut cost, mut losses) = (Duration::ZERO, Duration::ZERO, Losses::default());
        let mut notes: Vec<String> = Vec::new();
        for profile in profiles {
            for thread in &profile.threads {
                for stack in &thread.stacks {
                    let frames = stack.frames.iter().map(|frame| profile.frames[*frame as usize].clone());
                    builder.add(&thread.name, frames, stack.samples);
                }
            }
            length += profile.length;
            cost += profile.cost;
            losses.lost += profile.losses.lost;
            losses.incomplete += profile.losses.incomplete;
            losses.completed += profile.losses.completed;
            losses.without_stack += profile.losses.without_stack;
            losses.threads = losses.threads.max(profile.losses.threads);
            notes.extend(
                profile.notes.iter().filter(|note| !notes.contains(note)).cloned().collect::<Vec<_>>(),
            );
        }
        let has_kernel = profiles.iter().any(|profile| profile.has_kernel);
        let running = profiles.iter().map(|profile| profile.running).sum();
        let (frames, threads) = builder.build();
        Some(Self { length, has_kernel, frames, threads, losses, notes, cost, running, ..*first })
    }
}

/// Collects stacks of functions.
#[derive(Debug, Default)]
pub(crate) struct StacksBuilder {
    indices: HashMap<Frame, u32>,
    threads: BTreeMap<String, HashMap<Vec<u32>, u64>>,
}

impl StacksBuilder {
    /// Adds a stack, outermost first.
    pub(crate) fn add(&mut self, thread: &str, frames: impl IntoIterator<Item = Frame>, samples: u64) {
        let indices = &mut self.indices;
        let stack: Vec<u32> = frames
            .into_iter()
            .map(|frame| {
                let next = indices.len() as u32;
                *indices.entry(frame).or_insert(next)
            })
            .collect();
        if !self.threads.contains_key(thread) {
            self.threads.insert(thread.to_owned(), HashMap::new());
        }
        if let Some(stacks) = self.threads.get_mut(thread) {
            *stacks.entry(stack).or_default() += samples;
        }
    }

    /// The stacks of threads off the CPU, each sample for so long.
    pub(crate) fn off_cpu(self, period: Duration, length: Duration, cost: Duration) -> Stacks {
        let (frames, threads) = self.build();
        Stacks {
            source: SampleSource::OffCpu,
            period,
            length,
            has_kernel: frames.iter().any(|frame| frame.kind == FrameKind::Kernel),
            frames,
            threads,
            losses: Losses::default(),
            notes: Vec::new(),
            cost,
            running: None,
        }
    }

    /// All functions and stacks, in the order that [`Stacks`] documents.
    pub(crate) fn build(self) -> (Vec<Frame>, Vec<ThreadStacks>) {
        let mut frames: Vec<(Frame, u32)> = self.indices.into_iter().collect();
        frames.sort();
        let mut position = vec![0; frames.len()];
        for (at, (_, before)) in frames.iter().enumerate() {
            position[*before as usize] = at as u32;
        }
        let ordered = |stacks: HashMap<Vec<u32>, u64>| {
            let mut stacks: Vec<StackCount> = stacks
                .into_iter()
                .map(|(stack, samples)| StackCount {
                    frames: stack.into_iter().map(|frame| position[frame as usize]).collect(),
                    samples,
                })
                .collect();
            stacks.sort();
            stacks
        };
        let threads =
            self.threads.into_iter().map(|(name, stacks)| ThreadStacks { name, stacks: ordered(stacks) });
        let threads = threads.collect();
        (frames.into_iter().map(|(frame, _)| frame).collect(), threads)
    }
}
