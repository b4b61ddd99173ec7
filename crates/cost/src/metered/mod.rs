//! Watts that meters recorded beside the load of a run: operations a joule at each level and overall, and how variants compare.
//! Prices are left to [`crate::pricing`].

mod comparison;
mod meter;
mod pairs;
mod report;
mod trial_watts;
pub(crate) mod trials;
mod variant;

pub use comparison::MeteredComparison;
pub use meter::MeterOfRun;
pub(crate) use pairs::{TrialValue, paired_ratio};
pub use report::{MeteredReport, metered};
pub use trial_watts::TrialWatts;
pub(crate) use variant::median;
pub use variant::{LevelFigures, MeteredVariant};
