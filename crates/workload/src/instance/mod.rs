//! A server of a workload that has been started: configured, pinned to CPUs, ready, and stopped when it is dropped.
//!
//! | file | content |
//! |---|---|
//! | `options` | what a start needs |
//! | `start` | the steps of a start |
//! | `allocator` | the memory allocator that a variant asks for |
//! | `readiness` | the wait until the server is ready |
//! | `external` | the processes of a server that another program has started |
//! | `running` | the running server: its load, its configuration, its end |
//! | `check` | loading data, and one checked reply of each operation |
//! | `statistics`, `counters`, `exposition`, `log_counter`, `query` | the server's own count of operations |
//! | `ask`, `observer` | what else the server says of itself, while it is loaded |
//! | `facts`, `tool` | its version and how it was built |
//! | `directories`, `files` | its directory, and a private one beside it |
//! | `credentials`, `password`, `certificate` | secrets of one start |

mod allocator;
mod ask;
pub(crate) mod certificate;
mod check;
mod counters;
mod credentials;
mod directories;
mod error;
pub mod exposition;
mod external;
mod facts;
mod files;
mod layout;
mod log_counter;
mod observer;
mod options;
mod password;
mod query;
mod readiness;
mod running;
mod service_user;
mod start;
mod statistics;
mod tool;

pub use self::error::{ConfigurationError, InstanceError, StatisticsError};
pub use self::facts::ServerFacts;
pub use self::layout::StartLayout;
pub use self::observer::{ObservedChange, ObservedValue, Observer, over, sum};
pub use self::options::StartOptions;
pub use self::query::ServerQueryError;
pub(crate) use self::running::SERVER_LOG;
pub use self::running::{EffectiveConfigFile, Instance};
pub(crate) use self::start::COMMAND;
pub use self::statistics::OperationCount;
