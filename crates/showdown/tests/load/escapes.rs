//! A server's text reaches the terminal without a character that the terminal obeys.

use crate::client::{CommandResult, load};
use crate::misbehaving::replies;

/// Sets the title of a terminal, clears it, and turns the direction of writing.
const HOSTILE: &str = "SERVER_ERROR \u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}busy\r\n";

/// Loads a server that answers with that text.
fn attack(options: &[&str]) -> CommandResult {
    let url = format!("memcache://{}", replies(HOSTILE));
    load(&[&[&url, "-c", "1", "-n", "2", "-d", "20s", "--timeout", "5s"], options].concat())
}

fn assert_visible(text: &str) {
    assert!(text.contains("owned"), "{text:?}");
    for obeyed in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\u{9b}", "\u{202e}", "\r"] {
        assert!(!text.contains(obeyed), "{obeyed:?} in {text:?}");
    }
}

#[test]
fn an_error_text_of_a_server_is_shown_with_visible_escapes() {
    let shown = attack(&["--color", "always", "--progress", "bar"]);
    assert_visible(&(shown.stdout.clone() + &shown.stderr));
    assert!(shown.stdout.contains("\\u{1b}]0;owned\\u{7}"), "{}", shown.stdout);
}

#[test]
fn an_error_text_in_json_has_its_value_and_no_raw_character() {
    let shown = attack(&["--format", "json"]);
    assert_visible(&shown.stdout);
    assert!(shown.measured()["error_examples"].to_string().contains('\u{202e}'), "{}", shown.stdout);
}

#[test]
fn an_error_text_in_an_error_line_is_on_that_line() {
    let shown = attack(&["--populate", "--keys", "10", "--value-size", "10", "--color", "always"]);
    assert_eq!(shown.code(), 1, "{shown:?}");
    assert_visible(&shown.stderr);
    assert_eq!(shown.stderr.lines().count(), 1, "{shown:?}");
}
