//! Numbers for people: three or four digits and a unit.

pub use archive::model::plural;
use archive::model::{or_more, readable, with_unit};
use num_format::{Locale, ToFormattedString};

/// A time in microseconds: `85 µs`, `1.24 ms`, `2.00 s`.
pub fn time(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{} ms", digits(us / 1e3)),
        us => format!("{} s", digits(us / 1e6)),
    }
}

/// A response time; one from `gave_up_from_us` on is a lower bound. A dash where nothing was recorded.
pub fn response_time(us: Option<u64>, gave_up_from_us: Option<u64>) -> String {
    us.map_or_else(|| "–".to_owned(), |us| or_more(time(us as f64), us as f64, gave_up_from_us))
}

/// A whole number with separators: `1,234,567`.
pub fn count(number: u64) -> String {
    number.to_formatted_string(&Locale::en)
}

/// A rate per second: whole from 100 up, with decimals below.
pub fn rate(per_s: f64) -> String {
    if per_s >= 100.0 { count(per_s.round() as u64) } else { digits(per_s) }
}

/// A length of time that is not known exactly: `40 seconds`, `4 minutes`.
pub fn about(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3600.0;
    let some = |count: f64, unit: &str| plural(count.round() as u64, unit);
    match seconds {
        s if s < 1.5 * MINUTE => some((s / 10.0).round().max(1.0) * 10.0, "second"),
        s if s < 1.5 * HOUR => some(s / MINUTE, "minute"),
        s => some(s / HOUR, "hour"),
    }
}

/// A half-width of an interval as a share: `±4.1 %`.
pub fn give_or_take(share: f64) -> String {
    format!("±{} %", (share * 1_000.0).round() / 10.0)
}

/// A value with its unit: `131,043/s`, `3,214 MB/s`, a share as `92.1 %`.
pub fn quantity(value: f64, unit: &str) -> String {
    let (value, unit) = readable(value, unit);
    with_unit(&rate(value), &unit)
}

/// Three significant digits.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_a_unit() {
        assert_eq!([time(85.4), time(1_240.0), time(2e6)], ["85 µs", "1.24 ms", "2.00 s"]);
        assert_eq!([about(1.0), about(44.0), about(200.0)], ["10 seconds", "40 seconds", "3 minutes"]);
        assert_eq!([about(3_700.0), about(7_300.0)], ["62 minutes", "2 hours"]);
        assert_eq!([give_or_take(0.0412), give_or_take(0.02)], ["±4.1 %", "±2 %"]);
        let figures = [quantity(0.921, "share"), quantity(0.25, "1")];
        assert_eq!(figures, ["92.1 %", "0.25"]);
        let bytes = [quantity(812.0, "B"), quantity(16_252_928.0, "B"), quantity(1_200_000.0, "B/s")];
        assert_eq!(bytes, ["812 B", "15.5 MiB", "1.20 MB/s"]);
        assert_eq!([count(7), count(1_234_567), rate(0.5)], ["7", "1,234,567", "0.50"]);
    }
}
