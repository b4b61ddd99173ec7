//! What is checked before the first step: what this machine can carry, and the settings that change for the time of the run.

use std::collections::BTreeMap;

use archive::model::{ChangedSetting, ConcurrencyLimit, Plan, PlannedConcurrency};
use host::Host;
use machine::Machine;

use crate::error::ConcurrencyError;
use crate::limits::{self, Demand, Ends, RoomFacts};

/// What this machine can carry, and that of the server.
#[derive(Debug)]
pub(crate) struct Preflight {
    /// Of the machine that has the server, or of this one.
    pub facts: RoomFacts,
    pub limits: Vec<ConcurrencyLimit>,
    /// Settings of this machine that change, with the value that they need.
    pub settings: BTreeMap<String, String>,
    /// The same with the values before.
    pub changed: Vec<ChangedSetting>,
}

impl Preflight {
    /// Checks this machine, and has its processes take longer turns. Refuses more than it can carry.
    pub fn of(steps: &PlannedConcurrency, ends: Ends) -> Result<Self, ConcurrencyError> {
        let host = Host::local();
        let facts = RoomFacts::of(&host.facts(), host.available_memory_share());
        let may_change = !steps.keep_settings && rustix::process::geteuid().is_root();
        let bounds = limits::room(&facts, &demand(steps, ends), may_change);
        refuse(&bounds.limits, steps.to)?;
        let is_crowded = ends == Ends::Loopback && steps.to > limits::MANY;
        let turns = is_crowded.then(turns_of_processes);
        let limits = bounds.limits.into_iter().chain(turns).collect();
        let changed = changed(&facts, &bounds.settings);
        Ok(Self { facts, limits, settings: bounds.settings, changed })
    }

    /// Checks the machine of the server, too, where that is another one. Its settings stay as they are: it is not this run's alone.
    pub fn with_server_on(
        self,
        name: &str,
        machine: &dyn Machine,
        steps: &PlannedConcurrency,
    ) -> Result<Self, ConcurrencyError> {
        let facts = RoomFacts::of(&machine.facts()?, machine.available_memory_share()?);
        // Whether the kernel there tracks connections is not among its facts.
        let facts = RoomFacts { is_tracking: false, ..facts };
        let bounds = limits::room(&facts, &demand(steps, Ends::Server), false);
        let there = bounds.limits.into_iter();
        let there = there.map(|limit| ConcurrencyLimit { name: format!("{name}: {}", limit.name), ..limit });
        let limits: Vec<ConcurrencyLimit> = self.limits.into_iter().chain(there).collect();
        refuse(&limits, steps.to)?;
        Ok(Self { facts, limits, ..self })
    }
}

/// The kernel settings of this machine that a run of this plan may change as root, where both ends of its transfers are here: for who
/// decides whether to run it.
pub fn settings_of_plan(plan: &Plan) -> Vec<String> {
    let Some(steps) = plan.concurrency.as_ref().filter(|steps| !steps.keep_settings) else {
        return Vec::new();
    };
    let host = Host::local();
    let facts = RoomFacts::of(&host.facts(), host.available_memory_share());
    let room = limits::room(&facts, &demand(steps, Ends::Loopback), true);
    room.settings.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Settings with their values before and during the run.
fn changed(facts: &RoomFacts, settings: &BTreeMap<String, String>) -> Vec<ChangedSetting> {
    let from = |name: &String| facts.sysctls.get(name).cloned().unwrap_or_default();
    let changed = |(name, to): (&String, &String)| ChangedSetting {
        name: name.clone(),
        from: from(name),
        to: to.clone(),
    };
    settings.iter().map(changed).collect()
}

/// The processes of both ends share the CPUs of this machine: none of them interrupts another from now on.
fn turns_of_processes() -> ConcurrencyLimit {
    ConcurrencyLimit {
        name: "turns of the processes".to_owned(),
        value: "one that wakes interrupts another (SCHED_OTHER)".to_owned(),
        allows: None,
        is_changed: host::schedule_as_batch().is_ok(),
        remedy: "install util-linux, which has chrt".to_owned(),
    }
}

fn demand(steps: &PlannedConcurrency, ends: Ends) -> Demand {
    Demand {
        transfers: steps.to,
        ends,
        begin_per_s: steps.begin_per_s,
        pace_bytes_per_s: steps.pace_bytes_per_s,
    }
}

/// Refuses more than the tightest limit allows.
fn refuse(limits: &[ConcurrencyLimit], wanted: u32) -> Result<(), ConcurrencyError> {
    let Some(limit) = limits::refusing(limits, wanted) else { return Ok(()) };
    Err(ConcurrencyError::Limit {
        wanted,
        name: limit.name.clone(),
        value: limit.value.clone(),
        allows: limit.allows.unwrap_or_default(),
        remedy: limit.remedy.clone(),
    })
}
