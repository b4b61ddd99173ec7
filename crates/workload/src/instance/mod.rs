//! A server of a workload that has been started: configured, pinned, ready, and stopped again whatever happens.
//!
//! Starting and stopping is in `running`, what is asked of a running server in the files named for the question.

pub(crate) mod certificate;
mod check;
mod counters;
mod credentials;
mod error;
mod exchange;
mod facts;
mod identity;
mod password;
mod running;
mod stage;
mod statistics;
mod tool;

pub use self::error::InstanceError;
pub use self::facts::ServerFacts;
pub use self::running::{EffectiveConfigFile, Instance};
pub use self::stage::StartOptions;
pub use self::statistics::OperationCount;
