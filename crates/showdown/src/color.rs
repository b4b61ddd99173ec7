//! Color on the terminal: whether there is any, and which color means what.
//!
//! Every text for people carries its styles. `print` and [`for_stderr`] remove them where no color is wanted:
//! `--color never`, `NO_COLOR` (no-color.org), or output that is not a terminal. JSON never has styles.

use std::ffi::OsString;
use std::fmt;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use archive::printable::{one_line, printable};

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GREY: Style = Style::new().dimmed();

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

/// The escape sequences that the styles below consist of.
const SEQUENCES: [&str; 6] =
    ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];

/// The text with no escape sequence but this program's own. Any other came from a server, a log or somebody else's run:
/// it becomes visible.
pub fn without_foreign_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, sequence) = rest.split_at(at);
        let own = SEQUENCES.iter().find(|own| sequence.starts_with(**own));
        out.push_str(&printable(before));
        out.push_str(&own.map_or_else(|| printable("\u{1b}"), |own| (*own).into()));
        rest = &sequence[own.map_or(1, |own| own.len())..];
    }
    out + &printable(rest)
}

/// Removes the styles of a text that goes to standard error, unless it has color. Progress bars need this; other texts
/// pass through a stream that does it.
pub fn for_stderr(text: &str) -> String {
    let text = without_foreign_sequences(text);
    if stderr_has_color() { text } else { anstream::adapter::strip_str(&text).to_string() }
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

/// A value that does not count.
pub fn grey(text: impl fmt::Display) -> String {
    styled(GREY, text)
}

/// A style has no other within it.
fn styled(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{}{style:#}", one_line(&text.to_string()))
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

    #[test]
    fn only_own_escape_sequences_reach_the_terminal() {
        for text in [heading("x"), good("x"), caution("x"), bad("x"), grey("x")] {
            assert_eq!(without_foreign_sequences(&text), text);
        }
        let text = format!("a\u{1b}]0;t\u{7} {} \u{1b}[2J\u{9b}\n", bad("b\u{1b}[1m"));
        let shown = "a\\u{1b}]0;t\\u{7} \u{1b}[1m\u{1b}[31mb\\u{1b}[1m\u{1b}[0m \\u{1b}[2J\\u{9b}\n";
        assert_eq!(without_foreign_sequences(&text), shown);
    }
}
