//! Numbers and units of measures, as the record's readers are told them: `131,043/s`, `4,712 µs`.

use num_format::{Locale, ToFormattedString};

/// A whole number with separators: `131,043`.
pub fn thousands(value: f64) -> String {
    (value.round_ties_even() as i64).to_formatted_string(&Locale::en)
}

/// A number with its unit: `131,043/s`, `4,712 µs`; rates that have no other unit stand close.
pub fn with_unit(number: &str, unit: &str) -> String {
    let space = if unit.is_empty() || unit.starts_with('/') { "" } else { " " };
    format!("{number}{space}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_threes() {
        assert_eq!(
            [0.0, 999.0, 1234.5, -1_234_567.0, -0.3].map(thousands),
            ["0", "999", "1,234", "-1,234,567", "0"]
        );
    }

    #[test]
    fn only_rates_stand_close() {
        let written = ["/s", "MB/s", ""].map(|unit| with_unit("15,343", unit));
        assert_eq!(written, ["15,343/s", "15,343 MB/s", "15,343"]);
    }
}
