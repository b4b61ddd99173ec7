//! The study of one held server: plain slices, suspects, perturbations, words. What a slice is made of is left to
//! [`HeldServer`]; writing and printing the result to others.

use std::time::Duration;

use archive::model::{ExplainedServer, HeldLoad};

use crate::held_server::{HeldServer, HoldError};

/// How long and how often a server is studied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyLengths {
    /// Length of a slice.
    pub slice: Duration,
    /// Plain slices before the first perturbation.
    pub plain_slices: u32,
    /// Suspects that are tried.
    pub suspects: usize,
    /// Pairs of slices after which an elasticity is looked at, and again after twice and three times as many.
    pub pairs: u32,
    /// The share of a resource that a perturbation takes, 0 to 1.
    pub share: f64,
}

impl Default for StudyLengths {
    fn default() -> Self {
        Self { slice: Duration::from_secs(1), plain_slices: 5, suspects: 3, pairs: 4, share: 0.2 }
    }
}

/// What a study does next, for a display of progress.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyProgress {
    /// A plain slice of so many.
    Plain {
        /// Its number, from 1.
        slice: u32,
        /// The number of plain slices.
        of: u32,
    },
    /// A pair of slices of a perturbation.
    Pair {
        /// The perturbation in words, such as `20 % less of the server's CPUs`.
        perturbation: String,
        /// Its number, from 1.
        pair: u32,
        /// The most pairs that this perturbation can have.
        of: u32,
    },
}

/// Studies a server that is warm.
///
/// A slice that fails ends the study; an error is returned only where there is no plain slice at all, or on an interruption.
pub fn study(
    server: &mut dyn HeldServer,
    lengths: &StudyLengths,
    progress: &mut dyn FnMut(&StudyProgress),
) -> Result<ExplainedServer, HoldError> {
    let facts = server.facts();
    progress(&StudyProgress::Plain { slice: 1, of: lengths.plain_slices });
    let reading = server.slice(None, lengths.slice)?;
    Ok(ExplainedServer {
        variant: facts.variant,
        sentence: String::new(),
        held: HeldLoad {
            connections: reading.connections,
            slices: 1,
            length_s: reading.length_s,
            throughput_per_s: reading.throughput_per_s,
            mean_response_us: reading.mean_response_s * 1e6,
            loop_share: reading.throughput_per_s * reading.mean_response_s / f64::from(reading.connections),
            cpu_us_per_operation: None,
            client_utilisation: reading.client_utilisation,
            server_cpus: facts.server_cpus.to_string(),
        },
        resources: Vec::new(),
        suspects: Vec::new(),
        perturbations: Vec::new(),
        statistics: Vec::new(),
        unknown: Vec::new(),
        profile: None,
    })
}
