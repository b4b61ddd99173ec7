//! [`Probing`]: what a study asks of a machine beside a run, and what only the machine of this process can do: to sample a server's CPU
//! time or its threads, and to take resources from it. Each goes on until it is stopped, and then has a result of plain data.

use host::CpuSet;
use profile::{
    Activity, CpuSamplerOptions, Stacks, ThreadSamplerOptions, ThreadStates, WaitSamplerOptions, Waits,
};

use crate::errors::machine::MachineError;

/// Samples servers of a machine, and takes resources from them.
pub trait Probing {
    /// Samples the CPU time of the server of this trial, with stacks.
    fn sample_cpu(
        &self,
        trial: u32,
        options: &CpuSamplerOptions,
    ) -> Result<Box<dyn Sampling<Stacks>>, MachineError>;

    /// Samples what the threads of the server of this trial wait for.
    fn sample_threads(
        &self,
        trial: u32,
        options: &ThreadSamplerOptions,
    ) -> Result<Box<dyn Sampling<ThreadStates>>, MachineError>;

    /// Watches where the threads of the server of this trial wait, with their stacks.
    fn sample_waits(
        &self,
        trial: u32,
        options: &WaitSamplerOptions,
    ) -> Result<Box<dyn Sampling<Waits>>, MachineError>;

    /// Watches what the threads of the server of this trial do, and which connections they serve, instant by instant. It
    /// listens at these ports.
    fn sample_activity(
        &self,
        trial: u32,
        options: &WaitSamplerOptions,
        ports: &[u16],
    ) -> Result<Box<dyn Sampling<Activity>>, MachineError>;

    /// Takes this share of the time of each of these CPUs, 0 to 0.9. The result is the share that was left for others, 0 to 1.
    fn burn(&self, cpus: &CpuSet, share: f64) -> Result<Box<dyn Sampling<f64>>, MachineError>;

    /// Takes a share of what this trial's server has of a resource. The result is the share that it was left with, 0 to 1.
    fn squeeze(&self, trial: u32, squeeze: ServerSqueeze) -> Result<Box<dyn Sampling<f64>>, MachineError>;
}

/// What is taken from a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerSqueeze {
    /// This share of its resident memory, 0 to 1.
    Memory {
        /// The share.
        share: f64,
    },
    /// Reads from the disk of its files: this share of what it reads itself.
    DiskReads {
        /// The share, 0 to 1.
        share: f64,
        /// What the server reads, bytes a second.
        bytes_per_s: f64,
    },
}

/// Goes on until it is stopped or dropped.
pub trait Sampling<T> {
    /// Ends it and returns its result.
    fn stop(self: Box<Self>) -> Result<T, MachineError>;
}
