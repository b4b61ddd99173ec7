//! Values of the options of a known server: times, shares, and pairs of times, each one word on a command line.

use std::time::Duration;

use load::inputs::units::parse_duration_or_zero;

/// A malformed option value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct OptionValueError {
    text: String,
    expected: &'static str,
}

impl OptionValueError {
    pub(super) fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }
}

/// Parses a time; zero is allowed.
pub(super) fn parse_time(text: &str) -> Option<Duration> {
    parse_duration_or_zero(text).ok()
}

/// Writes a time as [`parse_time`] reads it.
pub(super) fn time(span: Duration) -> String {
    humantime::format_duration(span).to_string().replace(' ', "")
}

/// Parses two times with a slash between them; neither may be zero.
pub(super) fn parse_pair(text: &str) -> Option<(Duration, Duration)> {
    let (first, second) = text.split_once('/')?;
    let pair = (parse_time(first)?, parse_time(second)?);
    (!pair.0.is_zero() && !pair.1.is_zero()).then_some(pair)
}

/// Parses a share such as `5%` to 0 to 1.
pub(super) fn parse_share(text: &str) -> Option<f64> {
    let share: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&share).then_some(share / 100.0)
}

/// Writes a share as [`parse_share`] reads it.
pub(super) fn share(share: f64) -> String {
    // 0.07 is 7.000000000000001 % in binary.
    format!("{}%", (share * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_unchanged() {
        for span in [Duration::ZERO, Duration::from_micros(1_500), Duration::from_secs(90)] {
            assert_eq!(parse_time(&time(span)), Some(span));
        }
        assert_eq!(parse_share(&share(0.05)), Some(0.05));
        assert_eq!(parse_pair("1s/10s"), Some((Duration::from_secs(1), Duration::from_secs(10))));
    }

    #[test]
    fn malformed_values_are_refused() {
        assert_eq!([parse_share("5"), parse_share("101%"), parse_share("NaN%")], [None; 3]);
        assert_eq!(parse_share("7%").map(share).as_deref(), Some("7%"));
        assert_eq!([parse_pair("1s"), parse_pair("0s/1s"), parse_pair("1s/")], [None; 3]);
    }
}
