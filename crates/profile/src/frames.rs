//! What each function costs an operation, in µs of CPU time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Stacks;
use crate::stacks::Frame;

/// What was measured beside a profile, in the same window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWork {
    /// CPU time of the processes.
    pub cpu: Duration,
    /// Operations.
    pub operations: u64,
}

/// What a function costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameCost {
    /// The function.
    pub frame: Frame,
    /// µs of CPU time an operation in the function itself.
    pub self_us: f64,
    /// µs of CPU time an operation in the function and in those that it calls. A recursive function counts once.
    pub total_us: f64,
    /// Samples in the function itself.
    pub self_samples: u64,
    /// Samples with the function on the stack.
    pub total_samples: u64,
}

/// The costs of all functions in a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameCosts {
    /// Each function, the one with the most time of its own first.
    pub frames: Vec<FrameCost>,
    /// Measured CPU time an operation, in µs: the sum of `self_us` of all frames and of `rest_us`.
    pub cpu_us: f64,
    /// Measured CPU time an operation that is in no sample, in µs; negative where the samples stand for more.
    pub rest_us: f64,
    /// The µs an operation that a sample stands for.
    pub sample_us: f64,
}

/// The costs of the functions in a profile. None if there was no operation.
pub fn costs(stacks: &Stacks, work: MeasuredWork) -> Option<FrameCosts> {
    let _ = (stacks, work);
    None
}
