//! Servers that another crate loads: one that is up for experiments, its slices, and the seam for a measure that is made elsewhere.

pub mod breaking_point;
pub mod error;
pub mod server;
pub mod slice;
