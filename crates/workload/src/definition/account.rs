//! The account that the load uses in a database. Its password is not part of a definition: each start makes its own.

use serde::Deserialize;

/// A database user, and the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseAccount {
    /// The user's name.
    pub user: String,
    /// The database's name.
    pub database: String,
}
