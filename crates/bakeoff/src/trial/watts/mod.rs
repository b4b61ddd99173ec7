//! Watts of a server, after the value of its trial: the levels of load at which they are measured, and their record. Meters are left to
//! [`machines`](crate::machines).

pub mod power_levels;
pub mod power_record;
