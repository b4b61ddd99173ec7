//! One line of the selftest's table: the known value, the measured value, and whether they agree.

use serde::Serialize;

/// The unit of a finding's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingUnit {
    /// Microseconds.
    Microseconds,
    /// A count.
    Count,
    /// A share, 0 to 1.
    Share,
    /// A rate per second.
    PerSecond,
}

/// What a failed finding means for measurements on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// The engine is wrong, or this host makes it wrong: no measurement can be trusted.
    Error,
    /// Measurements of this kind cannot be trusted on this host; others can.
    Limit,
}

/// A known value beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The check, such as `freeze`.
    pub check: &'static str,
    /// The case of the check, in a few words.
    pub case: String,
    /// The statistic, such as `p99`; empty if the case has only one.
    pub statistic: &'static str,
    /// Unit of the values and of the tolerance.
    pub unit: FindingUnit,
    /// The known value.
    pub known: f64,
    /// The value that the engine measured.
    pub measured: f64,
    /// The largest accepted difference; zero for exact values.
    pub tolerance: f64,
    /// What a larger difference means.
    pub severity: FindingSeverity,
    /// Whether the difference is within the tolerance.
    pub passed: bool,
    /// Further information for the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Finding {
    /// Compares two values that must be equal. NaN never passes.
    pub fn new(
        check: &'static str,
        case: impl Into<String>,
        unit: FindingUnit,
        known: f64,
        measured: f64,
    ) -> Self {
        let finding = Self {
            check,
            case: case.into(),
            statistic: "",
            unit,
            known,
            measured,
            tolerance: 0.0,
            severity: FindingSeverity::Error,
            passed: false,
            note: None,
        };
        finding.within(0.0)
    }

    /// Accepts a difference up to this tolerance.
    #[must_use]
    pub fn within(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self.passed = (self.measured - self.known).abs() <= tolerance;
        self
    }

    /// Names the statistic, where the case has several.
    #[must_use]
    pub fn statistic(mut self, statistic: &'static str) -> Self {
        self.statistic = statistic;
        self
    }

    /// Makes a failure a limit of this host.
    #[must_use]
    pub fn as_limit(mut self) -> Self {
        self.severity = FindingSeverity::Limit;
        self
    }

    /// Fails the finding if the engine called the measurement invalid for these reasons. Such a failure is a limit: an
    /// instrument that reports when it cannot measure does not mislead.
    #[must_use]
    pub fn unless_invalid(mut self, reasons: &[String]) -> Self {
        if !reasons.is_empty() {
            (self.passed, self.severity) = (false, FindingSeverity::Limit);
            self.note = Some(format!("the engine calls the measurement invalid: {}", reasons.join("; ")));
        }
        self
    }
}

/// The tolerance of a time: 2 %, or 20 µs for short times. Two clock readings and the way through two sockets take that
/// long on a virtual machine.
pub fn time_tolerance_us(known_us: f64) -> f64 {
    (0.02 * known_us).max(20.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_value_passes_only_when_equal() {
        let count = |measured| Finding::new("counts", "replies", FindingUnit::Count, 100.0, measured);
        assert!(count(100.0).passed && !count(99.0).passed && count(99.0).within(1.0).passed);
        assert!(!count(f64::NAN).within(1e9).passed);
    }

    #[test]
    fn an_invalid_measurement_never_passes_and_is_a_limit() {
        let finding = Finding::new("x", "y", FindingUnit::Count, 1.0, 1.0)
            .unless_invalid(&["the client was the limit".into()]);
        assert!(!finding.passed && finding.note.is_some() && finding.severity == FindingSeverity::Limit);
    }

    #[test]
    fn short_times_have_a_tolerance_of_twenty_microseconds() {
        assert!((time_tolerance_us(100.0) - 20.0).abs() < 1e-9);
        assert!((time_tolerance_us(10_000.0) - 200.0).abs() < 1e-9);
    }
}
