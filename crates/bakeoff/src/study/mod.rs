//! Servers that another crate loads: one that is up for experiments, and its slices.

pub mod server;
pub mod slice;
