//! Numbers with their units and nouns, as people read them: `131,043/s`, `4,712 µs`, `1 trial`.

use num_format::{Locale, ToFormattedString};

/// A rounded number with thousands separators: `131,043`.
pub fn thousands(value: f64) -> String {
    (value.round_ties_even() as i64).to_formatted_string(&Locale::en)
}

/// A number with its unit: `131,043/s`, `4,712 µs`. There is no space before a unit that begins with a slash.
pub fn with_unit(number: &str, unit: &str) -> String {
    let space = if unit.is_empty() || unit.starts_with('/') { "" } else { " " };
    format!("{number}{space}{unit}")
}

/// What a throughput in this unit counts: `operations`, or `MB` of `MB/s`.
pub fn work_of(unit: &str) -> &'static str {
    if unit == "MB/s" { "MB" } else { "operations" }
}

/// A count with its noun, which takes an `s` in the plural: `1 trial`, `2,000 trials`.
pub fn plural(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        assert_eq!(
            [0, 1, 2_000].map(|count| plural(count, "false verdict")),
            ["0 false verdicts", "1 false verdict", "2,000 false verdicts"]
        );
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(
            [0.0, 999.0, 1234.5, -1_234_567.0, -0.3].map(thousands),
            ["0", "999", "1,234", "-1,234,567", "0"]
        );
    }

    #[test]
    fn only_units_with_a_slash_follow_without_a_space() {
        let written = ["/s", "MB/s", ""].map(|unit| with_unit("15,343", unit));
        assert_eq!(written, ["15,343/s", "15,343 MB/s", "15,343"]);
        assert_eq!(["/s", "/h", "MB/s"].map(work_of), ["operations", "operations", "MB"]);
    }
}
