//! The interface to everything that gives watts.

use std::fmt;

use serde::Serialize;
use stats::quantity::Watts;

use crate::boundary::Boundary;
use crate::error::PowerError;

/// A meter of power: a counter of this machine, or a device on the network. It is opened once and read often.
pub trait PowerSource: Send {
    /// What it is.
    fn about(&self) -> &SourceAbout;

    /// Reads it. Blocks for a few seconds at most.
    fn read(&mut self) -> Result<PowerReading, PowerError>;
}

impl fmt::Debug for dyn PowerSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.about().fmt(formatter)
    }
}

/// What a source is.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceAbout {
    /// The name that the user gave it, or a short one, such as `rapl-package`. No two sources have the same.
    pub name: String,
    /// How it is read, such as `rapl` or `apc-rpdu2`.
    pub kind: &'static str,
    /// Where it is: an address or a directory. Never with a password.
    pub origin: String,
    /// What its watts include.
    pub boundary: Boundary,
    /// The largest error of a reading, in percent of it, where it is known.
    pub uncertainty_percent: Option<f64>,
}

/// The largest error of an analyser that `SPECpower_ssj2008` accepts, in percent (its "Power and Temperature Measurement Setup
/// Guide": 1 % or better, a reading a second or more).
const ACCEPTED_PERCENT: f64 = 1.0;

impl SourceAbout {
    /// Whether a meter gives the watts. Otherwise somebody typed them in.
    pub fn is_measured(&self) -> bool {
        !["stated", "nameplate"].contains(&self.kind)
    }

    /// Whether its watts are indicative only: the error is above 1 %, or unknown.
    pub fn is_indicative(&self) -> bool {
        self.uncertainty_percent.is_none_or(|percent| percent > ACCEPTED_PERCENT)
    }
}

/// What a source says at one time.
#[derive(Debug, Clone, PartialEq)]
pub enum PowerReading {
    /// Power, at this moment or averaged by the meter over its own interval.
    Power(Watts),
    /// Energy since some time before, of each of its parts.
    Energy(Vec<EnergyCounter>),
}

/// A counter of energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnergyCounter {
    /// The energy since the counter was zero, µJ.
    pub microjoules: u64,
    /// After this, it starts again from zero, µJ.
    pub range_microjoules: u64,
}

/// Something that could have a meter and has none that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotMeasured {
    /// The kind or the name of the source.
    pub name: String,
    /// Why, and what to do, in one line.
    pub why: String,
}

impl NotMeasured {
    /// A source with the reason.
    pub fn new(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), why: why.into() }
    }
}
