//! A meter of a run, as its trials have it.

use ::power::Boundary;
use archive::model::TrialMeter;
use serde::Serialize;

/// A meter of a run; of a kind of hosts, those of all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeterOfRun {
    /// Its name.
    pub name: String,
    /// How it is read.
    pub kind: String,
    /// What its watts include.
    pub boundary: Boundary,
    /// The largest error of a reading in percent, where it is known.
    pub uncertainty_percent: Option<f64>,
    /// Whether that is above 1 % or unknown.
    pub is_indicative: bool,
}

impl MeterOfRun {
    pub(super) fn of(meter: &TrialMeter) -> Self {
        Self {
            name: meter.name.clone(),
            kind: meter.kind.clone(),
            boundary: Boundary::from_name(&meter.boundary).unwrap_or(Boundary::Unknown),
            uncertainty_percent: meter.uncertainty_percent,
            is_indicative: meter.is_indicative,
        }
    }

    /// Adds the meter of another host, which is not better than the worse of both.
    pub(super) fn join(&mut self, other: &Self) {
        self.name = format!("{}, {}", self.name, other.name);
        if self.kind != other.kind {
            self.kind = format!("{}, {}", self.kind, other.kind);
        }
        self.uncertainty_percent =
            self.uncertainty_percent.zip(other.uncertainty_percent).map(|(one, other)| one.max(other));
        self.is_indicative |= other.is_indicative;
    }

    /// Its name with its error: `rack (indicative)`, `analyser (±1 %)`.
    pub fn label(&self) -> String {
        match self.uncertainty_percent {
            Some(percent) if !self.is_indicative => format!("{} (±{percent} %)", self.name),
            _ if self.is_indicative => format!("{} (indicative)", self.name),
            _ => self.name.clone(),
        }
    }
}
