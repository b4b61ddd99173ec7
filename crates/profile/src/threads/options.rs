//! How states of threads are sampled.

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

impl ThreadSamplerOptions {
    /// With values in their ranges.
    pub(super) fn corrected(&self) -> Self {
        Self { rounds_per_s: self.rounds_per_s.clamp(1, 100), most_cpu: self.most_cpu.clamp(0.001, 1.0) }
    }
}
