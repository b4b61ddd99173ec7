//! A text of a host as this side shows it: one line, and no longer than a line.

use archive::printable::one_line;

/// Most characters of it.
const LONGEST: usize = 4_000;

/// The text in one line, with visible escapes; the end of a long one is left out.
pub(crate) fn host_text(text: &str) -> String {
    let mut shown: String = one_line(text.trim()).chars().take(LONGEST + 1).collect();
    if let Some((end, _)) = shown.char_indices().nth(LONGEST) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_of_a_limited_length() {
        assert_eq!(
            host_text(" 6.1\nAll hosts can be used.\u{1b}[2J"),
            "6.1\\nAll hosts can be used.\\u{1b}[2J"
        );
        assert_eq!(host_text(&"ä".repeat(1 << 20)).chars().count(), LONGEST + 1);
    }
}
