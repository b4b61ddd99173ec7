//! A value with its unit, as people read it: `93 %`, `4,812/s`, `12.3 MB/s`.

use archive::model::{readable, thousands, with_unit as joined};

/// A value with its unit.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    let (value, unit) = readable(value, unit);
    joined(&number(value), &unit)
}

/// With thousands separators from 100 on, with one decimal from 10 on, and with two significant digits below.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || (value - value.round()).abs() < 1e-9 || magnitude >= 99.95 {
        thousands(value)
    } else if magnitude >= 9.95 {
        format!("{value:.0}")
    } else if magnitude >= 0.95 {
        format!("{value:.1}")
    } else if magnitude >= 0.001 {
        // Two significant digits.
        let decimals = (1.0 - magnitude.log10().floor()).clamp(1.0, 4.0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_as_many_digits_as_they_deserve() {
        let cases = [
            (0.934, "share", "93 %"),
            (0.0041, "share", "0.41 %"),
            (0.0, "share", "0 %"),
            (1.0, "share", "100 %"),
            (4812.3, "1/s", "4,812/s"),
            (0.31, "1/s", "0.31/s"),
            (1.854, "cores", "1.9 cores"),
            (12_300_000.0, "B/s", "12 MB/s"),
            (256.0, "1", "256"),
            (3.44, "µs", "3.4 µs"),
            (0.000_02, "1", "2e-5"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(with_unit(value, unit), text, "{value} {unit}");
        }
    }
}
