//! Part of `explanation.json`: where the CPU time of a server goes, function by function, and in which another one differs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The name of [`CpuProfile::waking_us`] among functions.
pub const WAKING: &str = "waking up, before the thread runs";

/// Where the CPU time of a server goes, from samples in slices of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuProfile {
    /// The folded stacks, relative to the run directory.
    pub folded: String,
    /// Number of samples.
    pub samples: u64,
    /// CPU time that a sample stands for, microseconds.
    pub period_us: f64,
    /// Measured CPU time an operation in the profiled slices, microseconds.
    pub cpu_us: f64,
    /// Samples that were lost.
    pub lost: u64,
    /// What could be sampled here, in words.
    pub level: String,
    /// Throughput of the profiled slices over that of the plain ones beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_ratio: Option<f64>,
    /// Frames, the most CPU time first. The sum of their own time, of `waking_us`, `kernel_us` and `rest_us` is the measured CPU
    /// time an operation.
    pub frames: Vec<FrameCost>,
    /// What the kernel counts as CPU time from a wake-up until the thread runs, an operation, microseconds. None where it was
    /// not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waking_us: Option<f64>,
    /// CPU time an operation in the kernel where its functions are not sampled, microseconds: by clock ticks. None where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_us: Option<f64>,
    /// Measured CPU time an operation that nothing accounts for, microseconds.
    pub rest_us: f64,
}

/// The CPU time of one function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameCost {
    /// Its name, or `[nginx+0x1234]`.
    pub frame: String,
    /// The name of its file, such as `libc.so.6`; `kernel` or a module's name for the kernel; empty where it is not known.
    pub module: String,
    /// CPU time an operation in the function itself, microseconds.
    pub self_us: f64,
    /// CPU time an operation in the function and what it calls, microseconds.
    pub total_us: f64,
}

impl CpuProfile {
    /// What is not in the functions that are shown, each with its name and its time an operation in microseconds. With those
    /// functions they sum to the measured CPU time.
    pub fn remainder(&self, shown: usize) -> impl Iterator<Item = (&'static str, f64)> {
        let others = self.frames.iter().skip(shown).map(|frame| frame.self_us).sum();
        let waking = self.waking_us.map(|us| (WAKING, us));
        let kernel = self.kernel_us.map(|us| ("in the kernel, whose functions were not seen", us));
        let rest = [("not in a sample", self.rest_us)];
        [("other functions", others)].into_iter().chain(waking).chain(kernel).chain(rest)
    }
}

impl FrameCost {
    /// The function with its file.
    pub fn name(&self) -> Cow<'_, str> {
        function_name(&self.frame, &self.module)
    }
}

impl FrameDifference {
    /// The function with its file.
    pub fn name(&self) -> Cow<'_, str> {
        function_name(&self.frame, &self.module)
    }
}

/// A function with its file, unless its name has that already.
fn function_name<'n>(frame: &'n str, module: &str) -> Cow<'n, str> {
    if module.is_empty() || frame.starts_with('[') {
        frame.into()
    } else {
        format!("{frame} ({module})").into()
    }
}

/// CPU time an operation of two servers, frame by frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuDifference {
    /// Which costs more CPU time an operation, and by how much, in one sentence.
    pub sentence: String,
    /// The variant that is subtracted.
    pub a: String,
    /// The variant from which it is subtracted.
    pub b: String,
    /// Measured CPU time an operation of `a`, microseconds.
    pub a_cpu_us: f64,
    /// Measured CPU time an operation of `b`, microseconds.
    pub b_cpu_us: f64,
    /// Frames and [`WAKING`], the largest difference first.
    pub frames: Vec<FrameDifference>,
}

/// The difference of one frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameDifference {
    /// The function.
    pub frame: String,
    /// The name of its file, as in a profile.
    pub module: String,
    /// Its own CPU time an operation in `a`, microseconds; 0 where it has none.
    pub a_us: f64,
    /// Its own CPU time an operation in `b`, microseconds; 0 where it has none.
    pub b_us: f64,
    /// Lower bound of the difference `b - a`, microseconds.
    pub low_us: f64,
    /// Upper bound of the difference `b - a`, microseconds.
    pub high_us: f64,
    /// Whether it is significant among all frames, by the false discovery rate.
    pub is_significant: bool,
}
