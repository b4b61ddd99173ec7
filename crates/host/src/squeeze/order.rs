//! The lines between a squeezer and its owner: an order, then questions, each with an answer. Both ends are the same program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::affinity::CpuSet;

/// The question what was taken.
pub(super) const ASK: &[u8] = b"?";

/// What to take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Time of CPUs.
    CpuTime {
        /// Which.
        cpus: CpuSet,
        /// The share of the time of each.
        share: f64,
    },
    /// Memory.
    Memory {
        /// How much.
        bytes: u64,
        /// The directories of control groups to enter first.
        groups: Vec<PathBuf>,
    },
    /// Reads from a disk.
    DiskReads {
        /// How much.
        bytes_per_s: f64,
        /// The file that is read, which is made if it is not there.
        file: PathBuf,
        /// The directories of control groups to enter before reading.
        groups: Vec<PathBuf>,
    },
}

/// An answer to the order and to each question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// What was taken: bytes, or nanoseconds of CPU time.
    Taken(u64),
    /// Nothing can be taken, for this reason.
    Refused(String),
}
