//! The thresholds of the rules of validity. Their grounds are in the [module](super)'s table.

/// Largest share of its cores that the client may need.
pub const MAX_UTILISATION: f64 = 0.90;
/// A client that needs no more than this share of its cores is not late by its own queue.
pub const BUSY: f64 = 0.5;
/// Largest share of its time for which the client may be ready to run and have no CPU.
pub const MAX_STARVATION: f64 = 0.05;
/// Largest mean of what the client added to an operation, as a share of the time from one operation to the next of its connection,
/// with which more starvation does no harm.
pub const MAX_STARVED_DELAY: f64 = 0.01;
/// Largest p99 of lag or pickup as a share of the median response time.
pub const MAX_LAG_SHARE: f64 = 0.1;
/// A p99 of lag or pickup up to this breaks no rule, microseconds.
pub const HARMLESS_LAG_US: u64 = 100;
/// Operations without a receive timestamp of the kernel up to this share do not change the 99th percentile.
pub const MAX_UNSTAMPED: f64 = 0.01;
/// Least share of the offered load that must be achieved.
pub const MIN_ACHIEVED: f64 = 0.98;
/// Largest drift of a client's clock during a load, as a share of an interval.
pub const MAX_DRIFT_SHARE: f64 = 0.1;
/// Largest share of the connections of a closed loop that may be missing.
pub const MAX_MISSING_CONNECTIONS: f64 = 0.01;
/// Largest share of operations that may fail.
pub const MAX_ERROR_SHARE: f64 = 0.01;
