//! The page: the file that `web/` builds with a run's data in it.

use crate::{ReportError, page::Page};
use serde_json::Value;

/// Built by `web/` and committed, so that cargo alone builds showdown; `web/check-built` compares.
const PAGE: &str = include_str!("../assets/report.html");
/// What stands in the page for the data, as JSON in a script element that no browser runs.
const PLACE: &str = "/*SHOWDOWN_DATA*/null";

/// Digits that a float keeps on the page.
const DIGITS: i32 = 6;

pub(crate) fn render(page: &Page<'_>) -> Result<String, ReportError> {
    let (before, after) = PAGE.split_once(PLACE).ok_or(ReportError::Page)?;
    let mut data = serde_json::to_value(page)?;
    round(&mut data);
    let data = inert(&serde_json::to_string(&data)?);
    Ok([before, &data, after].concat())
}

/// JSON that no parser of HTML takes for anything but text: `</script>` and `<!--` need a `<`. Escapes are the
/// same value to a parser of JSON, and `<` stands in JSON only within strings.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Rounds floats, which are the greater part of the data's bytes.
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
    // Beyond these a power of ten is no longer exact, and nothing is saved.
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
    fn no_text_can_leave_the_script_element() {
        let hostile = serde_json::json!({ "a": "</script><img src=x onerror=alert(1)>", "b": "<!--" });
        let inert = inert(&hostile.to_string());
        assert!(!inert.contains(['<', '>', '&']), "{inert}");
        assert_eq!(serde_json::from_str::<Value>(&inert).unwrap(), hostile);
    }

    #[test]
    fn floats_keep_six_digits_and_whole_numbers_all() {
        let mut value =
            serde_json::json!([131_043.486_958, 0.001_234_567_89, 1_795_222_299_000_u64, 1e300, 0.0]);
        round(&mut value);
        let expected = serde_json::json!([131_043.0, 0.001_234_57, 1_795_222_299_000_u64, 1e300, 0.0]);
        assert_eq!(value, expected);
    }

    #[test]
    fn the_built_page_has_exactly_one_place_for_the_data() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }
}
