//! The watts that a variant is priced with: those of a meter beside its load, or else those of the file of targets.

use stats::quantity::Watts;

use crate::measured::{MeasuredRun, MeasuredVariant};
use crate::metered::MeteredVariant;
use crate::metered::trials::{MeteredTrial, MeteredTrials};
use crate::power::MachinePower;

/// The watts of a meter beside a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeasuredPower {
    pub load: MachinePower,
    pub idle: Option<MachinePower>,
}

/// The watts of a variant, and of each of its trials.
pub(crate) struct VariantPower<'r> {
    trials: MeteredTrials<'r>,
    pub median: MeasuredPower,
}

impl<'r> VariantPower<'r> {
    /// Those of the meter that a cost is computed from, if there is one.
    pub(crate) fn of(run: &MeasuredRun<'r>, variant: &MeasuredVariant<'r>) -> Option<Self> {
        let trials = MeteredTrials::of_cost(run.run, variant.summary)?;
        let figures = MeteredVariant::of(variant.summary, &trials)?;
        let median =
            power(&trials, figures.watts_at_load.value, figures.watts_idle.map(|figure| figure.value));
        Some(Self { trials, median })
    }

    /// The watts of each trial, with its block and its value.
    pub(crate) fn by_trial(&self) -> impl Iterator<Item = (&MeteredTrial<'r>, MeasuredPower)> {
        self.trials
            .trials
            .iter()
            .map(|trial| (trial, power(&self.trials, trial.watts.at_load, trial.watts.idle)))
    }
}

fn power(trials: &MeteredTrials<'_>, load: f64, idle: Option<f64>) -> MeasuredPower {
    let meter = &trials.meter;
    let indicative = if meter.is_indicative { "indicative" } else { "an accepted analyser" };
    let of = |watts: f64| MachinePower {
        watts: Watts::new(watts),
        boundary: meter.boundary,
        source: format!("measured beside the load: {} ({}), {indicative}", meter.name, meter.kind),
        is_measured: true,
    };
    MeasuredPower { load: of(load), idle: idle.map(of) }
}
