//! The limits of a load. Options of the command line, workload files and plans have the same: what no machine can carry
//! out is a typing error, or an attack by whoever wrote the plan.

use std::time::Duration;

/// Most connections of a client. The kernel's default limit of open files of a process is about a million.
pub const MOST_CONNECTIONS: u32 = 1_000_000;
/// Most worker threads.
pub const MOST_THREADS: u32 = 1_024;
/// The highest rate, in operations a second: more than any client can offer.
pub const HIGHEST_RATE_PER_S: f64 = 1e7;
/// The longest span of time.
pub const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Whether this rate, in operations a second, can be offered.
pub fn is_rate(per_s: f64) -> bool {
    per_s > 0.0 && per_s <= HIGHEST_RATE_PER_S
}
