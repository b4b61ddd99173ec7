//! The name of a package.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of a package: what Debian (policy, 5.6.1) and others allow, and never an option.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PackageName(String);

/// Text that is no name of a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no name of a package: use letters, digits and + - . _, beginning with a letter or digit")]
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
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        // apt-get reads a + or - at the end as "install" or "remove".
        let ends_well = !name.ends_with(['-', '.']) && (!name.ends_with('+') || name.ends_with("++"));
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        if begins_well && ends_well && is_plain && name.len() <= 128 {
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
    fn names_of_packages_and_what_only_looks_like_one() {
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
