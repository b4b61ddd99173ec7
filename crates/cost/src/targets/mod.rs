//! targets.toml: what a user's machines cost, take and give off. The user describes a machine once, with units.

mod file;
mod target;

pub use file::TargetsError;
pub use target::{Acquisition, NoTarget, Target, Targets};
