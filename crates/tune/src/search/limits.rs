//! How long a search is, its blocks, and why it may find nothing out.

use std::time::Duration;

use crate::lab::LabError;

/// How long a search is, and its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    /// The time for all of it.
    pub budget: Duration,
    /// Blocks of equal servers.
    pub equal: u32,
    /// Blocks of the screening, and of each round of the race: three at least, which a run needs for its verdict.
    pub screen: u32,
    /// Most rounds of the race.
    pub rounds: u32,
    /// Fewest and most blocks of the stack.
    pub stack: (u32, u32),
    /// Fewest and most blocks of dropping one at a time.
    pub drop: (u32, u32),
    /// Fewest and most blocks of the confirmation.
    pub confirm: (u32, u32),
    /// Blocks of the confirmation in an open loop: what a pause does to its percentiles is no matter of a few per cent.
    pub open_loop: u32,
    /// Memory of the machine, bytes.
    pub memory_bytes: f64,
}

impl SearchLimits {
    /// Those of an ordinary search.
    pub fn of(budget: Duration, memory_bytes: f64) -> Self {
        Self {
            budget,
            equal: 6,
            screen: 3,
            rounds: 6,
            stack: (4, 16),
            drop: (6, 24),
            confirm: (10, 24),
            open_loop: 3,
            memory_bytes,
        }
    }

    /// Those of a quick one: it shows large gains only.
    pub fn quick(budget: Duration, memory_bytes: f64) -> Self {
        Self {
            equal: 3,
            rounds: 2,
            stack: (3, 6),
            drop: (4, 6),
            confirm: (6, 12),
            ..Self::of(budget, memory_bytes)
        }
    }
}

/// Why a search has found nothing out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The baseline does not run.
    #[error("the baseline cannot be measured: {0}")]
    NoBaseline(String),
    /// No trial of the baseline is valid, for this reason.
    #[error("the baseline cannot be measured: none of its trials is valid: {0}")]
    Invalid(String),
    /// There is not even time for one candidate.
    #[error(
        "{budget_s} s are too short to try one tuning and confirm it: with the time of the trials so far it takes about {needed_s} s; \
         pass --for {needed_s}s or more"
    )]
    TooShort {
        /// The budget, seconds.
        budget_s: u64,
        /// What it takes, seconds.
        needed_s: u64,
    },
    /// The trials cannot be run.
    #[error(transparent)]
    Lab(#[from] LabError),
}
