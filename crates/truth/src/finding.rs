//! One line of the table: what is known, what the engine measured, and whether that will do.

use load::client_share::ClientShare;
use serde::Serialize;

/// What numbers are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Microseconds.
    Microseconds,
    /// Things counted.
    Count,
    /// 0 to 1.
    Share,
    /// Things a second.
    PerSecond,
}

/// What follows for the instrument if a line misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The engine is wrong, or this host makes it so: nothing that it says can be believed.
    Grave,
    /// Numbers of this kind cannot be believed on this host; others can.
    Limit,
}

/// One known value beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which check, such as `freeze`.
    pub check: &'static str,
    /// What was looked at, in a few words.
    pub what: String,
    /// Which of several numbers of it, such as `p99`; empty if there is one.
    pub point: &'static str,
    /// Of both values and the tolerance.
    pub unit: Unit,
    /// The truth.
    pub known: f64,
    /// What the engine says.
    pub measured: f64,
    /// By how much the two may differ; zero for what must be exact.
    pub tolerance: f64,
    /// What it means if they differ by more.
    pub weight: Weight,
    /// Whether they do not.
    pub met: bool,
    /// What a reader should know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Finding {
    /// Holds one value against the other; not a number is never met.
    pub fn new(check: &'static str, what: impl Into<String>, unit: Unit, known: f64, measured: f64) -> Self {
        let finding = Self {
            check,
            what: what.into(),
            point: "",
            unit,
            known,
            measured,
            tolerance: 0.0,
            weight: Weight::Grave,
            met: false,
            note: None,
        };
        finding.within(0.0)
    }

    /// The same with a tolerance.
    #[must_use]
    pub fn within(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self.met = (self.measured - self.known).abs() <= tolerance;
        self
    }

    /// The same as one of several numbers.
    #[must_use]
    pub fn at(mut self, point: &'static str) -> Self {
        self.point = point;
        self
    }

    /// The same as a limit of what can be measured here.
    #[must_use]
    pub fn as_limit(mut self) -> Self {
        self.weight = Weight::Limit;
        self
    }

    /// The same, not met if the engine itself called the measurement invalid, for these reasons. That is a limit
    /// only: an instrument that says when it cannot measure misleads nobody.
    #[must_use]
    pub fn if_valid(mut self, reasons: &[String]) -> Self {
        if !reasons.is_empty() {
            (self.met, self.weight) = (false, Weight::Limit);
            self.note = Some(format!("the engine calls it invalid: {}", reasons.join("; ")));
        }
        self
    }

    /// The same, a limit only where the engine itself says that a part of this may be the client's own.
    #[must_use]
    pub fn if_not_doubted(mut self, share: Option<&ClientShare>) -> Self {
        if let Some(ClientShare { client_us, .. }) = share
            && !self.met
        {
            self.weight = Weight::Limit;
            self.note
                .get_or_insert(format!("the engine says that about {client_us} µs are the client's own"));
        }
        self
    }
}

/// What a time may be off: 2 %, or 20 µs for the short ones, which is what two looks at a clock and a wake-up
/// on another CPU take.
pub fn time_tolerance_us(known_us: f64) -> f64 {
    (0.02 * known_us).max(20.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_exact_is_held_to_it() {
        let count = |measured| Finding::new("counts", "replies", Unit::Count, 100.0, measured);
        assert!(count(100.0).met && !count(99.0).met && count(99.0).within(1.0).met);
        assert!(!count(f64::NAN).within(1e9).met);
    }

    #[test]
    fn an_invalid_measurement_meets_nothing() {
        let finding =
            Finding::new("x", "y", Unit::Count, 1.0, 1.0).if_valid(&["the client was the limit".into()]);
        assert!(!finding.met && finding.note.is_some() && finding.weight == Weight::Limit);
    }

    #[test]
    fn short_times_may_be_off_by_twenty_microseconds() {
        assert!((time_tolerance_us(100.0) - 20.0).abs() < 1e-9);
        assert!((time_tolerance_us(10_000.0) - 200.0).abs() < 1e-9);
    }
}
