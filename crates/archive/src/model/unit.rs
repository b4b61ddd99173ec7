//! Units of measures, as the record holds them: `/s`, `µs`, `MB/s`.

/// A number with its unit: `131,043/s`, `4,712 µs`; rates that have no other unit stand close.
pub fn with_unit(number: &str, unit: &str) -> String {
    let space = if unit.is_empty() || unit.starts_with('/') { "" } else { " " };
    format!("{number}{space}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rates_stand_close() {
        let written = ["/s", "MB/s", ""].map(|unit| with_unit("15,343", unit));
        assert_eq!(written, ["15,343/s", "15,343 MB/s", "15,343"]);
    }
}
