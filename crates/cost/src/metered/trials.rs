//! The valid trials of a variant with the watts of one meter.

use ::power::Boundary;
use archive::Run;
use archive::model::{Trial, TrialMeter, VariantSummary};

use super::trial_watts::TrialWatts;

/// A meter with the trials to whose full load it gave watts.
#[derive(Debug, Clone)]
pub(crate) struct MeteredTrials<'r> {
    pub meter: &'r TrialMeter,
    pub boundary: Boundary,
    pub trials: Vec<MeteredTrial<'r>>,
}

/// One of these trials.
#[derive(Debug, Clone)]
pub(crate) struct MeteredTrial<'r> {
    pub block: u32,
    /// The value of the trial.
    pub value: f64,
    pub watts: TrialWatts<'r>,
}

impl<'r> MeteredTrials<'r> {
    /// The meters of a variant, those of the whole machine first.
    pub(crate) fn all(run: &'r Run, summary: &VariantSummary) -> Vec<Self> {
        let trials: Vec<&'r Trial> = run.trials.iter().map(|record| &record.trial).collect();
        let own: Vec<&'r Trial> = trials
            .into_iter()
            .filter(|trial| trial.variant == summary.name && trial.point == summary.point)
            .collect();
        let mut found: Vec<Self> = Vec::new();
        for meter in own.iter().filter_map(|trial| trial.power.as_ref()).flat_map(|power| &power.meters) {
            let boundary = Boundary::from_name(&meter.boundary).unwrap_or(Boundary::Unknown);
            // A source may know its boundary after its first answer only.
            match found.iter_mut().find(|other| other.meter.name == meter.name) {
                Some(known) if known.boundary == Boundary::Unknown => {
                    (known.meter, known.boundary) = (meter, boundary);
                }
                Some(_) => {}
                None => found.push(Self { meter, boundary, trials: Vec::new() }),
            }
        }
        for of_meter in &mut found {
            of_meter.trials = own.iter().filter_map(|trial| of_trial(trial, &of_meter.meter.name)).collect();
        }
        found.retain(|of_meter| !of_meter.trials.is_empty());
        found.sort_by_key(|of_meter| rank(of_meter.boundary));
        found
    }

    /// The meter that a cost is computed from: the first one that measures the whole machine, or else the processors.
    pub(crate) fn of_cost(run: &'r Run, summary: &VariantSummary) -> Option<Self> {
        let is_of_machine = |found: &Self| !matches!(found.boundary, Boundary::Component | Boundary::Dram);
        Self::all(run, summary).into_iter().find(is_of_machine)
    }
}

/// Watts of more of the machine come first; those whose boundary nobody knows come after those that can be compared.
fn rank(boundary: Boundary) -> u32 {
    match boundary {
        Boundary::Wall => 0,
        Boundary::Dc => 1,
        Boundary::Package => 2,
        Boundary::Unknown | Boundary::Nameplate => 3,
        Boundary::Dram => 4,
        Boundary::Component => 5,
    }
}

fn of_trial<'r>(trial: &'r Trial, meter: &str) -> Option<MeteredTrial<'r>> {
    let (value, watts) = (trial.valid_value()?, TrialWatts::of(trial, meter)?);
    Some(MeteredTrial { block: trial.block, value, watts })
}
