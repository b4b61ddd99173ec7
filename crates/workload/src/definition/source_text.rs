//! Where in a file something stands: errors that begin with file and line, and the nearest known name for one
//! that is not known.

use std::ops::Range;

/// Why a workload is refused: `workloads/x/workload.toml:12: what was found: what is expected`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct DefinitionError {
    /// The file as the user knows it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What was found there, and what is expected.
    pub message: String,
}

/// A file's text with its name.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'t> {
    pub file: &'t str,
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

    /// What the TOML parser or serde found, with the nearest name where a field is unknown.
    pub fn toml_error(&self, error: &toml::de::Error) -> DefinitionError {
        let message = error.message().replace('\n', " ");
        self.error(&error.span().unwrap_or(0..0), mend_unknown(&message).unwrap_or(message))
    }
}

/// Serde's "unknown field `X`, expected one of `A`, `B`" (or "unknown variant") in our words.
fn mend_unknown(message: &str) -> Option<String> {
    let kind =
        ["field", "variant"].into_iter().find(|kind| message.starts_with(&format!("unknown {kind} ")))?;
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    let known: Vec<&str> = names.collect();
    let what = if kind == "field" { "field" } else { "value" };
    Some(format!("there is no {what} {unknown:?} here{}", suggestion(unknown, &known)))
}

/// The end of a message about an unknown name: `: did you mean "workers"? There are threads, workers`.
pub fn suggestion(unknown: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return ": there are none".to_owned();
    }
    // Of short names, all are near: what is said must not be guesswork.
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&unknown.to_lowercase(), &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(unknown.len()).saturating_sub(1) / 3)
        .map_or(String::new(), |(_, name)| format!(" did you mean {name:?}?"));
    let be = if known.len() == 1 { "is" } else { "are" };
    format!(":{nearest} there {be} {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_file_and_line() {
        let source = SourceText { file: "x.toml", text: "a = 1\nb = 2\n" };
        assert_eq!(source.error(&(6..7), "no").to_string(), "x.toml:2: no");
        assert_eq!(source.error(&(900..901), "no").line, 3, "past the end is at the end");
    }

    #[test]
    fn an_unknown_name_comes_with_the_nearest_and_all_known() {
        assert_eq!(
            mend_unknown("unknown field `wieght`, expected one of `name`, `weight`").as_deref(),
            Some("there is no field \"wieght\" here: did you mean \"weight\"? there are name, weight")
        );
        assert_eq!(suggestion("port", &["threads"]), ": there is threads");
        assert_eq!(suggestion("port", &[]), ": there are none");
        assert_eq!(mend_unknown("missing field `title`"), None);
    }
}
