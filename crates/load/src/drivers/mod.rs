//! The drivers: one a protocol, each a state machine over a codec of `wire`.

mod choice;
pub mod http;
pub mod memcache;

use serde::{Deserialize, Serialize};

/// A protocol and its operations, as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "lowercase")]
pub enum ProtocolSpec {
    /// HTTP/1.1.
    Http(http::HttpSpec),
    /// memcached's text or meta protocol.
    Memcache(memcache::MemcacheSpec),
}

/// Why operations cannot be carried out as they are written: which one, what is wrong, what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OperationError(pub(crate) String);

impl ProtocolSpec {
    /// Names of the operations in the order of their ids, and of the driver's counters. Fails as
    /// building the driver would.
    pub fn names(&self) -> Result<(Vec<String>, &'static [&'static str]), OperationError> {
        use crate::driver::Driver;
        match self {
            Self::Http(spec) => {
                let driver = http::HttpDriver::new(spec, false)?;
                Ok((driver.operations(), driver.tallies()))
            }
            Self::Memcache(spec) => {
                let driver = memcache::MemcacheDriver::new(spec, 0, 0, 1)?;
                Ok((driver.operations(), driver.tallies()))
            }
        }
    }
}
