//! Takes a share of what a server of this machine has of a resource, and says what it was left with.

use std::path::Path;
use std::time::Instant;

use host::process::ProcessTree;
use host::squeeze::{Squeeze, Squeezer};
use host::{CpuSet, Host};

use crate::errors::local::LocalError;
use crate::errors::machine::MachineError;
use crate::interface::probing::{Sampling, ServerSqueeze};

/// A sampling of this machine: what ends it.
pub(super) struct LocalSampling<F>(pub F);

impl<T, F: FnOnce() -> Result<T, LocalError>> Sampling<T> for LocalSampling<F> {
    fn stop(self: Box<Self>) -> Result<T, MachineError> {
        Ok((self.0)()?)
    }
}

/// A second of a CPU, in the unit of a squeezer.
const NANOSECONDS: f64 = 1e9;

/// Begins to take, in the control groups of the server's first process.
pub(super) fn begin(
    host: &Host,
    trees: &[ProcessTree],
    squeeze: ServerSqueeze,
    directory: &Path,
) -> Result<Box<dyn Sampling<f64>>, LocalError> {
    let gone = || LocalError::System {
        what: "find the server's processes",
        source: std::io::ErrorKind::NotFound.into(),
    };
    let first = trees.iter().find_map(ProcessTree::leader).ok_or_else(gone)?;
    match squeeze {
        ServerSqueeze::Memory { share } => {
            let resident =
                trees.iter().map(ProcessTree::pss_bytes).sum::<Option<u64>>().ok_or_else(gone)? as f64;
            let squeeze = Squeeze::Memory { bytes: (resident * share) as u64 };
            let mut squeezer = host.squeeze(squeeze, first.pid, directory)?;
            let before = squeezer.taken()?;
            Ok(Box::new(LocalSampling(move || {
                let mean = (before + squeezer.taken()?) as f64 / 2.0;
                Ok(left(mean, resident))
            })))
        }
        ServerSqueeze::DiskReads { share, bytes_per_s } => {
            let squeeze = Squeeze::DiskReads { bytes_per_s: bytes_per_s * share };
            of_a_rate(host.squeeze(squeeze, first.pid, directory)?, bytes_per_s)
        }
    }
}

/// Begins to take this share of the time of CPUs.
pub(super) fn burn(host: &Host, cpus: &CpuSet, share: f64) -> Result<Box<dyn Sampling<f64>>, LocalError> {
    of_a_rate(host.burn(cpus, share)?, cpus.len() as f64 * NANOSECONDS)
}

/// What is left of this much a second while a squeezer takes some of it.
fn of_a_rate(mut squeezer: Squeezer, whole_per_s: f64) -> Result<Box<dyn Sampling<f64>>, LocalError> {
    let (before, begin) = (squeezer.taken()?, Instant::now());
    Ok(Box::new(LocalSampling(move || {
        let taken = squeezer.taken()?.saturating_sub(before) as f64;
        Ok(left(taken / begin.elapsed().as_secs_f64(), whole_per_s))
    })))
}

/// What is left of a whole.
fn left(taken: f64, whole: f64) -> f64 {
    if whole > 0.0 { (1.0 - taken / whole).clamp(0.0, 1.0) } else { 1.0 }
}
