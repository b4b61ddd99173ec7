//! The data of a run directory: one module for each file that is written, and for what they share.
//!
//! | file | type |
//! |---|---|
//! | `plan.toml` | [`Plan`] |
//! | `facts.json` | [`Facts`] |
//! | `trials/NNN-variant/trial.json` | [`Trial`] |
//! | `verdict.json` | [`Verdict`] |
//!
//! Readers skip JSON fields that they do not know, and writers may leave out what has a default, so that fields can
//! be added without a new [`FORMAT`]. Files are named relative to the run directory, with `/`.

mod facts;
mod fairness;
mod gate;
mod knob_value;
mod phase;
mod plan;
mod times;
mod trial;
mod unit;
mod usage;
mod verdict;

pub use facts::{ConfigFile, Facts, FlatFacts, VariantFacts};
pub use fairness::{Caveat, Difference, DifferenceClass};
pub use gate::{Gate, GateOutcome};
pub use knob_value::KnobValue;
pub use phase::{ClientHealth, Handshakes, OperationTimes, Phase, PhaseKind};
pub use plan::{
    Axis, Background, CpuSplit, Kind, Length, Load, Measure, Phases, Plan, Variant, Vary, WarmUp,
};
pub use times::{QuantileCurve, Times};
pub use trial::{Measured, SweepPoint, Tick, Trial, TrialFiles, TrialStatus, WarmUpOutcome};
pub use unit::{plural, thousands, with_unit};
pub use usage::{CountCheck, ResourceUse, SaturatedResource, ServerUsage};
pub use verdict::{Comparison, CurvePoint, Mode, SweepCurve, TrialValue, VariantSummary, Verdict};

/// Version of the run directory's formats. It rises when a reader of the old one would read the new one wrongly.
pub const FORMAT: u32 = 1;

/// A JSON file of a run directory, which says its format.
pub(crate) trait Record: serde::de::DeserializeOwned {
    /// The format that it was written in.
    fn format(&self) -> u32;
}

impl Record for Facts {
    fn format(&self) -> u32 {
        self.format
    }
}

impl Record for Trial {
    fn format(&self) -> u32 {
        self.format
    }
}

impl Record for Verdict {
    fn format(&self) -> u32 {
        self.format
    }
}
