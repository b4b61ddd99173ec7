//! The limits of a plan, from the command line or from a file. Those of its load are in [`load::inputs::limits`].

use std::time::Duration;

/// With fewer blocks there is no confidence interval, and so no verdict.
pub const FEWEST_BLOCKS: u32 = 3;
/// More blocks would take days: a typing error.
pub const MOST_BLOCKS: u32 = 1_000;
/// Most values of one axis, and most rates of a latency curve.
pub const MOST_VALUES: usize = 64;
/// Most variants at all points of a sweep, which are the trials of one block.
pub const MOST_POINTS: usize = 4_096;
/// Shortest slice of an explanation: a shorter one has nothing but its beginning.
pub const SHORTEST_SLICE: Duration = Duration::from_millis(10);
/// Most slices, pairs and rounds of an explanation: more would take days.
pub const MOST_SLICES: u32 = 1_000;
/// Least share of the full load at which watts are measured: with less, a server is idle. Falling shares are at most a hundred
/// then, and more would take days.
pub const LEAST_LEVEL: f64 = 0.01;
/// Most operations of a trial that are timed one at a time.
pub const MOST_OPERATIONS: u32 = 1_000;
