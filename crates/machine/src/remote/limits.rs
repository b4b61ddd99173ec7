//! How much a host may send of what this side keeps, uses or writes. Its frames and channels have limits of their own, in
//! `protocol`.

use std::time::Duration;

/// Servers get free ports of the kernel; those below belong to the services of the system.
pub(super) const LOWEST_PORT: u16 = 1024;

/// A certificate with its chain.
pub(super) const LONGEST_CERTIFICATE_BYTES: usize = 64 << 10;

/// A recording has no more samples than fit into its time, and these: the clocks of two hosts differ, and the first and the last one are
/// taken out of turn.
pub(super) const MORE_SAMPLES: u64 = 100;

/// Columns of a recording: a machine of 1,024 CPUs has about 10,000.
pub(super) const MOST_COLUMNS: usize = 50_000;

/// Samples times columns of a recording: an hour of a large machine. They are in memory until they are written.
pub(super) const MOST_VALUES: u64 = 50_000_000;

/// The name of a column.
pub(super) const LONGEST_NAME: usize = 300;

/// CPU time that a server has used: more than a thousand CPUs in a thousand years.
pub(super) const MOST_CPU_TIME: Duration = Duration::from_secs(1 << 45);

/// A start makes one of 32 characters.
pub(super) const LONGEST_PASSWORD: usize = 128;
