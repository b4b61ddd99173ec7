//! A host that runs use, and a controller that takes runs.

use serde::{Deserialize, Serialize};

use crate::entry::{EntryId, Token};

/// Who has a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Lease {
    /// The entry.
    pub entry: EntryId,
    /// The token of its claim.
    pub token: Token,
    /// Since when: milliseconds since 1970, to be shown.
    pub since_unix_ms: u64,
}

/// Whether a host can be had.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HostState {
    /// Nobody has it.
    Free,
    /// A run has it.
    Leased(Lease),
    /// A run on it was lost. Until it is proved clean, nobody gets it.
    Quarantined {
        /// The run that was lost.
        entry: EntryId,
        /// Why, in a sentence.
        reason: String,
    },
}

/// Which machine a name means: the same in any case of its letters, and for each user, as `ops@Lab1` for ssh.
pub fn host_identity(name: &str) -> String {
    let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
    host.trim().trim_end_matches('.').to_lowercase()
}

/// A host, by its [`host_identity`]. A row has one state, so a host has one lease at most.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HostRow {
    /// Its name.
    pub name: String,
    /// Whether it can be had.
    #[serde(flatten)]
    pub state: HostState,
    /// The token of the last run that had it; 0 before the first one.
    pub last_token: Token,
    /// Why it was freed from quarantine the last time, and by whom.
    pub cleaned: Option<String>,
}

impl HostRow {
    /// A host that nobody has.
    pub fn free(name: &str) -> Self {
        Self { name: name.to_owned(), state: HostState::Free, last_token: 0, cleaned: None }
    }
}

/// A program that takes runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ControllerRow {
    /// The id that it has got when it was installed.
    pub id: String,
    /// The id of this start of it.
    pub boot: String,
    /// Its name, to be shown.
    pub name: String,
    /// The host that it runs on, which each of its runs needs.
    pub host: String,
    /// Its version.
    pub version: String,
    /// The rules of its own file, in a line.
    pub rules: String,
    /// What else measures on its host: a person's own run; none where nothing does.
    pub busy: Option<String>,
    /// Rises with each call that asks for work. One that has an entry raises the counter of the entry.
    pub counter: u64,
}
