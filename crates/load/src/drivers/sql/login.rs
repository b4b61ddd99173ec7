//! Who logs in to a database, and where.

use serde::{Deserialize, Serialize};

use super::super::OperationError;
use super::super::password::PasswordSource;

/// A user and a database, as they are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The database.
    pub database: String,
    /// Where the password is; none is sent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordSource>,
}

/// A login with its password, which is never printed.
pub(crate) struct Credentials {
    pub user: String,
    pub database: String,
    pub password: Vec<u8>,
}

impl Login {
    /// Reads the password.
    pub(super) fn credentials(&self) -> Result<Credentials, OperationError> {
        Ok(Credentials {
            user: self.user.clone(),
            database: self.database.clone(),
            password: self.password.as_ref().map(PasswordSource::read).transpose()?.unwrap_or_default(),
        })
    }
}
