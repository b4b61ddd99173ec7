//! By which account a database is used. Its password is none of a definition's: each server that is started has its own.

use serde::Deserialize;

/// A user of a database, and the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseAccount {
    /// The user's name.
    pub user: String,
    /// The database's name.
    pub database: String,
}
