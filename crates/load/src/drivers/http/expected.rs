//! What a reply must have to count as a success, as plain data.

use serde::{Deserialize, Serialize};

/// What a reply must have to count as a success.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The status, or one of several; by default any from 200 to 399.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,
    /// The length of the body in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// A text that the body contains; no template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// One status or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Statuses {
    /// Only this one.
    One(u16),
    /// Any of these.
    Several(Vec<u16>),
}

impl Expected {
    /// Whether this status is expected.
    pub(crate) fn accepts(&self, status: u16) -> bool {
        match &self.status {
            None => (200..400).contains(&status),
            Some(Statuses::One(one)) => *one == status,
            Some(Statuses::Several(several)) => several.contains(&status),
        }
    }

    /// Which statuses are expected, in words.
    pub(crate) fn wanted_status(&self) -> String {
        match &self.status {
            None => "200 to 399".to_owned(),
            Some(Statuses::One(status)) => status.to_string(),
            Some(Statuses::Several(several)) => format!("one of {several:?}"),
        }
    }
}
