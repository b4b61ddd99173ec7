//! Watts of a machine, with their time, boundary and source.
//!
//! # Guide
//!
//! A [`PowerSource`] gives watts, or the joules of a counter. A [`PowerMeter`] turns its readings into watts with their time; a
//! [`PowerMonitor`] reads several of them at once, a [`PowerRecorder`] for as long as a run lasts.
//!
//! | module | its purpose |
//! |---|---|
//! | [`local`] | the meters of this machine: RAPL by powercap or perf, hwmon, its BMC |
//! | [`SourceKeys`] | meters on the network as a user describes them: plugs, rack PDUs, BMCs |
//! | [`NamedSource`] | one of either, as a user names it for a run |
//! | [`Stated`] | what somebody typed in |
//! | [`MeterRecord`] | the watts of a meter over a run, and their mean in a window |
//! | [`Boundary`] | what watts include |
//!
//! **Goals.** Every watt has its boundary and its source. A counter's wrap costs nothing, a source that disappears costs its own watts
//! only. An answer from the network is limited in size and time and may be anything. A secret is in no argument, error or output.
//!
//! **Non-goals.** Energy, its price and carbon: `cost` has them. When to measure: the caller knows. Load, and the power that it needs.
//!
//! # Example
//!
//! ```
//! use std::path::Path;
//! let local = power::local::find(Path::new("/"), None);
//! let mut monitor = power::PowerMonitor::new(local.sources);
//! for (about, sampled) in monitor.sample() {
//!     println!("{} ({}): {sampled:?}", about.name, about.boundary.name());
//! }
//! for missing in local.not_measured {
//!     println!("{}: {}", missing.name, missing.why);
//! }
//! ```
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod boundary;
mod description;
mod error;
pub mod local;
mod meter;
mod monitor;
mod named;
mod network;
mod notes;
mod recorder;
mod report;
mod secret;
mod source;
mod stated;
#[cfg(test)]
mod testing;

pub use boundary::Boundary;
pub use description::{SourceDescription, SourceKeys};
pub use error::{MeterError, PowerError};
pub use meter::{PowerMeter, PowerSample};
pub use monitor::{MeanOfTicks, PowerMonitor, PowerTick, SourceWatts};
pub use named::NamedSource;
pub use notes::notes_on;
pub use recorder::{MeanWatts, MeterRecord, PowerRecorder, ReadFailure};
pub use report::PowerReport;
pub use source::{EnergyCounter, NotMeasured, PowerReading, PowerSource, SourceAbout};
pub use stated::Stated;
