//! The data of a run directory: one module for each file, and modules for shared parts.
//!
//! | file | type |
//! |---|---|
//! | `plan.toml` | [`Plan`] |
//! | `facts.json` | [`Facts`] |
//! | `trials/NNN-variant/trial.json` | [`Trial`] |
//! | `verdict.json` | [`Verdict`] |
//!
//! These types are the file format; `docs/FORMATS.md` documents every key. Readers ignore unknown JSON keys, and
//! writers may omit a key that has a default, so new keys need no new [`FORMAT`]. File names are relative to the run
//! directory, with `/`.

mod facts;
mod fairness;
mod gate;
mod knob_value;
mod phase;
mod plan;
mod statistics;
mod times;
mod trial;
mod unit;
mod usage;
mod verdict;

pub use facts::{ConfigFile, Facts, FlatFacts, VariantFacts};
pub use fairness::{Caveat, Difference, DifferenceClass};
pub use gate::{Gate, GateOutcome};
pub use knob_value::KnobValue;
pub use phase::{ClientHealth, Handshakes, OperationTimes, PhaseKind, TrialPhase};
pub use plan::{
    Axis, ClientLoad, CpuSplit, Measure, PhaseLengths, Plan, PlanParseError, PlannedBackground, RunKind,
    RunLength, Variant, Vary, WarmUpLimits,
};
pub use statistics::{
    ComparisonSide, ComparisonVerdict, ConfidenceInterval, InconclusiveReason, IntervalMethod, NoFitReason,
    RatioEstimate, Scalability, ScalabilityFit, SteadyState, UnsteadyReason,
};
pub use times::{QuantileCurve, Times};
pub use trial::{MeasuredValue, SweepPoint, Tick, Trial, TrialFiles, TrialStatus, WarmUpOutcome};
pub use unit::{plural, thousands, with_unit};
pub use usage::{CountCheck, ResourceUse, SaturatedResource, ServerUsage};
pub use verdict::{Comparison, CurvePoint, Mode, SweepCurve, TrialValue, VariantSummary, Verdict};

use crate::upgrade::Document;

/// Version of the run directory's formats. It rises when an older reader would read a file wrongly;
/// `crate::upgrade` reads files of earlier formats.
pub const FORMAT: u32 = 2;

/// A JSON file of a run directory with a format number.
pub(crate) trait RunFile: serde::de::DeserializeOwned {
    /// Which file it is.
    const DOCUMENT: Document;

    /// The format in which it was written.
    fn format(&self) -> u32;
}

impl RunFile for Facts {
    const DOCUMENT: Document = Document::Facts;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for Trial {
    const DOCUMENT: Document = Document::Trial;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for Verdict {
    const DOCUMENT: Document = Document::Verdict;

    fn format(&self) -> u32 {
        self.format
    }
}
