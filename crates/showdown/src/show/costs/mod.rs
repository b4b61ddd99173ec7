//! Watts and money on a terminal: meters, costs of variants, fleets, published evaluations.

pub mod cost;
pub mod load_watts;
pub mod metered;
pub mod power;
pub mod published;
pub mod size;
