//! What a person may do in a team's queue. Who has which role is left to the harness.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a person may do: all of the roles before it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arguments", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Nothing any more: the account is closed.
    Closed,
    /// Read all pages.
    Viewer,
    /// Submit plans; pause, release, kill and resume what they have submitted; write notes and tags.
    Submitter,
    /// The same for entries of others; change the order; free hosts from quarantine.
    Operator,
    /// Accounts, secrets of controllers, the audit; delete runs and put them back.
    Admin,
}

impl Role {
    /// All roles, from the least.
    pub const ALL: [Self; 5] = [Self::Closed, Self::Viewer, Self::Submitter, Self::Operator, Self::Admin];

    /// The name in the database and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Viewer => "viewer",
            Self::Submitter => "submitter",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}
