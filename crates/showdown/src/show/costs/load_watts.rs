//! The watts beside a load for a terminal.

use std::fmt::Write as _;

use power::Boundary;
use serde::Serialize;

use super::cost::amount;
use crate::color;
use crate::show::layout::units::plural;

/// A meter beside a load.
#[derive(Debug, Serialize)]
pub struct LoadWatts {
    /// Its name.
    pub name: String,
    /// How it is read.
    pub kind: &'static str,
    /// What its watts include.
    pub boundary: Boundary,
    /// The largest error of a reading in percent, where it is known.
    pub uncertainty_percent: Option<f64>,
    /// Whether its error is above 1 % or unknown.
    pub is_indicative: bool,
    /// The mean over the measured time.
    pub watts: Option<f64>,
    /// Operations that succeeded for each joule.
    pub operations_per_joule: Option<f64>,
    /// The number of readings.
    pub samples: u32,
    /// The last reason for a reading without watts.
    pub failure: Option<String>,
}

/// A line for each meter.
pub fn lines(meters: &[LoadWatts]) -> String {
    let mut out = String::new();
    for meter in meters {
        let indicative = if meter.is_indicative { ", indicative" } else { "" };
        let (name, boundary) = (&meter.name, meter.boundary.name());
        let _ = if let Some(watts) = meter.watts {
            let work = meter
                .operations_per_joule
                .map_or_else(String::new, |found| format!(", {} operations a joule", amount(found)));
            let readings = plural(meter.samples.into(), "reading");
            writeln!(out, "  power: {} W {boundary}{work} ({name}{indicative}, {readings})", amount(watts))
        } else {
            let why =
                meter.failure.as_deref().unwrap_or("no reading fell into the measured time: load for longer");
            writeln!(out, "  {} {name} gave no watts: {why}", color::caution("power:"))
        };
    }
    out
}
