//! The name of a package.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of a package: letters, digits and punctuation as in Debian policy 5.6.1, and never a command-line option.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PackageName(String);

/// Text that is not a package name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a package name: use letters, digits and + - . _, starting with a letter or digit")]
pub struct InvalidName(String);

impl PackageName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PackageName {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        let start_is_valid = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        // apt-get interprets a + or - at the end as "install" or "remove".
        let end_is_valid = !name.ends_with(['-', '.']) && (!name.ends_with('+') || name.ends_with("++"));
        let characters_are_valid = name.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        if start_is_valid && end_is_valid && characters_are_valid && name.len() <= 128 {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidName(name.to_owned()))
        }
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<PackageName> for String {
    fn from(name: PackageName) -> Self {
        name.0
    }
}

impl TryFrom<String> for PackageName {
    type Error = InvalidName;

    fn try_from(name: String) -> Result<Self, InvalidName> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_and_invalid_names_are_distinguished() {
        for name in ["nginx", "apache2-bin", "libstdc++6", "g++", "python3.11", "redis_7"] {
            assert!(name.parse::<PackageName>().is_ok(), "{name}");
        }
        for name in
            ["", "-y", "--reinstall", "nginx-", "nginx+", "a b", "a;b", "./x.deb", "a/b", "nginx=1.2", "ä"]
        {
            assert!(name.parse::<PackageName>().is_err(), "{name}");
        }
    }
}
