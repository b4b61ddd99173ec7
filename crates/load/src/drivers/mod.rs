//! The drivers: one a protocol, each a state machine over a codec of `wire`.

mod choice;
pub mod http;
pub mod keyspace;
pub mod memcache;
pub mod password;
pub mod redis;
pub mod smtp;
pub mod sql;

use serde::{Deserialize, Serialize};

use crate::runner::RunnerSpec;

/// A protocol and its operations, as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "lowercase")]
pub enum ProtocolSpec {
    /// HTTP/1.1.
    Http(http::HttpSpec),
    /// memcached's text or meta protocol.
    Memcache(memcache::MemcacheSpec),
    /// RESP2, which Redis and its kin speak.
    Redis(redis::RedisSpec),
    /// What MySQL and MariaDB speak.
    Mysql(sql::SqlSpec),
    /// What PostgreSQL speaks.
    Postgres(sql::SqlSpec),
    /// SMTP.
    Smtp(smtp::SmtpSpec),
    /// A program that makes its load itself.
    Runner(RunnerSpec),
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
                Ok((driver.operations(), driver.counters()))
            }
            Self::Memcache(spec) => {
                let driver = memcache::MemcacheDriver::new(spec, 0, 1)?;
                Ok((driver.operations(), driver.counters()))
            }
            Self::Redis(spec) => {
                let driver = redis::RedisDriver::new(spec, 0, 1)?;
                Ok((driver.operations(), driver.counters()))
            }
            Self::Mysql(spec) | Self::Postgres(spec) => {
                spec.check()?;
                Ok((spec.operations(), spec.counters()))
            }
            Self::Smtp(spec) => {
                let driver = smtp::SmtpDriver::new(spec)?;
                Ok((driver.operations(), driver.counters()))
            }
            Self::Runner(spec) => Ok((spec.mix.iter().map(|(name, _)| name.clone()).collect(), &[])),
        }
    }

    /// Whether connections begin in the clear, and the driver may ask for TLS.
    pub fn starts_tls(&self) -> bool {
        matches!(self, Self::Smtp(spec) if spec.starttls != smtp::StartTls::Never)
    }

    /// What is offered under TLS as the protocol to be spoken (RFC 7301); nothing where none has a name.
    pub(crate) fn alpn(&self) -> Option<&'static [u8]> {
        matches!(self, Self::Http(_)).then_some(b"http/1.1")
    }

    /// What stores every key once, or makes the tables: operations and how many they are, one run after the
    /// other. None where there are neither.
    pub fn populate(&self) -> Vec<(Self, u64)> {
        match self {
            // A runner says that it is ready when its data is.
            Self::Http(_) | Self::Smtp(_) | Self::Runner(_) => Vec::new(),
            Self::Memcache(spec) => {
                let populate = memcache::MemcacheSpec { keyspace: spec.keyspace.populate(), ..spec.clone() };
                vec![(Self::Memcache(populate), spec.keyspace.keys)]
            }
            Self::Redis(spec) => {
                let populate = redis::RedisSpec { keyspace: spec.keyspace.populate(), ..spec.clone() };
                vec![(Self::Redis(populate), spec.keyspace.keys)]
            }
            Self::Mysql(spec) => {
                spec.populate().into_iter().map(|(stage, count)| (Self::Mysql(stage), count)).collect()
            }
            Self::Postgres(spec) => {
                spec.populate().into_iter().map(|(stage, count)| (Self::Postgres(stage), count)).collect()
            }
        }
    }
}
