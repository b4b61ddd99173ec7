//! Errors of a user's file, which begin with its name and a line number.

use std::ops::Range;

/// Why a file is refused: `targets.toml:12: what is wrong: what to write`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct FileError {
    /// The file as the user knows it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and what to write.
    pub message: String,
}

/// A file's text with its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceText<'t> {
    pub file: &'t str,
    pub text: &'t str,
}

impl SourceText<'_> {
    /// An error at a byte range of the text.
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> FileError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        FileError {
            file: self.file.to_owned(),
            line: 1 + before.matches('\n').count(),
            message: message.into(),
        }
    }

    /// An error of the TOML parser or of serde. For an unknown key it suggests the nearest known key.
    pub fn toml_error(&self, error: &toml::de::Error) -> FileError {
        let message = error.message().replace('\n', " ");
        self.error(&error.span().unwrap_or(0..0), rephrase_unknown(&message).unwrap_or(message))
    }
}

/// Rephrases serde's "unknown field `X`, expected one of `A`, `B`".
fn rephrase_unknown(message: &str) -> Option<String> {
    message.starts_with("unknown field ").then_some(())?;
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    let known: Vec<&str> = names.collect();
    let nearest = known.iter().min_by_key(|name| strsim::damerau_levenshtein(unknown, name))?;
    let is_near = strsim::damerau_levenshtein(unknown, nearest) <= unknown.len() / 3;
    let guess = if is_near { format!("did you mean {nearest}? ") } else { String::new() };
    Some(format!("unknown key {unknown} ({guess}known keys: {})", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_reported_with_the_nearest() {
        let message = "unknown field `rack_unit`, expected one of `price`, `rack_units`";
        let expected = "unknown key rack_unit (did you mean rack_units? known keys: price, rack_units)";
        assert_eq!(rephrase_unknown(message).as_deref(), Some(expected));
    }
}
