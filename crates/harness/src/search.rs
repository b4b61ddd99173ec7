//! A search of the archive, as it stands in the address of the page, in the API and in a saved view.

use std::fmt::Write;

use archive::model::RunKind;
use archive::{RunOrder, RunState};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest text of a search, bytes; the most tags, and the longest name of a view, characters.
const MOST_TEXT_BYTES: usize = 400;
const MOST_TAGS: usize = 20;
const MOST_NAME: usize = 80;

/// What an address writes in another way: all but letters, digits and what stands for itself everywhere.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What is looked for in the archive: runs that match all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveSearch {
    /// Part of the id or of the answer.
    pub text: Option<String>,
    /// Tags, all of which a run has.
    pub tags: Vec<String>,
    /// The name of the workload.
    pub workload: Option<String>,
    /// Such as `finished`.
    #[schema(value_type = Option<String>)]
    pub state: Option<RunState>,
    /// Such as `compare`.
    #[schema(value_type = Option<String>)]
    pub kind: Option<RunKind>,
    /// `newest` or `oldest` first.
    #[schema(value_type = String)]
    pub order: RunOrder,
}

/// A search with a name, of one account; of the installation where there are no accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SavedView {
    /// Its number. No other view ever has it.
    pub id: u64,
    /// Its name, unique among the views of one account.
    pub name: String,
    /// What it shows.
    pub search: ArchiveSearch,
    /// When it was saved: milliseconds since 1970.
    pub unix_ms: u64,
}

/// Why a search or a view is none.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A word that is not in a list.
    #[error("there is no {what} {word:?}: use {}", .known.join(", "))]
    Unknown {
        /// What the word should be.
        what: &'static str,
        /// The word.
        word: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A text is too long, or has characters that nobody sees.
    #[error("a text of a search has at most {MOST_TEXT_BYTES} bytes without control characters: shorten it")]
    Text,
    /// Too many tags.
    #[error("a search has at most {MOST_TAGS} tags: remove some")]
    Tags,
    /// The name of a view.
    #[error(
        "the name of a view has 1 to {MOST_NAME} characters without control characters: choose another one"
    )]
    Name,
}

impl ArchiveSearch {
    /// Reads the fields of a form or of an address. Fields with other names are for somebody else.
    pub fn from_fields(fields: &[(String, String)]) -> Result<Self, SearchError> {
        let mut search = Self::default();
        for (name, value) in fields {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            match name.as_str() {
                "q" => search.text = Some(value.to_owned()),
                "workload" => search.workload = Some(value.to_owned()),
                "tag" if !search.tags.iter().any(|tag| tag == value) => search.tags.push(value.to_owned()),
                "state" => search.state = Some(of_name("state", value, &RunState::ALL, RunState::name)?),
                "kind" => search.kind = Some(of_name("kind", value, &RunKind::ALL, RunKind::name)?),
                "order" => search.order = of_name("order", value, &RunOrder::ALL, RunOrder::name)?,
                _ => {}
            }
        }
        search.check()?;
        Ok(search)
    }

    /// Whether its texts may be kept.
    pub fn check(&self) -> Result<(), SearchError> {
        if self.tags.len() > MOST_TAGS {
            return Err(SearchError::Tags);
        }
        for text in self.text.iter().chain(&self.workload).chain(&self.tags) {
            if text.len() > MOST_TEXT_BYTES || text.chars().any(char::is_control) {
                return Err(SearchError::Text);
            }
        }
        Ok(())
    }

    /// Its fields, as [`Self::from_fields`] reads them.
    pub fn fields(&self) -> Vec<(&'static str, &str)> {
        let mut fields = Vec::new();
        fields.extend(self.text.as_deref().map(|text| ("q", text)));
        for tag in &self.tags {
            fields.push(("tag", tag));
        }
        fields.extend(self.workload.as_deref().map(|name| ("workload", name)));
        fields.extend(self.state.map(|state| ("state", state.name())));
        fields.extend(self.kind.map(|kind| ("kind", kind.name())));
        if self.order != RunOrder::default() {
            fields.push(("order", self.order.name()));
        }
        fields
    }

    /// The query of an address that shows it.
    pub fn address(&self) -> String {
        let mut address = String::new();
        for (name, value) in self.fields() {
            let _ = write!(address, "{name}={}&", utf8_percent_encode(value, ENCODED));
        }
        address.truncate(address.trim_end_matches('&').len());
        address
    }

    /// What the archive is asked.
    pub fn query(&self, limit: u32) -> archive::Query {
        let Self { text, tags, workload, state, kind, order } = self.clone();
        archive::Query { text, tags, workload, state, kind, order, limit: Some(limit), ..Default::default() }
    }
}

fn of_name<T: Copy>(
    what: &'static str,
    word: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, SearchError> {
    let found = all.iter().copied().find(|one| name(*one) == word);
    found.ok_or_else(|| SearchError::Unknown {
        what,
        word: word.to_owned(),
        known: all.iter().map(|one| name(*one)).collect(),
    })
}

/// Checks the name of a view.
pub fn checked_view_name(name: &str) -> Result<&str, SearchError> {
    let name = name.trim();
    let is_name = (1..=MOST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if is_name { Ok(name) } else { Err(SearchError::Name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &str)]) -> Result<ArchiveSearch, SearchError> {
        let fields: Vec<_> =
            fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        ArchiveSearch::from_fields(&fields)
    }

    #[test]
    fn a_search_is_the_same_in_an_address_and_in_a_view() {
        let fields = [
            ("q", "50 % & more"),
            ("tag", "a b"),
            ("tag", "c"),
            ("workload", "static-web"),
            ("state", "finished"),
            ("kind", "compare"),
            ("order", "oldest"),
        ];
        let search = read(&fields).unwrap();
        assert_eq!(search.fields(), fields);
        assert!(search.address().starts_with("q=50%20%25%20%26%20more&tag=a%20b&tag=c&"));
        assert!(search.address().ends_with("&order=oldest"), "{}", search.address());
        let text = serde_json::to_string(&search).unwrap();
        assert_eq!(serde_json::from_str::<ArchiveSearch>(&text).unwrap(), search);
        assert_eq!(read(&[("q", " "), ("tag", ""), ("name", "other")]).unwrap(), ArchiveSearch::default());
        assert_eq!(ArchiveSearch::default().address(), "");
        assert_eq!(read(&[("tag", "a"), ("tag", "a")]).unwrap().tags, ["a"]);
    }

    #[test]
    fn what_is_no_search_is_named_with_what_there_is() {
        let error = read(&[("state", "over")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no state \"over\": use finished, interrupted, running, unfinished, damaged"
        );
        assert!(matches!(read(&[("q", &"x".repeat(401))]), Err(SearchError::Text)));
        assert!(matches!(read(&[("tag", "a\u{0}b")]), Err(SearchError::Text)));
        let tags: Vec<String> = (0..21).map(|number| number.to_string()).collect();
        assert!(matches!(ArchiveSearch { tags, ..Default::default() }.check(), Err(SearchError::Tags)));
        assert_eq!(checked_view_name(" nightly ").unwrap(), "nightly");
        for name in ["", "  ", "a\nb", &"x".repeat(81)] {
            assert!(checked_view_name(name).is_err(), "{name:?}");
        }
    }
}
