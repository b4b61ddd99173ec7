//! How long the parts of a search for a capacity are. Which rates they have is left to [`levels`](super::levels).

use std::time::Duration;

use crate::inputs::slo::Slo;
use crate::session::slices::SliceLength;

/// Rates of a cycle.
pub const LEVELS_OF_CYCLE: u32 = 9;
/// Least own time of a level, also in multiples of the time limit: a queue must have time to grow beyond it.
const SHORTEST_LEVEL: Duration = Duration::from_millis(150);
const LEVEL_OVER_LIMIT: u32 = 12;
/// Slices of a level of a server that is loaded without others.
const SLICES_OF_LEVEL_ALONE: u32 = 5;
/// Cycles of a search that has time for them. Their scatter is that of its capacity.
const CYCLES: u32 = 6;

/// A soak, as a part of the time of the search, and how many there may be.
const SOAK_PART: u32 = 2;
const MOST_SOAKS: u32 = 16;

/// How long a search is, in the server's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPlan {
    /// Own time in all. A search has one cycle at least.
    pub load: Duration,
    /// The time limit of the objective.
    pub limit: Duration,
    /// Own time of a soak: a load at the capacity that the cycles have found, without a break. 0 for none.
    pub soak: Duration,
    /// How many soaks there may be: another one follows where a soak has spent more than the budget.
    pub most_soaks: u32,
}

impl LevelPlan {
    /// A search of this length for an objective.
    pub fn new(load: Duration, slo: &Slo) -> Self {
        let limit_us = slo.latency_limit_us().unwrap_or_default();
        let limit = Duration::from_secs_f64(limit_us / 1e6);
        Self { load, limit, soak: Duration::ZERO, most_soaks: 0 }
    }

    /// The same with the soaks of a search of one server: each is half as long as the search.
    #[must_use]
    pub fn with_soaks(self) -> Self {
        Self { soak: self.load / SOAK_PART, most_soaks: MOST_SOAKS, ..self }
    }

    /// Own time of a level.
    pub fn level(&self) -> Duration {
        let least = SHORTEST_LEVEL.max(self.limit * LEVEL_OVER_LIMIT);
        (self.load / (LEVELS_OF_CYCLE * CYCLES)).max(least)
    }

    /// The slices of a server that is loaded without others: its load is continuous, and slices only say when it has caught up, and in
    /// which of them the client was the limit.
    pub fn slices_alone(&self, slices: SliceLength) -> SliceLength {
        SliceLength { measured: slices.measured.max(self.level() / SLICES_OF_LEVEL_ALONE), ..slices }
    }

    /// A server that drains for longer than this has not caught up: what falls due meanwhile may be late for it.
    pub(super) fn caught_up(&self) -> Duration {
        self.limit / 2
    }
}
