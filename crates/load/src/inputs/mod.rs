//! Parses user input: amounts with units, rates over time, key popularity, sizes, templates, objectives and targets.
//! Samples from the parsed types. Only `target` uses the network.

pub mod keys;
pub mod limits;
pub mod rate;
pub mod sizes;
pub mod slo;
pub mod target;
pub mod template;
pub mod units;
