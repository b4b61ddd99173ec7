//! How the kernel shares CPUs: the policy of this process, and threads that yield to the load. Which CPUs a process has is left to
//! [`affinity`](crate::affinity).

pub mod batch;
pub mod periodic_yield;
