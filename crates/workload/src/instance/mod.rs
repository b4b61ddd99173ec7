//! A server of a workload that has been started: configured, pinned to CPUs, ready, and stopped when it is dropped.
//!
//! | file or folder | content |
//! |---|---|
//! | `options`, `layout` | what a start needs |
//! | `starting/` | the steps of a start, the companions before it, the memory allocator of a variant, the wait until the server is ready |
//! | `private/` | the directories of a start, its files, its password and certificate |
//! | `external` | the processes of a server that another program has started |
//! | `running` | the running server: its load, its configuration, its end |
//! | `check` | loading data, and one checked reply of each operation |
//! | `statistics/` | the server's own count of operations, and what else it says of itself |
//! | `replies/` | the forms of the texts in which servers count |
//! | `facts`, `tool` | its version and how it was built |

mod check;
mod error;
mod external;
mod facts;
mod layout;
mod options;
pub(crate) mod private;
mod replies;
mod running;
mod starting;
mod statistics;
mod tool;

pub use self::error::{ConfigurationError, InstanceError, StatisticsError};
pub use self::facts::ServerFacts;
pub use self::layout::StartLayout;
pub use self::options::StartOptions;
pub use self::replies::exposition;
pub use self::replies::query::ServerQueryError;
pub use self::running::{EffectiveConfigFile, Instance, Verification};
pub(crate) use self::running::{SERVER_LOG, companion_prefix};
pub(crate) use self::starting::start::COMMAND;
pub use self::statistics::observer::{ObservedChange, ObservedValue, Observer, over, sum};
pub use self::statistics::operation_count::OperationCount;
