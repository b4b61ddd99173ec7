//! Text of a run in Markdown: always text, never markup.

use archive::printable::{is_printable, printable};

/// Escapes text for Markdown, on one line. A run may come from an untrusted source, so its text must not become a link,
/// a mention or markup. Any punctuation may be escaped (`CommonMark` 0.31, 2.4).
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // An escape does not prevent a mention on a code-hosting site; an empty comment does.
            '@' => out.push_str("@<!---->"),
            c if c.is_control() => out.push(' '),
            c if !is_printable(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Code on one line, in as many backticks as it needs (`CommonMark` 0.31, 6.1).
pub(crate) fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = printable(&text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Code in the cell of a table. A table is split at `|` before its code is read (GitHub Flavored Markdown 0.29, 4.10).
pub(crate) fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_run_is_never_markup() {
        assert_eq!(plain("p99<5ms | x\n# y"), "p99\\<5ms \\| x \\# y");
        assert_eq!(plain("[a](b) @team <img>"), "\\[a\\](b) @<!---->team \\<img\\>");
        assert_eq!(code("a `b` ``c"), "``` a `b` ``c ```");
        assert_eq!(code("showdown run x"), "`showdown run x`");
        assert_eq!(code_in_cell("a | [b](c)"), "`a \\| [b](c)`");
    }
}
