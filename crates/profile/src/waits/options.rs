//! How waits are watched.

use host::CpuSet;

/// How waits are watched.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitSamplerOptions {
    /// Most stacks a second: where threads switch more often, every n-th switch has its stack.
    pub stacks_per_s: u32,
    /// The share of one CPU at which watching ends by itself: reading the records of very many switches can cost a CPU.
    pub most_cpu: f64,
    /// The CPUs on which the processes run. None: all.
    pub cpus: Option<CpuSet>,
    /// Whether the kernel's records of switches are used where this user may see them.
    pub use_records: bool,
}

impl Default for WaitSamplerOptions {
    fn default() -> Self {
        Self { stacks_per_s: 1000, most_cpu: 0.1, cpus: None, use_records: true }
    }
}

impl WaitSamplerOptions {
    /// With values in their ranges.
    pub(super) fn corrected(&self) -> Self {
        Self {
            stacks_per_s: self.stacks_per_s.clamp(10, 10_000),
            most_cpu: self.most_cpu.clamp(0.001, 1.0),
            cpus: self.cpus.clone(),
            use_records: self.use_records,
        }
    }
}
