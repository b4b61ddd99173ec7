//! Verbs about results that exist: runs in the archive, and what their variants cost.

pub mod archive;
pub mod cost;
pub mod published;
pub mod shifts;
pub mod size;
