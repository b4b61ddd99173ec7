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
    /// What MySQL and MariaDB speak.
    Mysql,
    /// What PostgreSQL speaks.
    Postgres,
    /// SMTP.
    Smtp,
    /// None of ours: the program makes its load itself and tells us of it, see `docs/BYOD.md`.
    Runner,
}

/// What operations are. Servers of one workload may speak different protocols of one kind: the operations are the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Requests, each with a path.
    Requests,
    /// Commands over keys.
    Keys,
    /// Transactions over tables.
    Tables,
    /// Messages in sessions.
    Mail,
    /// What only the program itself knows.
    Own,
}

impl Protocol {
    /// What its operations are.
    pub fn kind(self) -> Kind {
        match self {
            Self::Http => Kind::Requests,
            Self::Memcache | Self::Redis => Kind::Keys,
            Self::Mysql | Self::Postgres => Kind::Tables,
            Self::Smtp => Kind::Mail,
            Self::Runner => Kind::Own,
        }
    }
}
