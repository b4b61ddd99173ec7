//! What one meter said of one trial: watts at its full load and in active idle, and operations a joule.

use archive::model::{PowerLevel, Trial};
use stats::cost::{operations_per_joule, overall_operations_per_joule};
use stats::quantity::{OperationsPerSecond, Watts};

/// The watts of a meter in a trial.
#[derive(Debug, Clone)]
pub struct TrialWatts<'r> {
    /// Watts at the full load.
    pub at_load: f64,
    /// Watts in active idle.
    pub idle: Option<f64>,
    /// Operations or megabytes per second of the full load.
    work_per_s: f64,
    /// The levels with watts of this meter, in order of time.
    pub(crate) levels: Vec<(&'r PowerLevel, f64)>,
    /// Whether these are all of its levels.
    is_whole: bool,
}

impl<'r> TrialWatts<'r> {
    /// The watts of the meter with this name; none where it gave none at the full load.
    pub fn of(trial: &'r Trial, meter: &str) -> Option<Self> {
        let power = trial.power.as_ref()?;
        let levels: Vec<(&PowerLevel, f64)> =
            power.levels.iter().filter_map(|level| Some((level, level.watts_of(meter)?))).collect();
        let (full, at_load) = *levels.iter().find(|(level, watts)| level.share >= 1.0 && *watts > 0.0)?;
        let idle = levels.iter().find(|(level, _)| level.is_idle()).map(|(_, watts)| *watts);
        let is_whole = levels.len() == power.levels.len() && idle.is_some();
        Some(Self { at_load, idle, work_per_s: full.work_per_s, levels, is_whole })
    }

    /// Operations (or megabytes) for each joule at the full load.
    pub fn per_joule(&self) -> f64 {
        operations_per_joule(OperationsPerSecond::new(self.work_per_s), Watts::new(self.at_load))
    }

    /// The same over all levels and active idle; none where there is one level, or a level has no watts.
    pub fn overall(&self) -> Option<f64> {
        let loaded = self.levels.iter().filter(|(level, _)| !level.is_idle()).count();
        let levels: Vec<_> = self
            .levels
            .iter()
            .map(|(level, watts)| (OperationsPerSecond::new(level.work_per_s), Watts::new(*watts)))
            .collect();
        if self.is_whole && loaded > 1 { overall_operations_per_joule(&levels) } else { None }
    }
}
