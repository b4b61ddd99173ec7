//! An entry of the queue: one run that somebody wants, from its submission to its end.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// The number of an entry. Numbers only grow.
pub type EntryId = u64;

/// The number of a claim. Tokens only grow: whoever writes with an old one changes nothing.
pub type Token = u64;

/// An entry whose controller was silent this many times before anything had begun is given up.
pub const MOST_ATTEMPTS: u32 = 3;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntryState {
    /// A person has taken it out of the order.
    Paused,
    /// It waits for its hosts.
    Waiting,
    /// A controller has it, and its hosts. Nothing has begun.
    Claimed,
    /// The run may have begun.
    Running,
    /// The run has ended; it is not yet in the archive.
    Storing,
    /// The run is in the archive.
    Done,
    /// There is no answer.
    Failed,
    /// A person has stopped it.
    Cancelled,
    /// Its controller was silent after the run had begun. A person decides.
    Lost,
}

impl EntryState {
    /// All states, in the order of an entry's life.
    pub const ALL: [Self; 9] = [
        Self::Paused,
        Self::Waiting,
        Self::Claimed,
        Self::Running,
        Self::Storing,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::Lost,
    ];

    /// The name in the API and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Storing => "storing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether a controller has it.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Claimed | Self::Running | Self::Storing)
    }

    /// Whether nothing more happens to it by itself.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled | Self::Lost)
    }
}

/// What a controller that has an entry shows with each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// The entry.
    pub entry: EntryId,
    /// Its token.
    pub token: Token,
}

/// A controller whose rules do not accept an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RefusedBy {
    /// The id of the controller.
    pub controller: String,
    /// Its name.
    pub name: String,
    /// What its rules say.
    pub reason: String,
}

/// An entry of the queue. Its plan is kept beside it: it may have a megabyte.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Entry {
    /// Its number.
    pub id: EntryId,
    /// Where it is.
    pub state: EntryState,
    /// What it is in a line: the command that made the plan.
    pub title: String,
    /// The digest of its plan without the seed: runs of one question take about as long.
    pub question: String,
    /// Who has submitted it.
    pub submitter: String,
    /// A higher one goes first.
    pub priority: i32,
    /// Its place among the entries of one priority, ascending.
    pub position: i64,
    /// The hosts that it needs beside the machine of its controller.
    pub hosts: Vec<String>,
    /// The entry of which it is a repetition, perhaps with another plan.
    pub parent: Option<EntryId>,
    /// The entry of its sequence after which it runs.
    #[serde(default)]
    pub after: Option<EntryId>,
    /// The entry of its sequence that runs after it.
    #[serde(default)]
    pub next: Option<EntryId>,
    /// Whether it runs although the entry before it in its sequence has no answer.
    #[serde(default)]
    pub goes_on: bool,
    /// What its submitter has called it, so that the same submission has one effect.
    pub key: Option<String>,
    /// How often a controller has taken it.
    pub attempt: u32,
    /// The token of the last claim; 0 before the first one.
    pub token: Token,
    /// The controller that has it or had it last.
    pub controller: Option<String>,
    /// Rises with each renewal of the lease.
    pub counter: u64,
    /// Whether a person wants it stopped.
    pub is_killed: bool,
    /// The id of its run, once there is one.
    pub run: Option<String>,
    /// Whether the next attempt goes on with that run. Only its last controller has the files, and gets it.
    pub resumes: bool,
    /// Why it is in its state, where there is something to say.
    pub reason: Option<String>,
    /// The controllers whose rules do not accept it.
    pub refused_by: Vec<RefusedBy>,
    /// When it was submitted: milliseconds since 1970, to be shown.
    pub submitted_unix_ms: u64,
    /// When its run began.
    pub began_unix_ms: Option<u64>,
    /// When it ended.
    pub ended_unix_ms: Option<u64>,
}

impl Entry {
    /// Whether the controller's rules do not accept it.
    pub fn is_refused_by(&self, controller: &str) -> bool {
        self.refused_by.iter().any(|refused| refused.controller == controller)
    }

    /// Whether a controller could run it: one that goes on is only for the controller that has its files.
    pub fn is_for(&self, controller: &str) -> bool {
        !self.resumes || self.controller.as_deref() == Some(controller)
    }

    /// Its place in the order of the queue: by priority (highest first), position and number.
    pub fn place_in_order(&self) -> (Reverse<i32>, i64, EntryId) {
        (Reverse(self.priority), self.position, self.id)
    }

    /// How long its run took, where it has one that ended with an answer: seconds.
    pub fn duration_s(&self) -> Option<f64> {
        let (began, ended) = self.began_unix_ms.zip(self.ended_unix_ms)?;
        (self.state == EntryState::Done).then(|| ended.saturating_sub(began) as f64 / 1000.0)
    }
}
