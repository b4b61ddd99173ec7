//! The text format in which servers give metrics to Prometheus (version 0.0.4) and `OpenMetrics` (1.0):
//!
//! ```text
//! # HELP http_requests_total The total number of HTTP requests.
//! http_requests_total{method="post",code="200"} 1027 1395066363000
//! ```

/// A line that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the metrics is not one of Prometheus' text format: {text:?}")]
pub struct MalformedMetrics {
    /// Counted from 1.
    pub line: usize,
    /// Its beginning.
    pub text: String,
}

/// A series: its name and its labels.
#[derive(Debug, PartialEq, Eq)]
struct Series<'t> {
    name: &'t str,
    labels: Vec<(&'t str, String)>,
}

/// Whether a text is in this format: it says so in a comment, or has nothing but its lines. `requests: 42` is another form,
/// although a name may end with a colon.
pub fn is_exposition(text: &str) -> bool {
    let has_comment = text.lines().any(|line| line.starts_with("# TYPE ") || line.starts_with("# HELP "));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    has_comment
        || (lines.peek().is_some()
            && lines.all(|line| {
                line.starts_with('#') || sample(line).is_some_and(|(series, _)| !series.name.ends_with(':'))
            }))
}

/// The sum of all series of this name; with labels, as in `requests_total{code="200"}`, of those that have them. None if there
/// is none.
pub fn sum(text: &str, wanted: &str) -> Result<Option<f64>, MalformedMetrics> {
    let Some((wanted, "")) = series(wanted.trim()) else { return Ok(None) };
    let mut sum = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let malformed = || MalformedMetrics { line: at + 1, text: line.chars().take(100).collect() };
        let (found, value) = sample(line).ok_or_else(malformed)?;
        let fits =
            found.name == wanted.name && wanted.labels.iter().all(|label| found.labels.contains(label));
        if fits && value.is_finite() {
            *sum.get_or_insert(0.0) += value;
        }
    }
    Ok(sum)
}

/// A line with a series and its value; a time and an exemplar may follow.
fn sample(line: &str) -> Option<(Series<'_>, f64)> {
    let (series, rest) = series(line)?;
    let rest = rest.strip_prefix([' ', '\t'])?;
    let values = rest.split_once(" # ").map_or(rest, |(values, _)| values);
    let mut words = values.split_whitespace();
    let value = number(words.next()?)?;
    let time_fits = words.next().is_none_or(|time| time.parse::<f64>().is_ok());
    (time_fits && words.next().is_none()).then_some((series, value))
}

/// A number as Go reads it: `1027`, `1.5e-05`, `+Inf`, `NaN`.
fn number(word: &str) -> Option<f64> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let is_word = matches!(
        word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str(),
        "inf" | "infinity" | "nan"
    );
    word.parse().ok().filter(|_| is_number || is_word)
}

/// The series at the front of a text, and what follows it. In Prometheus 3 a quoted name may be among the labels.
fn series(text: &str) -> Option<(Series<'_>, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (mut name, rest) = text.split_at(end);
    let mut labels = Vec::new();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let before_labels = rest.trim_start_matches([' ', '\t']);
    let Some(mut rest) = before_labels.strip_prefix('{') else {
        return (!name.is_empty()).then_some((Series { name, labels }, rest));
    };
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return (!name.is_empty()).then_some((Series { name, labels }, after));
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let (_, length) = unquote(quoted)?;
            let after = quoted[length..].trim_start();
            if name.is_empty() && !after.starts_with('=') {
                name = &quoted[..length - 1];
                rest = after.strip_prefix(',').unwrap_or(after);
                continue;
            }
            let (value, after) = label_value(after)?;
            labels.push((&quoted[..length - 1], value));
            rest = after;
            continue;
        }
        let end = rest.find(|c| !is_name(c)).filter(|end| *end > 0)?;
        let (value, after) = label_value(rest[end..].trim_start())?;
        labels.push((&rest[..end], value));
        rest = after;
    }
}

/// A label's value after its name, and what follows its comma.
fn label_value(text: &str) -> Option<(String, &str)> {
    let quoted = text.strip_prefix('=')?.trim_start().strip_prefix('"')?;
    let (value, length) = unquote(quoted)?;
    let after = quoted[length..].trim_start();
    match after.strip_prefix(',') {
        Some(after) => Some((value, after)),
        None => after.starts_with('}').then_some((value, after)),
    }
}

/// A quoted text after its first quote, and its length with the last one. A backslash stands before a backslash, a quote and
/// the `n` of a line feed.
fn unquote(quoted: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, at + 1)),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = r#"# HELP http_requests_total 5 kinds of requests {all}
# TYPE http_requests_total counter
http_requests_total{uri="/items/{id}",code="200"} 40
http_requests_total{uri="a \"}\" \\ b", code="404",} 2.0 1395066363000
http_requests_total_other 9

gc_seconds_sum 9.1e-05
level {a="b"} +Inf
latency_bucket{le="0.1"} 8 # {trace_id="x } y"} 0.07 1520879607.789
{"my.metric", code="200"} 3
# EOF
"#;

    #[test]
    fn the_sum_of_a_name_is_read_whatever_its_labels_contain() {
        assert!(is_exposition(PAGE));
        for (name, expected) in [
            ("http_requests_total", Some(42.0)),
            (r#"http_requests_total{code="404"}"#, Some(2.0)),
            (r#"http_requests_total{uri="/items/{id}"}"#, Some(40.0)),
            ("http_requests", None),
            ("gc_seconds_sum", Some(9.1e-5)),
            ("level", None),
            ("latency_bucket", Some(8.0)),
            (r#"{"my.metric"}"#, Some(3.0)),
            ("kinds", None),
        ] {
            assert_eq!(sum(PAGE, name), Ok(expected), "{name}");
        }
    }

    #[test]
    fn a_line_that_does_not_parse_is_an_error_and_not_a_series_that_is_missing() {
        for line in ["a{b=\"c\" 1", "a{b=c} 1", "a", "a 1 2 3", "a x", "1a 2", "a{b=\"c} 1", "a{b=\"c\"}1"] {
            let text = format!("# TYPE a counter\n{line}\n");
            let error = sum(&text, "a").expect_err(line);
            assert_eq!(error.line, 2, "{line}");
        }
    }

    #[test]
    fn other_statistics_are_not_in_this_format() {
        for text in
            ["", "Total Accesses: 42\n", "STAT cmd_get 42\r\nEND\r\n", "{\"requests\": 42}", "requests: 42"]
        {
            assert!(!is_exposition(text), "{text}");
        }
        assert!(is_exposition("requests_total 42\nup 1\n"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-c]|[{}\"\\\\=, 0-9.#\n]|é)*", name in "[a-c{}\"=]*") {
            let _ = is_exposition(&text);
            let _ = sum(&text, &name);
        }

        #[test]
        fn any_label_value_is_read_back(value in any::<String>(), count in 0_u32..1_000_000) {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            prop_assume!(value.lines().count() <= 1 && !value.contains('\r'));
            let text = format!("# TYPE a counter\na{{b=\"{quoted}\"}} {count}\n");
            prop_assert_eq!(sum(&text, "a"), Ok(Some(f64::from(count))));
            let wanted = format!("a{{b=\"{quoted}\"}}");
            prop_assert_eq!(sum(&text, &wanted), Ok(Some(f64::from(count))));
        }
    }
}
