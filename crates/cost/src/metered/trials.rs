//! The valid trials of a variant with the watts of one meter.

use std::collections::BTreeSet;

use ::power::Boundary;
use archive::Run;
use archive::model::{Trial, VariantSummary};

use super::meter::MeterOfRun;
use super::pairs::TrialPlace;
use super::trial_watts::TrialWatts;

/// A meter with the trials to whose full load it gave watts; of a kind of hosts, the meters of all of them.
#[derive(Debug, Clone)]
pub(crate) struct MeteredTrials<'r> {
    pub meter: MeterOfRun,
    pub trials: Vec<MeteredTrial<'r>>,
    /// The hosts of its trials.
    hosts: BTreeSet<Option<&'r str>>,
}

/// One of these trials.
#[derive(Debug, Clone)]
pub(crate) struct MeteredTrial<'r> {
    pub place: TrialPlace,
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
        for trial in own {
            for meter in trial.power.iter().flat_map(|power| &power.meters) {
                let at = found.iter().position(|known| known.meter.name == meter.name);
                let at = at.unwrap_or_else(|| {
                    let (meter, trials) = (MeterOfRun::of(meter), Vec::new());
                    found.push(Self { meter, trials, hosts: BTreeSet::new() });
                    found.len() - 1
                });
                let known = &mut found[at];
                // A source may know its boundary after its first answer only.
                if known.meter.boundary == Boundary::Unknown {
                    known.meter = MeterOfRun::of(meter);
                }
                known.hosts.insert(trial.host.as_deref());
                known.trials.extend(of_trial(trial, &meter.name));
            }
        }
        found.retain(|of_meter| !of_meter.trials.is_empty());
        let mut found = of_hosts(found);
        found.sort_by_key(|of_meter| rank(of_meter.meter.boundary));
        found
    }

    /// The meter that a cost is computed from: the first one that measures the whole machine, or else the processors.
    pub(crate) fn of_cost(run: &'r Run, summary: &VariantSummary) -> Option<Self> {
        let is_of_machine =
            |found: &Self| !matches!(found.meter.boundary, Boundary::Component | Boundary::Dram);
        Self::all(run, summary).into_iter().find(is_of_machine)
    }
}

/// Joins the meters of the hosts that a variant took in turns: each measured another host within the same boundary.
fn of_hosts(all: Vec<MeteredTrials<'_>>) -> Vec<MeteredTrials<'_>> {
    let mut joined: Vec<MeteredTrials<'_>> = Vec::new();
    for one in all {
        let is_of_other_hosts = |known: &&mut MeteredTrials<'_>| {
            known.meter.boundary == one.meter.boundary && known.hosts.is_disjoint(&one.hosts)
        };
        match joined.iter_mut().find(is_of_other_hosts) {
            Some(known) => {
                known.meter.join(&one.meter);
                known.trials.extend(one.trials);
                known.hosts.extend(one.hosts);
            }
            None => joined.push(one),
        }
    }
    joined
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
    Some(MeteredTrial { place: TrialPlace::of(trial), value, watts })
}
