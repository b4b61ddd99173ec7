//! What is checked before the first step: what this machine can hold, and the settings that change for the time of the run.

use std::collections::BTreeMap;

use archive::model::{ChangedSetting, ConcurrencyLimit, PlannedConcurrency};
use host::Host;

use crate::error::ConcurrencyError;
use crate::limits::{self, Demand, Ends, RoomFacts};

/// What this machine can hold.
#[derive(Clone, Debug)]
pub(crate) struct Preflight {
    pub facts: RoomFacts,
    pub limits: Vec<ConcurrencyLimit>,
    /// Settings that change, with the value that they need.
    pub settings: BTreeMap<String, String>,
}

impl Preflight {
    /// Checks this machine. Refuses more than it can hold.
    pub fn of(steps: &PlannedConcurrency, ends: Ends) -> Result<Self, ConcurrencyError> {
        let host = Host::local();
        let facts = RoomFacts::of(&host.facts(), host.available_memory_share());
        let demand = Demand {
            transfers: steps.to,
            ends,
            begin_per_s: steps.begin_per_s,
            pace_bytes_per_s: steps.pace_bytes_per_s,
        };
        let may_change = !steps.keep_settings && rustix::process::geteuid().is_root();
        let bounds = limits::room(&facts, &demand, may_change);
        if let Some(limit) = limits::refusing(&bounds.limits, steps.to) {
            return Err(ConcurrencyError::Limit {
                wanted: steps.to,
                name: limit.name.clone(),
                value: limit.value.clone(),
                allows: limit.allows.unwrap_or_default(),
                remedy: limit.remedy.clone(),
            });
        }
        Ok(Self { facts, limits: bounds.limits, settings: bounds.settings })
    }

    /// The settings with their values before and during the run.
    pub fn changed(&self) -> Vec<ChangedSetting> {
        let from = |name: &String| self.facts.sysctls.get(name).cloned().unwrap_or_default();
        let changed = |(name, to): (&String, &String)| ChangedSetting {
            name: name.clone(),
            from: from(name),
            to: to.clone(),
        };
        self.settings.iter().map(changed).collect()
    }
}
