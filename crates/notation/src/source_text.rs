//! The text of a file that people write, and errors that begin with its name and a line number.

use std::ops::Range;

use crate::mistakes::message_of;

/// Why a file is refused: `workloads/x/workload.toml:12: what is wrong: what to write`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct FileError {
    /// The file as the user knows it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong on that line, and what to write.
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
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> FileError {
        self.error_at_line(line_of(self.text, span.start), message)
    }

    /// An error in a line, from 1.
    pub fn error_at_line(&self, line: usize, message: impl Into<String>) -> FileError {
        FileError { file: self.file.to_owned(), line, message: message.into() }
    }

    /// An error of the TOML parser or of serde, in words of the file.
    pub fn toml_error(&self, error: &toml::de::Error) -> FileError {
        self.error(&error.span().unwrap_or(0..0), message_of(error, self.text))
    }
}

/// The line of a text, from 1, that is after this many bytes.
pub fn line_of(text: &str, bytes: usize) -> usize {
    1 + text.get(..bytes).unwrap_or(text).matches('\n').count()
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
    fn an_error_of_toml_has_its_line_and_the_nearest_key() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only the mistake is read")]
        struct File {
            title: String,
        }
        let source = SourceText { file: "x.toml", text: "\ntitel = \"T\"\n" };
        let error = toml::from_str::<File>(source.text).expect_err("a typo");
        let error = source.toml_error(&error).to_string();
        assert!(error.starts_with("x.toml:2: unknown key \"titel\" (did you mean \"title\"?"), "{error}");
    }
}
