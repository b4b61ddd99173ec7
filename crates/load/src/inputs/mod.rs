//! What a user writes, made into types: amounts with units, rates over time, key popularity, sizes,
//! templates, objectives and targets. Pure parsing and sampling; no sockets, no clock.

pub mod keys;
pub mod rate;
pub mod sizes;
pub mod slo;
pub mod target;
pub mod template;
pub mod units;
