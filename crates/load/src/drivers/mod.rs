//! The drivers: one a protocol, each a state machine over a codec of `wire`, and the registration of the protocols.
//!
//! | file | what it holds |
//! |---|---|
//! | [`protocol`] | what a protocol registers, as a trait |
//! | [`registry`] | the list of the protocols, and [`ProtocolSpec`] |
//! | [`mix`], `mix_file` | the operations of a workload or of a file |
//! | [`options`] | the options of the command line |
//! | one folder or file a protocol | its plain data, its driver, its registration |

mod choice;
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

pub use error::OperationError;
pub use mix_file::MixFileError;
pub use registry::{PROTOCOLS, ProtocolSpec, RegisteredProtocol};
