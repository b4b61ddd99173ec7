//! Which CPUs there are, which are ours, and who gets which.

mod cpu_set;

pub use cpu_set::{CpuSet, ParseError};
