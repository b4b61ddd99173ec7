//! What everything that people write has in common, in files and on the command line: how a time is written, and what is said about a
//! mistake. What a file or an option means is left to the crates that read it.

pub mod mistakes;
pub mod source_text;

use std::time::Duration;

/// A span of time: `10s`, `500us`, `1m 30s`. A number alone is seconds, as with other load generators. Whether it may be zero, or how long
/// it may be, is left to the readers.
pub fn parse_time(text: &str) -> Option<Duration> {
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
        assert_eq!([" 5 ", "5s", "5000ms"].map(parse_time), [const { Some(Duration::from_secs(5)) }; 3]);
        assert_eq!(
            (parse_time("1m 30s"), parse_time("0")),
            (Some(Duration::from_secs(90)), Some(Duration::ZERO))
        );
        assert!(["", "-5", "5x", "soon", "1.5.2s"].iter().all(|text| parse_time(text).is_none()));
    }
}
