//! Telemetry: samples of a machine's activity at 1 Hz, from `/proc` and `/sys`.
//!
//! A [`Sampler`] is a thread that reads all sources once a period and turns counters into rates. The result is a
//! [`Recording`]: a [`TelemetryColumn`] for each value (name, unit, help) and a [`TelemetrySample`] for each tick.
//! What the kernel does not report is absent, not zero: it has no column, or no value at that tick.
//!
//! The first reading determines the columns, so a disk or interface that appears later or was never used before
//! has none. Memory that processes share counts in each of them (`rss`). The proportional set size needs a walk
//! over all pages under the server's memory lock, so it is read after a trial
//! ([`crate::process::ProcessTree::pss_bytes`]) and not sampled.
//!
//! The CPU time of a sample on a 2-core machine with a hundred processes:
//!
//! | server | CPU time | of a core, at 1 Hz |
//! |---|---|---|
//! | memcached | 2.4 ms | 0.24 % |
//! | one with 256 processes | 6.1 ms | 0.61 % |
//!
//! Where samples are shorter apart, or servers have more processes, a sample is left out now and then: readings take at most 3 % of a
//! core.
//!
//! [`Recording::cost`] contains the cost of each recording.

mod others;
mod readings;
mod recording;
mod sampler;
mod sources;
pub(crate) mod steal;

pub use others::OtherProgram;
pub use recording::{Recording, TelemetryColumn, TelemetrySample};
pub use sampler::Sampler;
pub use sources::SampledServer;

pub(crate) use sampler::start;
