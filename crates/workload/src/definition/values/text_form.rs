//! What a text may be that a variant gives to a knob. The text ends up in a command line, an environment variable or a
//! configuration file, and it may come from somebody else's plan. So no form has a character that any of these evaluates:
//! no quote, `$`, backquote, semicolon, bracket, blank or control character.

use std::path::Path;

use regex_lite::Regex;
use serde::Deserialize;

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextForm {
    /// One word.
    Word,
    /// The absolute path of a directory that exists.
    Directory,
    /// The absolute path of a file that exists.
    File,
    /// The name of a program, or the absolute path of one that only root and the invoking user can change.
    Program,
    /// The name of a shared library, or the absolute path of one that only root and the invoking user can change.
    Library,
}

/// What a text may be. A pattern is for the whole text, or for the last component of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRule {
    /// Its form. None where only the pattern decides.
    pub form: Option<TextForm>,
    /// A regular expression.
    pub pattern: Option<String>,
}

/// A pattern that is not a regular expression. A message about it begins with the word "pattern".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a regular expression: {message}")]
pub struct PatternError {
    pattern: String,
    message: String,
}

impl TextRule {
    /// The rule of a knob with this form and this pattern, as they are written in the file.
    pub fn new(form: Option<TextForm>, pattern: Option<String>) -> Result<Self, PatternError> {
        if let Some(pattern) = &pattern {
            compile(pattern)
                .map_err(|error| PatternError { pattern: pattern.clone(), message: error.to_string() })?;
        }
        let form = form.or_else(|| pattern.is_none().then_some(TextForm::Word));
        Ok(Self { form, pattern })
    }

    /// Whether the text has the form.
    pub fn accepts(&self, text: &str) -> bool {
        let last = text.rsplit('/').next().unwrap_or(text);
        let matched = match (&self.pattern, self.form) {
            (Some(pattern), None) => matches(pattern, text),
            (Some(pattern), Some(_)) => matches(pattern, last),
            (None, _) => true,
        };
        matched && !text.contains(char::is_control) && self.form.is_none_or(|form| form.accepts(text))
    }

    /// Checks on this machine: a path must exist, and a program must be under the control of root or the user alone.
    /// The error is what the text is not, as in "… is not the path of a directory that exists".
    pub fn check_here(&self, text: &str) -> Result<(), String> {
        let path = Path::new(text);
        match self.form {
            Some(TextForm::Directory) if !path.is_dir() => Err("a directory that exists".to_owned()),
            Some(TextForm::File) if !path.is_file() => Err("a file that exists".to_owned()),
            Some(TextForm::Program | TextForm::Library) if path.is_absolute() => {
                if !path.is_file() {
                    return Err("a file that exists".to_owned());
                }
                let check = host::ownership::check(path);
                check.map_err(|why| format!("under the control of root or you alone: {why}"))
            }
            _ => Ok(()),
        }
    }

    /// The accepted texts in words.
    pub fn accepted(&self) -> String {
        let form = match self.form {
            Some(TextForm::Word) => "a word of letters, digits and . _ + - : @",
            Some(TextForm::Directory) => {
                "the absolute path of a directory, in letters, digits and / . _ + - : @"
            }
            Some(TextForm::File) => "the absolute path of a file, in letters, digits and / . _ + - : @",
            Some(TextForm::Program) => {
                "the name or absolute path of a program, in letters, digits and / . _ + - : @"
            }
            Some(TextForm::Library) => {
                "the name or absolute path of a shared library, in letters, digits and / . _ + - : @"
            }
            None => "a text",
        };
        match &self.pattern {
            Some(pattern) => format!("{form} that matches {pattern}"),
            None => form.to_owned(),
        }
    }
}

impl TextForm {
    fn accepts(self, text: &str) -> bool {
        // An option of a command begins with a dash.
        let is_word = |text: &str| {
            text.starts_with(|c: char| c.is_alphanumeric() || c == '_') && text.chars().all(is_plain)
        };
        let is_path = |text: &str| text.starts_with('/') && text.chars().all(|c| is_plain(c) || c == '/');
        match self {
            Self::Word => is_word(text),
            Self::Directory | Self::File => is_path(text),
            Self::Program | Self::Library => is_word(text) || is_path(text),
        }
    }
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || ".-_+:@".contains(c)
}

fn matches(pattern: &str, text: &str) -> bool {
    compile(pattern).is_ok_and(|regex| regex.is_match(text))
}

/// The pattern for a whole text.
fn compile(pattern: &str) -> Result<Regex, regex_lite::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that a shell, make, a configuration file or a command line would evaluate or split.
    const EVALUATED: &[&str] = &[
        "",
        "-x",
        "--file=/etc/shadow",
        "a b",
        "a\nb",
        "a;b",
        "$HOME",
        "$(shell id)",
        "`id`",
        "a\"b",
        "a'b",
        "a\\b",
        "a{b",
        "a}b",
        "a#b",
        "a|b",
        "a&b",
        "a>b",
        "a*b",
        "a?b",
        "a%b",
        "a\u{1b}[0m",
        "a\u{202e}b",
        "a\0b",
        "~/x",
        "a,b",
    ];

    #[test]
    fn no_form_accepts_what_could_be_evaluated() {
        use TextForm::{Directory, File, Library, Program, Word};
        for form in [Word, Directory, File, Program, Library] {
            let rule = TextRule::new(Some(form), None).expect("no pattern");
            for text in EVALUATED {
                assert!(!rule.accepts(text), "{form:?}: {text:?}");
                assert!(
                    !rule.accepts(&format!("/x/{text}"))
                        || ["", "-x"].contains(text)
                        || text.starts_with("--f"),
                    "{form:?}: /x/{text:?}"
                );
            }
        }
    }

    #[test]
    fn words_and_paths_are_accepted() {
        let accepts = |form, text| TextRule::new(Some(form), None).expect("no pattern").accepts(text);
        for text in ["g++", "clang++-19", "a.b_c", "sha256", "é"] {
            assert!(accepts(TextForm::Word, text) && accepts(TextForm::Program, text), "{text}");
            assert!(!accepts(TextForm::Directory, text), "{text}: it is not absolute");
        }
        for text in ["/", "/mnt/nvme0", "/home/a.b/x-1", "/opt/größe"] {
            assert!(accepts(TextForm::Directory, text) && accepts(TextForm::Library, text), "{text}");
            assert!(!accepts(TextForm::Word, text), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_for_the_whole_text_or_for_the_name_of_a_file() {
        let rule = |form, pattern: &str| TextRule::new(form, Some(pattern.to_owned())).expect("a pattern");
        let list = rule(None, "[a-z]+(,[a-z]+)*");
        assert!(list.accepts("a,bc") && !list.accepts("a,bc;") && !list.accepts("a,b\nc"));
        assert!(!rule(None, "(?s).*").accepts("a\nb"), "a control character is refused in any case");
        let compiler = rule(Some(TextForm::Program), r"(g|clang)\+\+(-[0-9]+)?");
        assert!(compiler.accepts("g++-14") && compiler.accepts("/usr/bin/clang++"));
        assert!(
            !compiler.accepts("rm") && !compiler.accepts("/usr/bin/rm") && !compiler.accepts("/bin/g++/rm")
        );
        assert_eq!(TextRule::new(None, None).map(|rule| rule.form), Ok(Some(TextForm::Word)));
        let error = TextRule::new(None, Some("(".to_owned())).expect_err("half a group").to_string();
        assert!(error.starts_with("\"(\" is not a regular expression: "), "{error}");
    }
}
