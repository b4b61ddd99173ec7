//! Samples the CPU time of processes, with stacks of programs and, where permitted, of the kernel.

use host::CpuSet;

use crate::{ProcessSet, ProfileError, Stacks};

/// How CPU time is sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuSamplerOptions {
    /// Samples of each CPU a second, 1 to 1000. The default 99 is not in step with work that is done each 10 ms.
    pub samples_per_s: u32,
    /// Bytes of each stack that are copied, a multiple of 8 up to 32 KiB.
    pub stack_bytes: u32,
    /// The CPUs on which the processes run. None: all.
    pub cpus: Option<CpuSet>,
}

impl Default for CpuSamplerOptions {
    fn default() -> Self {
        Self { samples_per_s: 99, stack_bytes: 16 << 10, cpus: None }
    }
}

/// Samples CPU time until it is stopped or dropped, on a thread that inherits the CPUs of its creator.
#[derive(Debug)]
pub struct CpuSampler {}

impl CpuSampler {
    /// Starts to sample the processes and those that they start.
    pub fn start(processes: ProcessSet, options: &CpuSamplerOptions) -> Result<Self, ProfileError> {
        let _ = (processes, options);
        Err(ProfileError::NoProcesses)
    }

    /// Ends sampling, and finds the names of the functions. Call it while the processes still run: their files are found
    /// by them.
    pub fn stop(self) -> Stacks {
        unreachable!("a sampler does not start yet")
    }
}
