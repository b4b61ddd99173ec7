//! Which CPUs there are, which are ours, and who gets which.
//!
//! [`CpuSet`] is a set of CPUs and pins threads to it; [`split()`] shares cores out between a server and its
//! client. How many CPUs' *time* we may use is another matter, see [`crate::cgroup::Limits`].

mod cpu_set;
mod split;
mod topology;

pub use cpu_set::{CpuSet, ParseError};
pub use split::{Sharing, Split, split};
pub use topology::Core;

pub(crate) use topology::{cores, online};
