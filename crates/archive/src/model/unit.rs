//! Numbers with their units and nouns, as people read them: `131,043/s`, `4,712 µs`, `1 trial`.

use num_format::{Locale, ToFormattedString};

/// A rounded number with thousands separators: `131,043`.
pub fn thousands(value: f64) -> String {
    (value.round_ties_even() as i64).to_formatted_string(&Locale::en)
}

/// A response time as it is shown: from `gave_up_from_us` on, at which the client gave operations up, it is a lower bound:
/// `≥ 1.08 s`.
pub fn or_more(shown: String, us: f64, gave_up_from_us: Option<u64>) -> String {
    match gave_up_from_us {
        Some(from) if us >= from as f64 => format!("≥ {shown}"),
        _ => shown,
    }
}

/// A number with its unit: `131,043/s`, `4,712 µs`. There is no space before a unit that begins with a slash.
pub fn with_unit(number: &str, unit: &str) -> String {
    let space = if unit.is_empty() || unit.starts_with('/') { "" } else { " " };
    format!("{number}{space}{unit}")
}

/// A measured figure in the unit that people read: a share of 1 in percent, bytes by powers of 1,024, bytes a second by
/// powers of 1,000 as networks and disks are sold, and a plain number (`1`) or how often something happens (`1/s`) without
/// the one.
pub fn readable(value: f64, unit: &str) -> (f64, String) {
    match unit {
        "share" => (value * 100.0, "%".to_owned()),
        "1" | "1/s" => (value, unit[1..].to_owned()),
        "B" => scaled(value, unit, 1_024.0, ["", "Ki", "Mi", "Gi", "Ti"]),
        "B/s" => scaled(value, unit, 1_000.0, ["", "k", "M", "G", "T"]),
        unit => (value, unit.to_owned()),
    }
}

/// The value below `base` with the prefix that allows it.
fn scaled(value: f64, unit: &str, base: f64, prefixes: [&str; 5]) -> (f64, String) {
    let mut power = 0;
    let mut left = value;
    while left.abs() >= base && power + 1 < prefixes.len() {
        left /= base;
        power += 1;
    }
    (left, format!("{}{unit}", prefixes[power]))
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
    fn a_response_time_is_a_lower_bound_from_the_first_operation_on_that_was_given_up() {
        let shown = |us, from| or_more(format!("{us} µs"), us, from);
        assert_eq!(shown(900.0, Some(1_000)), "900 µs");
        assert_eq!(shown(1_000.0, Some(1_000)), "≥ 1000 µs");
        assert_eq!(shown(1_000.0, None), "1000 µs");
    }

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
    fn figures_are_read_in_the_units_of_their_kind() {
        let cases = [
            (0.92, "share", 92.0, "%"),
            (16_252_928.0, "B", 15.5, "MiB"),
            (812.0, "B", 812.0, "B"),
            (15_500_000.0, "B/s", 15.5, "MB/s"),
            (3e15, "B/s", 3_000.0, "TB/s"),
            (3.0, "1/s", 3.0, "/s"),
            (0.5, "1", 0.5, ""),
            (3.4, "µs", 3.4, "µs"),
        ];
        for (value, unit, expected, read) in cases {
            let (number, prefixed) = readable(value, unit);
            assert!((number - expected).abs() < 1e-9, "{value} {unit}: {number}");
            assert_eq!(prefixed, read, "{value} {unit}");
        }
    }

    #[test]
    fn only_units_with_a_slash_follow_without_a_space() {
        let written = ["/s", "MB/s", ""].map(|unit| with_unit("15,343", unit));
        assert_eq!(written, ["15,343/s", "15,343 MB/s", "15,343"]);
        assert_eq!(["/s", "/h", "MB/s"].map(work_of), ["operations", "operations", "MB"]);
    }
}
