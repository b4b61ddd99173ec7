//! Names of backends and servers.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest name of a backend or server.
const LONGEST_NAME: usize = 128;

/// A name of a backend or a server, as HAProxy allows it: letters, digits and `-_.:`. So it is one word of a command and cannot end one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<Name> for String {
    fn eq(&self, name: &Name) -> bool {
        *self == name.0
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
        let is_name = is_word && !text.is_empty() && text.len() <= LONGEST_NAME;
        if is_name { Ok(Self(text)) } else { Err(BadName(text.chars().take(LONGEST_NAME).collect())) }
    }
}

impl std::str::FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        text.to_owned().try_into()
    }
}

/// It is no name of a backend or server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of a backend or server: use letters, digits and -_.: only, {LONGEST_NAME} at most")]
pub struct BadName(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_that_ends_no_command() {
        for name in ["old1", "web-2.example:80", "A_b"] {
            assert_eq!(name.parse::<Name>().map(|name| name.to_string()), Ok(name.to_owned()));
        }
        for text in ["", "a b", "a;b", "a\nshow info", "a/b", "ä", "#1", &"x".repeat(129)] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
            assert!(serde_json::from_value::<Name>(text.into()).is_err(), "{text:?}");
        }
    }
}
