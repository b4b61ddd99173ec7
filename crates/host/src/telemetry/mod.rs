//! What a machine does while a trial runs: samples at 1 Hz from `/proc` and `/sys`.
//!
//! A [`Sampler`] is a thread that reads all sources once a period and turns counters into rates.
//! What it found is a [`Recording`]: a [`Column`] for each value (name, unit, help) and a [`Sample`] for each
//! tick, ready to be written as columns. What this kernel does not show is absent, not zero: it has no
//! column, or no value at that tick.
//!
//! Columns are fixed by the first reading, so a disk or interface that comes later, or that nobody has
//! used before, has none. Memory that processes share is counted in each of them (`rss`); the proportional
//! share costs a walk over all pages under the server's own memory lock, so it is asked for when a trial is
//! over ([`crate::process::Tree::pss_bytes`]) and not sampled.
//!
//! A sample costs 2.4 ms of CPU time on a 2-core machine with a hundred processes and memcached as the server,
//! which is 0.24 % of a core at 1 Hz, and 6.1 ms with a server of 256 processes. [`Recording::cost`] has the
//! figure of each recording.

mod others;
mod readings;
mod recording;
mod sampler;
mod sources;

pub use others::OtherProgram;
pub use recording::{Column, Recording, Sample};
pub use sampler::{Sampler, Watch};

pub(crate) use sampler::start;
