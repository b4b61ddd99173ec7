//! One machine: facts, telemetry, processes, affinity, knobs.

pub mod affinity;
mod host;
mod keeper;
pub mod process;

pub use affinity::CpuSet;
pub use host::Host;
pub use keeper::{VERB as KEEPER_VERB, keeper_main};
pub use process::{Readiness, Running, ServerCommand};
