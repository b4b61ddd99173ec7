//! The drivers: one a protocol, each a state machine over a codec of `wire`, and the registration of the protocols.
//!
//! | file | what it holds |
//! |---|---|
//! | [`protocol`] | what a protocol registers, as a trait |
//! | [`registry`] | the list of the protocols, and [`ProtocolSpec`] |
//! | [`mix`], `mix_file` | the operations of a workload or of a file |
//! | [`database_login`](DatabaseLogin) | a user and a database as plain data |
//! | [`target`] | a URL: its protocol, and where it leads |
//! | [`options`] | the options of the command line |
//! | one folder or file a protocol | its plain data, its driver, its registration |

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut sends other requests

mod choice;
mod database_login;
mod error;
pub mod http;
pub mod keyspace;
pub mod memcache;
pub mod mix;
mod mix_file;
pub mod options;
pub mod password;
pub mod protocol;
pub mod redis;
pub mod registry;
pub mod runner;
pub mod smtp;
pub mod sql;
pub mod target;
mod unix_target;

use std::time::Duration;

pub use database_login::{DatabaseLogin, QueryError};
pub use error::OperationError;
pub use mix_file::MixFileError;
pub use registry::{PROTOCOLS, ProtocolSpec, RegisteredProtocol};

/// How long an operation may take that stores data before a load: creating an index on a large table takes minutes.
pub const POPULATE_TIMEOUT: Duration = Duration::from_mins(5);
