//! Run ids: `20261121T005139Z-nginx-apache-7f3a`. They sort by time and name what was compared.

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, time::SystemTime};
use thiserror::Error;

/// Maximum length of the variants' names in an id; the rest is omitted.
const MAX_NAMES_LENGTH: usize = 60;

/// The name of a run and of its directory: start time in UTC, what was compared, four random hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A text that is not a [`RunId`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a run id: an id looks like 20261121T005139Z-nginx-apache-7f3a")]
pub struct RunIdError(String);

impl RunId {
    /// An id for a run of these variants that starts at `started`.
    ///
    /// `salt` distinguishes runs of the same second. The creator of the directory draws another if it is taken.
    pub fn new<'a>(started: SystemTime, variants: impl IntoIterator<Item = &'a str>, salt: u16) -> Self {
        let time = humantime::format_rfc3339_seconds(started).to_string().replace(['-', ':'], "");
        let names = variants.into_iter().map(slug).collect::<Vec<_>>().join("-");
        let names = names.get(..MAX_NAMES_LENGTH).unwrap_or(&names).trim_end_matches(['-', '.']);
        let names = if names.is_empty() { "run" } else { names };
        Self(format!("{time}-{names}-{salt:04x}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The start time in the id, to the second.
    pub fn started(&self) -> SystemTime {
        timestamp(&self.0).expect("checked at creation")
    }
}

/// The time at the start of an id, `20261121T005139Z-`.
fn timestamp(id: &str) -> Option<SystemTime> {
    let time = id.as_bytes().first_chunk::<17>().filter(|time| time[16] == b'-')?;
    // A list parses ten thousand ids: no allocation here.
    let mut rfc3339 = *b"0000-00-00T00:00:00Z";
    for (part, from) in [(0..4, 0), (5..7, 4), (8..13, 6), (14..16, 11), (17..20, 13)] {
        let length = part.len();
        rfc3339[part].copy_from_slice(&time[from..from + length]);
    }
    humantime::parse_rfc3339(std::str::from_utf8(&rfc3339).ok()?).ok()
}

/// A name as part of a folder name: lower-case letters, digits and dots; everything else becomes a single hyphen.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for c in name.chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => slug.push(c),
            '.' if !slug.is_empty() => slug.push('.'),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(slug.trim_end_matches(['-', '.']).len());
    slug
}

impl FromStr for RunId {
    type Err = RunIdError;
    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let is_slug_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        let shape = || {
            let (rest, salt) = text.rsplit_once('-')?;
            let (_, variants) = rest.split_once('-')?;
            let salted = salt.len() == 4 && salt.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
            let named = !variants.is_empty()
                && variants.len() <= MAX_NAMES_LENGTH
                && variants.chars().all(is_slug_char);
            (salted && named).then_some(())
        };
        shape()
            .and_then(|()| timestamp(text))
            .map(|_| Self(text.to_owned()))
            .ok_or_else(|| RunIdError(text.to_owned()))
    }
}

impl TryFrom<String> for RunId {
    type Error = RunIdError;
    fn try_from(text: String) -> Result<Self, RunIdError> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl ToSql for RunId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for RunId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(FromSqlError::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn an_id_has_the_time_and_the_variants() {
        let started = UNIX_EPOCH + Duration::from_secs(1_795_222_299);
        let id = RunId::new(started, ["nginx", "apache:mpm=event"], 0x7f3a);
        assert_eq!(id.as_str(), "20261121T005139Z-nginx-apache-mpm-event-7f3a");
        assert_eq!(id.started(), started);
        assert_eq!(id.as_str().parse(), Ok(id));
    }

    #[test]
    fn a_malformed_id_is_refused() {
        for text in [
            "",
            "nginx",
            "20261121T005139Z-7f3a",
            "20261121T005139Z-../../etc-7f3a",
            "20261121T005139Z-nginx-7F3A",
            "20261121T005139Z--7f3a",
            "20261399T005139Z-nginx-7f3a",
            "2026-11-21T00:51:39Z-nginx-7f3a",
        ] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_variant_name_gives_a_valid_id(
            names in prop::collection::vec(".*", 0..5), secs in 0_u64..200_000_000_000, salt: u16,
        ) {
            let started = UNIX_EPOCH + Duration::from_secs(secs);
            let id = RunId::new(started, names.iter().map(String::as_str), salt);
            prop_assert_eq!(id.as_str().parse::<RunId>(), Ok(id.clone()));
            prop_assert_eq!(id.started(), started);
        }
    }
}
