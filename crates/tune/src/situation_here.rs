//! The situation of a server on this machine: what a choice among tunings takes from the trials of equal servers, and from the host.

use std::collections::BTreeMap;
use std::path::Path;

use archive::Run;
use bakeoff::RunCpus;
use host::Host;
use host::knobs::{Knob, usual_purpose};
use workload::is_kernel_setting;

use crate::candidate::{Candidate, NotTried, Situation, choose, cpu_mask, knobs_as_tunings};
use crate::request::{TuneRequest, Weakened};
use crate::tunable::TunableServer;
use crate::tuning::Tuning;

/// The candidates for a server with these figures, from the trials of equal servers in this run directory. `allowed` are kernel
/// settings that may be tried beside the usual ones of comparisons.
pub fn candidates(
    request: &TuneRequest,
    server: &TunableServer,
    allowed: &[Knob],
    equal_run: &Path,
    figures: BTreeMap<String, f64>,
) -> (Vec<Candidate>, Vec<NotTried>) {
    let TunableServer { definition, tunings, .. } = server;
    let host = Host::local();
    let facts = host.facts();
    let run = Run::open(equal_run).ok();
    let variant = run.as_ref().and_then(|run| run.facts.as_ref()?.variants.first());
    let knobs = variant.into_iter().flat_map(|variant| &variant.knobs);
    let mut values: BTreeMap<String, String> =
        knobs.map(|(name, value)| (name.clone(), value.written())).collect();
    let levels = tunings.iter().flat_map(|tuning| &tuning.levels);
    // A setting that may not be tried is not read either: reading some files of the kernel has effects.
    let is_allowed = |knob: &Knob| usual_purpose(knob).is_some() || allowed.contains(knob);
    for name in levels.flat_map(|level| level.set.keys()).filter(|name| is_kernel_setting(name)) {
        let knob = name.parse().ok().filter(is_allowed);
        let value = knob.and_then(|knob| host.kernel_setting(&knob).ok());
        values.extend(value.map(|value| (name.clone(), value)));
    }
    let plan = run.as_ref().and_then(|run| run.plan.as_ref());
    let cpus = plan.and_then(|plan| RunCpus::of(plan).ok()).map(|cpus| cpus.server);
    let is_own = tunings.iter().all(|tuning| !tuning.servers.contains(&definition.name));
    let own =
        if is_own && request.only.is_empty() { knobs_as_tunings(definition, &values) } else { Vec::new() };
    let all: Vec<Tuning> = tunings.iter().cloned().chain(own).collect();
    let situation = Situation {
        server: definition,
        values,
        figures,
        cpu_mask: cpus.as_ref().and_then(cpu_mask),
        cpus: cpus.map_or(1, |cpus| cpus.len().max(1)),
        memory_mb: facts.memory.total_bytes / (1 << 20),
        nodes: facts.cpu.numa_nodes,
        can_reserve_huge_pages: facts.memory.huge_page_bytes == Some(2 << 20)
            && facts.memory.huge_pages == Some(0),
        is_root: rustix::process::geteuid().is_root(),
        may_weaken_durability: request.may_weaken.contains(&Weakened::Durability),
        may_weaken_security: request.may_weaken.contains(&Weakened::Security),
        allowed_kernel: allowed.iter().map(ToString::to_string).collect(),
    };
    choose(&all, &situation)
}
