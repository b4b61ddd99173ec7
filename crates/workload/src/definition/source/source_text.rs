//! The text of a workload file, and errors that begin with its name and a line number.

use std::ops::Range;

use crate::names::available;

/// Why a workload file is refused: `workloads/x/workload.toml:12: what is wrong: what is expected`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct DefinitionError {
    /// The file as the user knows it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong on that line, and what is expected.
    pub message: String,
}

/// A file's text with its name.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'t> {
    /// The file as the user knows it.
    pub file: &'t str,
    /// What it contains.
    pub text: &'t str,
}

impl SourceText<'_> {
    /// An error at a byte range of the text.
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> DefinitionError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        self.error_at_line(1 + before.matches('\n').count(), message)
    }

    /// An error in a line, from 1.
    pub fn error_at_line(&self, line: usize, message: impl Into<String>) -> DefinitionError {
        DefinitionError { file: self.file.to_owned(), line, message: message.into() }
    }

    /// An error of the TOML parser or of serde. For an unknown key it suggests the nearest known key.
    pub fn toml_error(&self, error: &toml::de::Error) -> DefinitionError {
        let message = error.message().replace('\n', " ");
        self.error(&error.span().unwrap_or(0..0), rephrase_unknown(&message).unwrap_or(message))
    }
}

/// Rephrases serde's "unknown field `X`, expected one of `A`, `B`" (or "unknown variant").
fn rephrase_unknown(message: &str) -> Option<String> {
    let (unknown, known) = unknown_name(message)?;
    let what = if message.starts_with("unknown field ") { "key" } else { "value" };
    Some(format!("unknown {what} {unknown:?}{}", available(unknown, &known)))
}

/// The unknown name in serde's message about an unknown field or variant, and the names that serde expects.
pub fn unknown_name(message: &str) -> Option<(&str, Vec<&str>)> {
    if !message.starts_with("unknown field ") && !message.starts_with("unknown variant ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_file_and_line() {
        let source = SourceText { file: "x.toml", text: "a = 1\nb = 2\n" };
        assert_eq!(source.error(&(6..7), "no").to_string(), "x.toml:2: no");
        assert_eq!(source.error(&(900..901), "no").line, 3, "a span past the end is on the last line");
    }

    #[test]
    fn an_unknown_key_is_reported_with_the_nearest_and_all_known_keys() {
        assert_eq!(
            rephrase_unknown("unknown field `wieght`, expected one of `name`, `weight`").as_deref(),
            Some("unknown key \"wieght\" (did you mean \"weight\"? available: name, weight)")
        );
        assert_eq!(rephrase_unknown("missing field `title`"), None);
    }
}
