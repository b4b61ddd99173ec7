//! What is recorded: histograms and counts of one interval, and how they add up.
//!
//! Intervals merge without loss, over workers, seconds and processes. A percentile is only ever read from a merged
//! histogram.
//!
//! | file | content |
//! |---|---|
//! | `micros` | histograms of microseconds |
//! | `errors` | failed operations by kind |
//! | `interval` | the counts and histograms of one interval, and their sums |
//! | `user_stats` | the walk and the delays of users in an interval |
//! | `sampled_operations` | single operations, the slowest and some others |
//! | `compact` | an interval that is no longer filled, in little memory; its form between processes |

mod compact;
mod errors;
mod interval;
mod micros;
mod sampled_operations;
mod user_stats;

pub use compact::{CompactError, CompactInterval, CompactMicros};
pub use errors::{ErrorKind, Errors};
pub use interval::{ClientStats, ConnectionStats, Interval, OperationStats};
pub(crate) use micros::{LONGEST_US, micros, micros_of, record};
pub use micros::{Micros, RecordedTimes, times};
pub(crate) use sampled_operations::Singles;
pub use sampled_operations::{SingleLimits, SingleOperation};
pub use user_stats::{DelayStats, UserStats};

/// Index of the interval after the end: no more operations begin, and those in flight end.
pub const DRAIN: i64 = i64::MAX;

/// Index of the interval before the first part, in which the connections are opened.
pub const OPENING: i64 = i64::MIN;
