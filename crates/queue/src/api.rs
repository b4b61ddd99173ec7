//! What the API sends and takes, as JSON. The command line and the server have the same types.

use serde::{Deserialize, Serialize};

use crate::claims::{ControllerCall, Outcome};
use crate::entry::{Attempt, Entry, EntryId};
use crate::host_row::{ControllerRow, HostRow};
use crate::outlook::Outlook;

/// The largest plan, bytes.
pub const MOST_PLAN_BYTES: usize = 1 << 20;

/// The header with a secret: `Bearer SECRET`.
pub const AUTHORIZATION: &str = "authorization";

/// A submission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The text of a plan, as `showdown plan` prints it.
    pub plan: String,
    /// A higher one goes first; 0 if missing.
    #[serde(default)]
    pub priority: i32,
    /// Whether it is out of the order at first.
    #[serde(default)]
    pub paused: bool,
    /// The entry that it repeats, perhaps with another plan.
    #[serde(default)]
    pub parent: Option<EntryId>,
    /// The same key has one effect.
    #[serde(default)]
    pub key: Option<String>,
}

/// Plans that run one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SequenceSubmission {
    /// The texts of the plans, in their order.
    pub plans: Vec<String>,
    /// Of each entry.
    #[serde(default)]
    pub priority: i32,
    /// Whether all are out of the order at first.
    #[serde(default)]
    pub paused: bool,
    /// Whether a plan runs although the one before it has no answer; otherwise those behind it are stopped.
    #[serde(default)]
    pub goes_on: bool,
}

/// The queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct QueueList {
    /// Entries that are not at their end, in their order: those that controllers have first; then a page of those that wait or are paused;
    /// with `all`, those at their end behind them.
    pub entries: Vec<Entry>,
    /// How many entries wait or are paused behind those of this page: `after` with the last one of the page leads to them.
    #[serde(default)]
    pub more: u64,
    /// Why each waiting entry waits.
    pub outlooks: Vec<Outlook>,
    /// What is wrong with the queue as a whole; none where nothing is.
    pub alarm: Option<String>,
}

/// A person's order with a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// Where an entry is moved to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Before this entry; where it is missing, `last` decides.
    #[serde(default)]
    pub before: Option<EntryId>,
    /// Behind all others of its priority, not before them.
    #[serde(default)]
    pub last: bool,
}

/// A controller asks for work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimCall {
    /// Which one.
    pub controller: ControllerCall,
    /// What else measures on its host.
    #[serde(default)]
    pub busy: Option<String>,
    /// How long it waits for an answer, seconds.
    #[serde(default)]
    pub wait_s: u32,
}

/// What it gets; without work after its wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClaimAnswer {
    /// The work.
    pub work: Option<Work>,
    /// Hosts of this controller in quarantine, which it may prove clean.
    pub quarantined: Vec<String>,
}

/// One run to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Work {
    /// The entry and its token.
    pub attempt: Attempt,
    /// The text of the plan.
    pub plan: String,
    /// The run that it goes on with; none for a new one.
    pub resumes: Option<String>,
    /// All hosts that it has.
    pub hosts: Vec<String>,
}

/// A call for an attempt: all calls renew the lease, and say where the run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AttemptCall {
    /// The token of the claim.
    pub token: u64,
    /// Lines of the run's progress, each with its number: `seq` counts from 1 without gaps.
    #[serde(default)]
    pub lines: Vec<String>,
    /// The run is about to start.
    #[serde(default)]
    pub begins: bool,
    /// The rules of the controller do not accept the plan, because of this.
    #[serde(default)]
    pub refuses: Option<String>,
    /// The id of the run, once it is known.
    #[serde(default)]
    pub run: Option<String>,
    /// The run has ended.
    #[serde(default)]
    pub ends: Option<Outcome>,
}

/// What a controller is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AttemptAnswer {
    /// Stop the run.
    pub kill: bool,
    /// The number of the next line that the server has not got.
    pub next_seq: u64,
    /// Send the run: it is not in the server's archive.
    pub wants_bundle: bool,
}

/// Hosts and controllers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HostList {
    /// Hosts by name.
    pub hosts: Vec<HostRow>,
    /// Controllers by id.
    pub controllers: Vec<ControllerSeen>,
}

/// A controller, and whether it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ControllerSeen {
    /// What it has said of itself.
    #[serde(flatten)]
    pub row: ControllerRow,
    /// Whether it has called within the length of a lease.
    pub is_heard: bool,
}

/// Changes of what people say of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RunChange {
    /// Tags to add.
    #[serde(default)]
    pub add_tags: Vec<String>,
    /// Tags to remove.
    #[serde(default)]
    pub remove_tags: Vec<String>,
    /// A note to add.
    #[serde(default)]
    pub note: Option<String>,
}

/// What people have written about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Note {
    /// Who.
    pub author: String,
    /// When: milliseconds since 1970.
    pub unix_ms: u64,
    /// The text.
    pub text: String,
}

/// Why a call has failed: one line, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The line.
    pub error: String,
}

/// Where the server of a directory of runs is, and the secret of the command line: the content of a file that only its owner can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// Its URL.
    pub url: String,
    /// The secret.
    pub token: String,
}

/// Whether a secret may be sent to a server with this URL: with TLS, or on this machine.
pub fn is_private(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A bracket ends an address with colons; another host ends at its port.
    let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    matches!(name, Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// The folder of the harness in a directory of runs.
pub const FOLDER: &str = ".harness";

/// The name of [`ServerFile`] in that folder.
pub const SERVER_FILE: &str = "server.json";

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn a_secret_goes_to_this_machine_or_through_tls() {
        for url in
            ["https://lab.example:8443", "http://127.0.0.1:7437", "http://localhost", "http://[::1]:7/x"]
        {
            assert!(is_private(url), "{url}");
        }
        for url in [
            "http://lab.example",
            "http://127.0.0.1.evil.example",
            "http://localhost@evil.example",
            "ftp://127.0.0.1",
        ] {
            assert!(!is_private(url), "{url}");
        }
    }
}
