//! What each function costs an operation, in µs of CPU time.
//!
//! A sample stands for a fixed period of CPU time. The CPU time of the same window is measured beside, by the kernel's
//! accounts; what the samples do not explain is a value of its own ([`FrameCosts::rest_us`]) and is never spread over the
//! functions.
//!
//! The kernel's account of a thread begins when the thread is woken, not when it runs: a CPU that is to switch to it keeps the
//! clock of the wake-up (`rq_clock_skip_update` in `wakeup_preempt`, kernel/sched/core.c). In a virtual machine that is
//! 1.5 to 15 µs a wake-up, in which no sample can be. It is a value of its own, too ([`FrameCosts::waking_us`]).

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
    /// Measured CPU time an operation, in µs: the sum of `self_us` of all frames, of `waking_us` and of `rest_us`.
    pub cpu_us: f64,
    /// µs an operation that the kernel counts as CPU time, from a wake-up until the thread runs. None where it was not
    /// measured; it is in `rest_us` then.
    pub waking_us: Option<f64>,
    /// Measured CPU time an operation that nothing explains, in µs; negative where the samples stand for more.
    pub rest_us: f64,
    /// The µs an operation that a sample stands for.
    pub sample_us: f64,
}

impl FrameCosts {
    /// Whether all times are finite numbers.
    pub(crate) fn is_finite(&self) -> bool {
        let of_frames = self.frames.iter().flat_map(|cost| [cost.self_us, cost.total_us]);
        of_frames.chain([self.cpu_us, self.rest_us, self.sample_us]).chain(self.waking_us).all(f64::is_finite)
    }
}

/// The costs of the functions in a profile of CPU time. None if there was no operation.
///
/// ```
/// use std::time::Duration;
/// use profile::{folded, frames, stacks::SampleSource};
/// let stacks = folded::parse("t;main;parse 30\nt;main 10\n", SampleSource::CpuClock, Duration::from_millis(10))?;
/// let work = frames::MeasuredWork { cpu: Duration::from_millis(500), operations: 1000 };
/// let costs = frames::costs(&stacks, work).expect("there were operations");
/// assert_eq!((costs.cpu_us, costs.rest_us), (500.0, 100.0));
/// assert_eq!((costs.frames[0].frame.name.as_str(), costs.frames[0].self_us), ("parse", 300.0));
/// assert_eq!(costs.frames[1].total_us, 400.0);
/// # Ok::<(), folded::FoldedError>(())
/// ```
pub fn costs(stacks: &Stacks, work: MeasuredWork) -> Option<FrameCosts> {
    if work.operations == 0 {
        return None;
    }
    let operations = work.operations as f64;
    let sample_us = stacks.period.as_secs_f64() * 1e6 / operations;
    let mut own = vec![0_u64; stacks.frames.len()];
    let mut total = own.clone();
    let mut counted = 0;
    for stack in stacks.threads.iter().flat_map(|thread| &thread.stacks) {
        if let Some(innermost) = stack.frames.last() {
            own[*innermost as usize] += stack.samples;
            counted += stack.samples;
        }
        let mut once = stack.frames.clone();
        once.sort_unstable();
        once.dedup();
        for frame in once {
            total[frame as usize] += stack.samples;
        }
    }
    let mut frames: Vec<FrameCost> = stacks
        .frames
        .iter()
        .zip(own.iter().zip(&total))
        .map(|(frame, (own, total))| FrameCost {
            frame: frame.clone(),
            self_us: *own as f64 * sample_us,
            total_us: *total as f64 * sample_us,
            self_samples: *own,
            total_samples: *total,
        })
        .collect();
    frames.sort_by(|a, b| {
        let order = |cost: &FrameCost| (cost.self_samples, cost.total_samples);
        order(b).cmp(&order(a)).then_with(|| a.frame.cmp(&b.frame))
    });
    let cpu_us = work.cpu.as_secs_f64() * 1e6 / operations;
    let waking = stacks.running.map(|running| work.cpu.saturating_sub(running));
    let waking_us = waking.map(|time| time.as_secs_f64() * 1e6 / operations);
    let rest_us = cpu_us - waking_us.unwrap_or_default() - counted as f64 * sample_us;
    Some(FrameCosts { frames, cpu_us, waking_us, rest_us, sample_us })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded;
    use crate::stacks::SampleSource;
    use proptest::prelude::*;

    fn stacks(text: &str) -> Stacks {
        folded::parse(text, SampleSource::CpuClock, Duration::from_millis(10)).expect("folded stacks")
    }

    fn work(cpu_ms: u64, operations: u64) -> MeasuredWork {
        MeasuredWork { cpu: Duration::from_millis(cpu_ms), operations }
    }

    #[test]
    fn a_recursive_function_counts_once() {
        let costs = costs(&stacks("t;f;f;f 5\n"), work(50, 50)).expect("operations");
        assert_eq!((costs.frames[0].self_samples, costs.frames[0].total_samples), (5, 5));
    }

    #[test]
    fn without_operations_there_is_no_cost() {
        assert_eq!(costs(&stacks("t;f 5\n"), work(50, 0)), None);
    }

    #[test]
    fn samples_of_no_function_are_in_the_rest() {
        let costs = costs(&stacks("t 4\nt;f 6\n"), work(100, 1)).expect("operations");
        assert!((costs.rest_us - 40_000.0).abs() < 1e-6);
    }

    #[test]
    fn time_before_a_thread_runs_is_not_in_the_rest() {
        let stacks = Stacks { running: Some(Duration::from_millis(60)), ..stacks("t;f 5\n") };
        let costs = costs(&stacks, work(100, 1)).expect("operations");
        assert_eq!((costs.waking_us, costs.rest_us), (Some(40_000.0), 10_000.0));
    }

    proptest! {
        #[test]
        fn the_functions_and_the_rest_are_the_measured_time(
            counts in prop::collection::vec((0..5_usize, 0..5_usize, 1..1000_u64), 0..20),
            cpu in 0..100_000_u64,
            running in prop::option::of(0..100_000_u64),
            operations in 1..1_000_000_u64,
        ) {
            let lines = counts.iter().map(|(outer, inner, samples)| format!("t;f{outer};f{inner} {samples}\n"));
            let running = running.map(Duration::from_millis);
            let stacks = Stacks { running, ..stacks(&lines.collect::<String>()) };
            let costs = costs(&stacks, work(cpu, operations)).expect("operations");
            let sum: f64 = costs.frames.iter().map(|frame| frame.self_us).sum();
            let sum = sum + costs.waking_us.unwrap_or_default();
            prop_assert!((sum + costs.rest_us - costs.cpu_us).abs() <= 1e-9 * (sum + costs.cpu_us));
            prop_assert!(costs.frames.iter().all(|frame| frame.self_samples <= frame.total_samples));
        }
    }
}
