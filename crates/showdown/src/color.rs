//! Color on the terminal: whether there is any, and which color means what.
//!
//! Every text for people carries its styles. `print` and [`for_stderr`] remove them where no color is wanted:
//! `--color never`, `NO_COLOR` (no-color.org), or output that is not a terminal. JSON never has styles.

use std::ffi::OsString;
use std::fmt;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The value of `--color`. It is read before the command line is parsed, because help and parse errors follow it.
/// A value that clap refuses counts as `auto`.
pub fn requested(arguments: impl IntoIterator<Item = OsString>) -> ColorChoice {
    let mut is_value = false;
    let mut choice = ColorChoice::Auto;
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let value = if is_value { Some(&*argument) } else { argument.strip_prefix("--color=") };
        match value {
            Some("always") => choice = ColorChoice::AlwaysAnsi,
            Some("never") => choice = ColorChoice::Never,
            Some("auto") => choice = ColorChoice::Auto,
            _ if argument == "--" => break,
            _ => {}
        }
        is_value = argument == "--color";
    }
    choice
}

/// Applies a choice to everything that this program prints: texts, clap's help and errors, progress bars.
pub fn apply(choice: ColorChoice) {
    choice.write_global();
    console::set_colors_enabled_stderr(stderr_has_color());
}

fn stderr_has_color() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Removes the styles of a text that goes to standard error, unless it has color. Progress bars need this; other texts
/// pass through a stream that does it.
pub fn for_stderr(text: &str) -> String {
    if stderr_has_color() { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() }
}

/// The head of a table, or the answer in a sentence.
pub fn heading(text: impl fmt::Display) -> String {
    styled(HEADING, text)
}

/// A check that passed.
pub fn good(text: impl fmt::Display) -> String {
    styled(GOOD, text)
}

/// A note or a limit.
pub fn caution(text: impl fmt::Display) -> String {
    styled(CAUTION, text)
}

/// An invalid measurement or an error.
pub fn bad(text: impl fmt::Display) -> String {
    styled(BAD, text)
}

fn styled(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_read_in_both_forms() {
        let of = |line: &str| requested(line.split(' ').map(OsString::from));
        assert_eq!(of("showdown list"), ColorChoice::Auto);
        assert_eq!(of("showdown list --color never"), ColorChoice::Never);
        assert_eq!(of("showdown --color=always list"), ColorChoice::AlwaysAnsi);
        assert_eq!(of("showdown list --color sometimes"), ColorChoice::Auto);
        assert_eq!(of("showdown list -- --color=always"), ColorChoice::Auto);
    }

    #[test]
    fn a_styled_text_is_the_text_between_two_escapes() {
        let text = bad("INVALID");
        assert!(text.starts_with('\u{1b}') && text.ends_with("\u{1b}[0m"), "{text:?}");
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "INVALID");
    }
}
