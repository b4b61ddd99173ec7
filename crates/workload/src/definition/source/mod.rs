//! The text of workload.toml: its keys as serde reads them, the mix in it, and errors with a line number. What the keys mean is left to
//! the files beside this folder.

pub mod mix;
pub mod raw;
