//! The load engine: arrivals, workers, connections, recording.

pub mod clock;
mod collector;
mod crew;
pub mod driver;
pub mod drivers;
pub mod engine;
pub mod inputs;
pub mod processes;
pub mod record;
pub mod spec;
mod tls;
mod worker;

pub use collector::Slice;
pub mod capacity;
pub mod hlog;
pub mod mix;
pub mod summary;
pub mod validity;
