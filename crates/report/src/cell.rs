//! A cell of a CSV report. What the columns are is left to each table.

/// A number, or nothing.
pub(crate) fn number(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A cell of text. A spreadsheet takes a cell that begins with one of these characters for a formula, which can run a
/// program; a quote before it makes it text (OWASP, "CSV Injection"). Numbers keep their sign.
pub(crate) fn word(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    if is_formula && !is_number { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_spreadsheet_would_run_is_quoted() {
        for text in [
            "=1+2",
            "=cmd|' /C calc'!A0",
            "+1+cmd",
            "-2+3",
            "-sendfile",
            "@SUM(1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "＝1",
            "-inf",
        ] {
            assert_eq!(word(text), format!("'{text}"), "{text:?}");
        }
        for text in ["", "nginx", "p99 < 5 ms", "-1", "+2.5", "-1e3", "1-2", "'=1", "a=b"] {
            assert_eq!(word(text), text);
        }
    }
}
