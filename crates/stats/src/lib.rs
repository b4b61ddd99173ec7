//! Pure statistics of measurements: steady state, intervals, modes, scalability laws.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

pub mod autocorrelation;
pub mod confidence;
pub mod describe;
mod level;
mod location;
mod mser;
pub mod multiple;
pub mod power;
pub mod ratio;
pub mod steady;
pub mod verdict;
