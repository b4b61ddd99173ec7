//! The login to a database, and the errors of a query outside a load.

use serde::{Deserialize, Serialize};

use crate::connecting::Endpoint;
use crate::drivers::error::OperationError;
use crate::drivers::password::PasswordSource;

/// A user and a database, in the recorded form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseLogin {
    /// The user's name.
    pub user: String,
    /// The database.
    pub database: String,
    /// Where the password is; by default none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordSource>,
    /// Whether the password may be sent where others can read it, see [`ALLOW_CLEARTEXT`](crate::drivers::password::ALLOW_CLEARTEXT).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_cleartext: bool,
}

/// A login with its password. It is never printed.
pub struct DatabaseCredentials {
    pub user: String,
    pub database: String,
    pub password: Vec<u8>,
    /// Whether the password itself may be sent.
    pub may_send_cleartext: bool,
    /// Whether an MD5 hash may be sent, from which the server, and anybody on the way, can guess the password.
    pub may_send_md5: bool,
}

impl DatabaseLogin {
    /// Reads the password. `is_local`: the server is on loopback.
    pub(super) fn credentials(&self, is_local: bool) -> Result<DatabaseCredentials, OperationError> {
        Ok(DatabaseCredentials {
            user: self.user.clone(),
            database: self.database.clone(),
            may_send_cleartext: self.allow_cleartext,
            may_send_md5: self.allow_cleartext || is_local,
            password: self.password.as_ref().map(PasswordSource::read).transpose()?.unwrap_or_default(),
        })
    }
}

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// There is no password.
    #[error(transparent)]
    Password(#[from] OperationError),
    /// No connection.
    #[error("{to}: {source}")]
    Connect {
        /// The server.
        to: Endpoint,
        /// The system's reason.
        source: std::io::Error,
    },
    /// No answer on the connection.
    #[error("there is no answer: {0}")]
    Read(#[from] std::io::Error),
    /// The answer takes too long.
    #[error("there is no answer in time")]
    TimedOut,
    /// The login or the protocol fails, or the server closes the connection.
    #[error("{0}")]
    Session(String),
    /// The server refuses the statement.
    #[error("{statement}: {reason}")]
    Refused {
        /// The statement.
        statement: String,
        /// The server's message.
        reason: String,
    },
}
