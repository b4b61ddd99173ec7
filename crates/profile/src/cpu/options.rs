//! How CPU time is sampled.

use host::CpuSet;

/// How CPU time is sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuSamplerOptions {
    /// Samples of each CPU a second, 1 to 2000. The default 99 is not in step with work that is done each 10 ms.
    pub samples_per_s: u32,
    /// Bytes of each stack that are copied, a multiple of 8 up to 56 KiB. The default is 32 KiB: a function of memcached has a
    /// buffer of 16 KiB on its stack. An ordinary user's buffers are small, and get half of the default at most.
    pub stack_bytes: u32,
    /// The CPUs on which the processes run. None: all.
    pub cpus: Option<CpuSet>,
}

impl Default for CpuSamplerOptions {
    fn default() -> Self {
        Self { samples_per_s: 99, stack_bytes: 32 << 10, cpus: None }
    }
}

impl CpuSamplerOptions {
    /// With values that the kernel accepts.
    pub(super) fn corrected(&self) -> Self {
        Self {
            samples_per_s: self.samples_per_s.clamp(1, 2000),
            stack_bytes: self.stack_bytes.clamp(8, 56 << 10) & !7,
            cpus: self.cpus.clone(),
        }
    }
}
