//! Locks of this machine: one measurement at a time, and whose a lock is.

pub mod lock;
pub mod lock_owner;
