//! The protocols that a workload can name.

use serde::Deserialize;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// memcached's text protocol.
    Memcache,
    /// RESP2.
    Redis,
}

impl Protocol {
    /// Whether its operations are commands over keys. Servers of one workload may speak different protocols
    /// of one kind: the operations are the same.
    pub fn has_keys(self) -> bool {
        match self {
            Self::Http => false,
            Self::Memcache | Self::Redis => true,
        }
    }
}
