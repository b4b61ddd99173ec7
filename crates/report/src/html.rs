//! The HTML report: the page that `web/` builds, with the data of a run in it.

use crate::{ReportError, page::Page};
use archive::printable::printable;
use serde_json::Value;
use std::borrow::Cow;

/// Built in `web/` and committed, so that cargo alone builds showdown. `npm run check-built` compares it with its sources.
const PAGE: &str = include_str!("../assets/report.html");
/// The placeholder for the data: JSON in a script element that browsers do not run.
const PLACEHOLDER: &str = "/*SHOWDOWN_DATA*/null";

/// Significant digits of a float on the page.
const DIGITS: i32 = 6;

pub(crate) fn render(page: &Page<'_>) -> Result<String, ReportError> {
    let (before, after) = PAGE.split_once(PLACEHOLDER).ok_or(ReportError::Page)?;
    let mut data = serde_json::to_value(page)?;
    round(&mut data);
    make_printable(&mut data);
    let data = escape_for_html(&serde_json::to_string(&data)?);
    Ok([before, &data, after].concat())
}

/// Escapes JSON for a script element: `</script>` and `<!--` need a `<`. In JSON, `<` occurs only in strings, where the
/// escape has the same value.
fn escape_for_html(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Makes characters visible that would show a text in another order than it has.
fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = printable(text) {
                *text = shown;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_printable),
        Value::Object(fields) => {
            let escaped = |key: &String| matches!(printable(key), Cow::Owned(_));
            if fields.keys().any(escaped) {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(key, value)| (printable(&key).into_owned(), value))
                    .collect();
            }
            fields.values_mut().for_each(make_printable);
        }
        _ => {}
    }
}

/// Rounds floats, which are most of the data.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(rounded) = number.as_f64().map(significant).and_then(serde_json::Number::from_f64) {
                *number = rounded;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = DIGITS - 1 - value.abs().log10().floor() as i32;
    // Outside this range a power of ten is not exact, and rounding saves nothing.
    if !(0..=15).contains(&places) {
        return if places < 0 { value.round() } else { value };
    }
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_the_script_element() {
        let hostile = serde_json::json!({ "a": "</script><img src=x onerror=alert(1)>", "b": "<!--" });
        let escaped = escape_for_html(&hostile.to_string());
        assert!(!escaped.contains(['<', '>', '&']), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), hostile);
    }

    #[test]
    fn a_text_cannot_be_shown_in_another_order_than_it_has() {
        let mut value = serde_json::json!({ "\u{202e}a": [{ "b": "x\u{1b}]0;y\u{7}\n" }] });
        make_printable(&mut value);
        assert_eq!(value, serde_json::json!({ "\\u{202e}a": [{ "b": "x\\u{1b}]0;y\\u{7}\n" }] }));
    }

    #[test]
    fn floats_keep_six_digits_and_integers_keep_all() {
        let mut value =
            serde_json::json!([131_043.486_958, 0.001_234_567_89, 1_795_222_299_000_u64, 1e300, 0.0]);
        round(&mut value);
        let expected = serde_json::json!([131_043.0, 0.001_234_57, 1_795_222_299_000_u64, 1e300, 0.0]);
        assert_eq!(value, expected);
    }

    #[test]
    fn the_built_page_has_exactly_one_placeholder() {
        assert_eq!(PAGE.matches(PLACEHOLDER).count(), 1);
    }
}
