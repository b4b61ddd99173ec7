//! Pure statistics of measurements: steady state, intervals, modes, scalability laws.
pub mod confidence;
pub mod describe;
mod location;
pub mod multiple;
pub mod power;
pub mod ratio;
pub mod verdict;
