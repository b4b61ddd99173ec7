//! Parses user input: amounts with units, rates over time, key popularity, sizes, templates and the numbers in them, and objectives.
//! Samples from the parsed types, and divides
//! them among workers. Only `values` reads files.

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut sends other requests

pub mod keys;
pub mod limits;
pub mod numbers;
pub mod rate;
pub mod sizes;
pub mod slo;
pub mod template;
mod template_call;
pub mod units;
pub mod values;
pub(crate) mod worker_share;
