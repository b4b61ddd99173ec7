//! How reports write numbers.

use archive::model::{readable, thousands, with_unit};
use std::time::{Duration, UNIX_EPOCH};

/// A measured value with at least three digits: `131,043`, `0.0123`.
pub(crate) fn amount(value: f64) -> String {
    if value == 0.0 || value.abs() >= 1000.0 {
        return thousands(value);
    }
    let whole_digits = value.abs().log10().floor() as i32 + 1;
    format!("{value:.*}", (3 - whole_digits).clamp(0, 9) as usize)
}

/// A measured value with its unit: `131,043/s`, `4,712 µs`.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    let (value, unit) = readable(value, unit);
    with_unit(&amount(value), &unit)
}

/// A share as a percentage: `3.4 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Memory: `48 MiB`.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", thousands((bytes as f64 / 1_048_576.0).round()))
}

/// A time of day in UTC, `2026-11-21T00:51:39Z`; empty beyond the year 9999.
pub(crate) fn utc(unix_ms: u64) -> String {
    const YEAR_10000: u64 = 253_402_300_800;
    if unix_ms / 1000 >= YEAR_10000 {
        return String::new();
    }
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(unix_ms)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_units_and_three_digits() {
        assert_eq!(
            [0.0, 0.012_34, 5.0, 12.34, 123.4, 131_043.4].map(amount),
            ["0", "0.0123", "5.00", "12.3", "123", "131,043"]
        );
        assert_eq!(quantity(131_043.4, "/s"), "131,043/s");
        assert_eq!(quantity(4_712.0, "µs"), "4,712 µs");
        assert_eq!(percent(0.0213), "2.1 %");
        assert_eq!(mebibytes(48 << 20), "48 MiB");
        assert_eq!(utc(1_795_222_299_000), "2026-11-21T00:51:39Z");
        assert_eq!(utc(u64::MAX), "");
    }
}
