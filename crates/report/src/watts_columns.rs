//! The watts of trials as columns of the CSV report: for each meter what its watts include, watts at load and idle, and operations a
//! joule. Figures of variants are left to [`crate::markdown`].

use std::collections::BTreeSet;

use archive::Run;
use archive::model::Trial;
use cost::metered::TrialWatts;

use crate::cell::{number, word};

/// The columns of each meter. They begin with `power.` and its name.
const OF_A_METER: [&str; 5] =
    ["boundary", "watts_at_load", "watts_idle", "operations_per_joule", "overall_operations_per_joule"];

/// The meters of a run, by their names.
pub(crate) struct WattsColumns<'r> {
    meters: BTreeSet<&'r str>,
}

impl<'r> WattsColumns<'r> {
    /// The columns of this run; none without a meter.
    pub(crate) fn of(run: &'r Run) -> Self {
        let trials = run.trials.iter().filter_map(|record| record.trial.power.as_ref());
        Self { meters: trials.flat_map(|power| &power.meters).map(|meter| meter.name.as_str()).collect() }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let of_meter = |meter: &&str| OF_A_METER.map(|column| format!("power.{meter}.{column}"));
        self.meters.iter().flat_map(of_meter).map(|name| word(&name))
    }

    /// The cells of a trial. A meter that gave no watts has empty ones.
    pub(crate) fn cells(&self, trial: &Trial) -> impl Iterator<Item = String> {
        self.meters.iter().flat_map(|name| {
            let meters = trial.power.iter().flat_map(|power| &power.meters);
            let boundary =
                meters.filter(|meter| meter.name == **name).map(|meter| word(&meter.boundary)).next();
            let watts = TrialWatts::of(trial, name);
            [
                boundary.unwrap_or_default(),
                number(watts.as_ref().map(|watts| watts.at_load)),
                number(watts.as_ref().and_then(|watts| watts.idle)),
                number(watts.as_ref().map(TrialWatts::per_joule)),
                number(watts.as_ref().and_then(TrialWatts::overall)),
            ]
        })
    }
}
