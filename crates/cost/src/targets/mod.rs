//! targets.toml: what a user's machines cost, take and give off, and the meters of their power. The user describes each once, with units.

mod error;
mod file;
mod meters;
mod plausible;
mod target;
mod target_meter;

pub use error::TargetsError;
pub use meters::TargetsFile;
pub use target::{Acquisition, NoTarget, Target, Targets};
pub use target_meter::TargetMeter;
