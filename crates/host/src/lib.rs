//! One machine: facts, telemetry, processes, affinity, knobs.

pub mod affinity;
pub mod cgroup;
pub mod doctor;
pub mod facts;
mod host;
mod keeper;
pub mod knobs;
pub mod packages;
pub mod ports;
pub mod process;
mod root;
pub mod telemetry;

pub use affinity::CpuSet;
pub use facts::{Facts, ProcessFacts};
pub use host::Host;
pub use keeper::{VERB as KEEPER_VERB, keeper_main};
pub use process::{Readiness, Running, ServerCommand};
