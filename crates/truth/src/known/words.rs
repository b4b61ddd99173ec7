//! The small words that behaviours are written with: times, shares and pairs of them, each one word of a
//! command line.

use std::time::Duration;

use load::inputs::units::parse_duration_or_zero;

/// A text that says no behaviour, and what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct WordError {
    text: String,
    expected: &'static str,
}

impl WordError {
    pub(super) fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }
}

/// A time, zero allowed.
pub(super) fn parse_time(text: &str) -> Option<Duration> {
    parse_duration_or_zero(text).ok()
}

/// As [`parse_time`] reads it.
pub(super) fn time(span: Duration) -> String {
    humantime::format_duration(span).to_string().replace(' ', "")
}

/// Two times with a stroke between them, neither of them zero.
pub(super) fn parse_pair(text: &str) -> Option<(Duration, Duration)> {
    let (first, second) = text.split_once('/')?;
    let pair = (parse_time(first)?, parse_time(second)?);
    (!pair.0.is_zero() && !pair.1.is_zero()).then_some(pair)
}

/// A share such as `5%`, as 0 to 1.
pub(super) fn parse_share(text: &str) -> Option<f64> {
    let share: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&share).then_some(share / 100.0)
}

/// As [`parse_share`] reads it.
pub(super) fn share(share: f64) -> String {
    // Seven hundredths are 7.000000000000001 % in binary.
    format!("{}%", (share * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for span in [Duration::ZERO, Duration::from_micros(1_500), Duration::from_secs(90)] {
            assert_eq!(parse_time(&time(span)), Some(span));
        }
        assert_eq!(parse_share(&share(0.05)), Some(0.05));
        assert_eq!(parse_pair("1s/10s"), Some((Duration::from_secs(1), Duration::from_secs(10))));
    }

    #[test]
    fn nonsense_is_no_word() {
        assert_eq!([parse_share("5"), parse_share("101%"), parse_share("NaN%")], [None; 3]);
        assert_eq!(parse_share("7%").map(share).as_deref(), Some("7%"));
        assert_eq!([parse_pair("1s"), parse_pair("0s/1s"), parse_pair("1s/")], [None; 3]);
    }
}
