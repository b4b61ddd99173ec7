//! Parses user input: amounts with units, rates over time, key popularity, sizes, templates, objectives and targets.
//! Samples from the parsed types. Only `target` uses the network, and only `values` reads files.

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut sends other requests

pub mod keys;
pub mod limits;
pub mod rate;
pub mod sizes;
pub mod slo;
pub mod target;
pub mod template;
mod template_call;
pub mod units;
mod unix_target;
pub mod values;
