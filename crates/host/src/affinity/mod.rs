//! CPUs and cores, and their division between server and client.
//!
//! [`CpuSet`] is a set of CPUs and pins threads to it. [`split()`] divides cores between a server and its client.
//! Limits of CPU *time* are a separate matter, see [`crate::control_groups::cgroup::CgroupLimits`].

mod cpu_set;
mod split;
mod topology;

pub use cpu_set::{CpuSet, ParseError};
pub use split::{CpuSharing, Split, shares, split};
pub use topology::Core;

pub(crate) use topology::{cores, online};
