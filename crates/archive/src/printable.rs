//! Text of a server, a log or somebody else's run, made fit to be shown. A terminal obeys control characters: a name could
//! set its title, move the cursor over a verdict or type an answer. Characters that change the direction of writing show
//! a text in another order than it has. Both become visible escapes, such as `\u{1b}`.
//!
//! No well-kept crate does this: those for escape sequences remove them, which hides that they were there.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character shows as what it is. A line break and a tab do.
pub fn is_printable(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Marks, embeddings, overrides and isolates of bidirectional text (Unicode Standard Annex #9); separators of
        // lines and paragraphs, the byte order mark, and invisible tags.
        '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}

/// The text with visible escapes.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |c| !is_printable(c), |out, c| out.extend(c.escape_unicode()))
}

/// The text with visible escapes, also of line breaks and tabs: it cannot look like several lines.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let is_escaped = |c| matches!(c, '\n' | '\t') || !is_printable(c);
    escape(text, is_escaped, |out, c| match c {
        '\n' | '\t' => out.extend(c.escape_default()),
        c => out.extend(c.escape_unicode()),
    })
}

/// The same JSON value without such characters. JSON has them in strings only, where an escape means the same.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    escape(
        json,
        |c| !is_printable(c),
        |out, c| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        },
    )
}

fn escape(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    mut write: impl FnMut(&mut String, char),
) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            write(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_becomes_visible() {
        for (text, shown) in [
            ("\u{1b}]0;owned\u{7}", "\\u{1b}]0;owned\\u{7}"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("\u{9b}2J\u{7f}\r", "\\u{9b}2J\\u{7f}\\u{d}"),
            ("\u{202e}xniga\u{2069}", "\\u{202e}xniga\\u{2069}"),
        ] {
            assert_eq!((printable(text), one_line(text)), (shown.into(), shown.into()));
        }
        let plain = "größe – 中\n\tµs 👩‍🔬";
        assert!(matches!(printable(plain), Cow::Borrowed(text) if text == plain));
        assert_eq!(one_line("a\n\tb"), "a\\n\\tb");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "\u{202e}": ["\u{9b}\u{7f}\u{e0041}", "\u{1b}\n", "é"] });
        let text = value.to_string();
        let escaped = printable_json(&text);
        assert!(escaped.chars().all(is_printable) && escaped != text, "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
