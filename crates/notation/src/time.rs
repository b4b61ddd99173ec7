//! A span of time as people write it. Whether it may be zero, or how long it may be, is left to the readers.

use std::time::Duration;

/// A span of time: `10s`, `500us`, `1m 30s`. A number alone is seconds, as with other load generators.
pub fn parse(text: &str) -> Option<Duration> {
    match text.trim().parse::<u32>() {
        Ok(seconds) => Some(Duration::from_secs(seconds.into())),
        Err(_) => humantime::parse_duration(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_is_seconds() {
        assert_eq!([" 5 ", "5s", "5000ms"].map(parse), [const { Some(Duration::from_secs(5)) }; 3]);
        assert_eq!((parse("1m 30s"), parse("0")), (Some(Duration::from_secs(90)), Some(Duration::ZERO)));
        assert!(["", "-5", "5x", "soon", "1.5.2s"].iter().all(|text| parse(text).is_none()));
    }
}
