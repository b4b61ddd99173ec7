//! Control groups of the kernel: the limits that they set on this process, and one that is made for copies of a server.

pub mod cgroup;
pub mod zone;
