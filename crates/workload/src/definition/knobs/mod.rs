//! The settings of a server that a variant may change: its own, and those that every server has. Values are left to
//! [`values`](super::values).

pub mod allocator;
pub mod binary;
pub mod concurrency;
pub mod knob;
pub mod numbers;
