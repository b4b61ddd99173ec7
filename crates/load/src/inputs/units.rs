//! Amounts with units: `10k` requests, `20k` bytes, `10s`.
//!
//! `k`, `m` and `g` are powers of 1,000 for counts and rates. They are powers of 1,024 for bytes, as in the names of test
//! files (`/1k` is 1 KiB). `16Mi` is 16 × 1,024² of anything (IEC 80000-13).

use std::time::Duration;

use super::limits::{HIGHEST_RATE_PER_S, LONGEST, MOST_CONNECTIONS, MOST_THREADS};

/// Why an amount was refused: the text, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct UnitError {
    text: String,
    expected: String,
}

impl UnitError {
    pub(crate) fn new(text: &str, expected: impl Into<String>) -> Self {
        Self { text: text.to_owned(), expected: expected.into() }
    }
}

/// Digits, an optional fraction and an optional suffix. `step` is the factor of k, m and g; that of ki, mi and gi is 1,024.
fn scaled(text: &str, step: f64) -> Option<f64> {
    let text = text.trim();
    let (text, step) = match text.strip_suffix('i') {
        Some(prefix) if prefix.ends_with(|c: char| c.is_ascii_alphabetic()) => (prefix, 1024.0),
        _ => (text, step),
    };
    let (number, power) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1),
        (at, 'm' | 'M') => (&text[..at], 2),
        (at, 'g' | 'G') => (&text[..at], 3),
        _ => (text, 0),
    };
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    Some(value * step.powi(power))
}

/// A number that is whole; those up to 2^53 are exact.
#[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
fn whole(number: f64) -> Option<u64> {
    let is_exact = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    is_exact.then_some(number as u64)
}

/// A count of at least one: `64`, `100k`, `1.5M`, `16Mi`.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let expected = "a whole number from 1 up, such as 64, 100k, 1.5M or 16Mi";
    scaled(text, 1e3)
        .filter(|n| (1.0..=1e15).contains(n))
        .and_then(whole)
        .ok_or_else(|| UnitError::new(text, expected))
}

/// A number of connections.
pub fn parse_connections(text: &str) -> Result<u32, UnitError> {
    count_up_to(text, MOST_CONNECTIONS, "a number of connections from 1 to 1,000,000, such as 64 or 10k")
}

/// A number of worker threads.
pub fn parse_threads(text: &str) -> Result<u32, UnitError> {
    count_up_to(text, MOST_THREADS, "a number of threads from 1 to 1,024")
}

fn count_up_to(text: &str, most: u32, expected: &str) -> Result<u32, UnitError> {
    let count = parse_count(text).ok().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= most);
    count.ok_or_else(|| UnitError::new(text, expected))
}

/// Events a second above 0 and up to 10 M, more than any client can offer: `500`, `50k`, `0.5`, `500/s`, `120k req/s`.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let expected = "a rate above 0 and up to 10M a second, such as 500, 50k or 0.5";
    parse_rate_or_zero(text).ok().filter(|&r| r > 0.0).ok_or_else(|| UnitError::new(text, expected))
}

/// Like [`parse_rate`], with 0 for the ends of a ramp.
pub(crate) fn parse_rate_or_zero(text: &str) -> Result<f64, UnitError> {
    scaled(without_unit_of_rate(text), 1e3)
        .filter(|r| (0.0..=HIGHEST_RATE_PER_S).contains(r))
        .ok_or_else(|| UnitError::new(text, "a rate from 0 to 10M a second, such as 500, 50k or 0.5"))
}

/// The number of `500/s`, `120k req/s`, `120k ops/s` or `500rps`.
pub(super) fn without_unit_of_rate(text: &str) -> &str {
    if let Some(number) = text.trim().strip_suffix("rps") {
        return number.trim_end();
    }
    let Some(events) = text.trim().strip_suffix("/s") else { return text };
    let number = events.strip_suffix("req").or_else(|| events.strip_suffix("ops"));
    number.unwrap_or(events).trim_end()
}

/// A size in bytes up to 1 GiB: `100`, `4k` (4,096), `1m`.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    scaled(text, 1024.0)
        .filter(|n| (0.0..=1024f64.powi(3)).contains(n))
        .and_then(whole)
        .ok_or_else(|| UnitError::new(text, "a size in bytes up to 1 GiB, such as 100, 4k or 1m"))
}

/// A percentage above 0 and up to 100 as a share: `2%`.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let percent = text.trim();
    share_of(percent.strip_suffix('%').unwrap_or(percent))
        .ok_or_else(|| UnitError::new(text, "a percentage above 0 and up to 100, such as 2%"))
}

/// The number of a percentage as a share.
pub(crate) fn share_of(percent: &str) -> Option<f64> {
    let percent: f64 = percent.trim().parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

/// A span of time above zero: `10s`, `500us`, `1m 30s`. A number alone is seconds, as with other load generators.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    notation::parse_time(text).filter(|length| !length.is_zero() && *length <= LONGEST).ok_or_else(|| {
        UnitError::new(text, "a time above 0 and up to 7 days: 10s, 500us, 2m, or seconds: 10")
    })
}

/// A span of time that may be zero: a warm-up, a think time.
pub fn parse_duration_or_zero(text: &str) -> Result<Duration, UnitError> {
    match notation::parse_time(text) {
        Some(length) if length.is_zero() => Ok(length),
        _ => parse_duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1000_for_counts_and_of_1024_for_bytes() {
        assert_eq!(parse_count("100k"), Ok(100_000));
        assert_eq!(parse_count("1.5M"), Ok(1_500_000));
        assert_eq!(parse_count("16Mi"), Ok(16 << 20));
        assert_eq!((parse_size("4k"), parse_size("4ki")), (Ok(4_096), Ok(4_096)));
        assert_eq!(parse_rate("50k"), Ok(50_000.0));
        assert_eq!(["500/s", "0.5k req/s", " 500ops/s "].map(parse_rate), [const { Ok(500.0) }; 3]);
        assert_eq!((parse_connections("1M"), parse_threads("1024")), (Ok(1_000_000), Ok(1_024)));
        for most in [parse_connections("1000001"), parse_threads("1025"), parse_connections("0")] {
            assert!(most.is_err(), "{most:?}");
        }
        assert_eq!(
            (parse_share("2%"), parse_share("12.5 %"), parse_share("100")),
            (Ok(0.02), Ok(0.125), Ok(1.0))
        );
        assert!(["0%", "101%", "-1%", "%", "NaN%"].iter().all(|text| parse_share(text).is_err()));
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(["5", " 5s "].map(parse_duration), [const { Ok(Duration::from_secs(5)) }; 2]);
        assert_eq!(["0", "0s", "0us"].map(parse_duration_or_zero), [const { Ok(Duration::ZERO) }; 3]);
    }

    #[test]
    fn text_that_is_not_an_amount_is_refused_with_the_expected_form() {
        for text in
            ["/s", "req/s", "5 req", "5/m", "0", "1e99", "-5", "10x", "", "k", "inf", "NaN", "1.2.3", "١"]
        {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        for text in ["0", "1.5", "-1", "1e3", "9999999g", "16i", "i", "Mi"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
        for text in ["0", "0s", "-5", "5x", "-1s", "1000d", "soon"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        let error = parse_rate("10x").expect_err("10x is not a rate").to_string();
        assert_eq!(error, "\"10x\" is not a rate above 0 and up to 10M a second, such as 500, 50k or 0.5");
    }
}
