//! What a plan leaves to its first blocks: the rate at which CPU time is measured, whether CPU time takes the place of a
//! measure for which the client is the limit or that other programs disturb, and whether servers run one at a time. Their trials are the only input, so a
//! resumed run decides alike. What follows for the run is left to `run_progress`.

use std::collections::BTreeSet;

use archive::model::{
    Facts, FallbackMeasure, GateOutcome, Measure, PhaseKind, Plan, ReplacedMeasure, Trial, TrialStatus,
    TrialTurns, Vary, thousands,
};
use load::validity::MAX_UTILISATION;

use crate::cpu_rate::{self, closed_loop_per_s};
use crate::gates;
use crate::machines::shared_cpus::client_and_server_share_cpus;
use crate::plan::measure_names::wording;
use crate::verdict::company;

/// A client that needs more of its cores than this for servers as they are leaves no room for faster ones: with a gain of a
/// fifth it would need [`MAX_UTILISATION`]. 0 to 1.
const MAX_UTILISATION_BEFORE_GAINS: f64 = 0.75;

/// A closed loop takes what the client can give. Where the first block leaves less room than this, later ones are refused: of a TLS
/// client that needed 0.90 in the first block, seven of ten later trials were. 0 to 1.
const MAX_UTILISATION_IN_FIRST_BLOCK: f64 = 0.85;

/// A search tries rates above the capacity, and the client needs more of its cores there. Where it needs more than this at the
/// capacity, later searches are refused: of memcached's, with 0.85 and 0.87 in the first block, 22 of 36 were. Of all other servers in
/// the lines of the README's table it was 0.67 at most. 0 to 1.
const MAX_UTILISATION_AT_CAPACITY: f64 = 0.8;

/// Other programs make response times longer whenever they run, so a capacity under an objective of milliseconds is theirs from the
/// least on that the gate `others` notes. A throughput scatters: beside two programs that use 40 % of a CPU each, ratios of blocks by 4 to
/// 11 %, and CPU time an operation by 1 to 3 %. The programs also keep the client from its CPU: a twentieth of two CPUs is a tenth of one
/// CPU, and the gate `client` refuses a client that waits for half as much. 0 to 1.
const MOST_TAKEN_OF_CAPACITY: f64 = gates::MAX_OTHERS;
const MOST_TAKEN_OF_CLOSED_LOOP: f64 = 0.05;

/// Least closed loop of a server as a multiple of the rate at which its CPU time is measured. Servers that are up together get a rate
/// with a multiple of three. One that is up alone gets the rate of the server before it, which may be too much for it.
const MIN_CLOSED_LOOP_TO_RATE: f64 = 2.0;

/// Whether the plan leaves the rate at which CPU time is measured to its first block.
pub fn leaves_rate(plan: &Plan) -> bool {
    plan.measure == (Measure::CpuTime { rate_per_s: None }) && !plan.varies(&Vary::Rate)
}

/// The rate at which the first of these trials measured CPU time, operations a second; none where none has.
pub fn measured_rate<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<f64> {
    trials.into_iter().find_map(|trial| Some(trial.cpu_time.as_ref()?.rate_per_s))
}

/// The measure at a lower rate, and why, where a server in these trials of the first block would hardly keep up with this one;
/// none where all have room for it.
pub fn at_lower_rate(rate: f64, trials: &[&Trial]) -> Option<(Measure, ReplacedMeasure)> {
    let closed_loops =
        trials.iter().filter_map(|trial| Some((closed_loop_per_s(trial)?, trial.variant.as_str())));
    let (slowest, name) = closed_loops.min_by(|a, b| a.0.total_cmp(&b.0))?;
    if slowest >= MIN_CLOSED_LOOP_TO_RATE * rate {
        return None;
    }
    let lower = cpu_rate::for_closed_loops([slowest])?;
    let metric = wording(&Measure::CpuTime { rate_per_s: Some(rate) }).what;
    let why = format!("{name} carries only {}/s in a closed loop", thousands(slowest));
    Some((Measure::CpuTime { rate_per_s: Some(lower) }, ReplacedMeasure { metric, why }))
}

/// The measure that takes the place of the planned one, and why; none where the client was neither the limit of these trials,
/// which are those of the first block, nor nearly.
pub fn replacement(plan: &Plan, facts: &Facts, trials: &[&Trial]) -> Option<(Measure, ReplacedMeasure)> {
    let shares_cpus = client_and_server_share_cpus(plan, facts);
    let limited = |trial: &Trial| client_was_the_limit(trial, shares_cpus).then(|| client_utilisation(trial));
    let replaced = instead(plan, trials, limited, |names, utilisation| {
        let needed = if utilisation > MAX_UTILISATION {
            format!("it needed {:.0} % of its cores", utilisation * 100.0)
        } else {
            "it shares its CPUs with the server".to_owned()
        };
        format!("the client was the limit for {names}: {needed}")
    });
    let only_refused = plan.fallback == Some(FallbackMeasure::CpuTimeIfRefused);
    let replaced = replaced.or_else(|| {
        let disturbed = |trial: &Trial| {
            let is_left_alone = only_refused && !is_refused_for_its_client(trial);
            if is_left_alone { None } else { disturbed(&plan.measure, trial) }
        };
        instead(plan, trials, disturbed, |_, _| company::text(trials).unwrap_or_default())
    });
    if replaced.is_some() || only_refused {
        return replaced;
    }
    let nearly = |trial: &Trial| nearly_the_limit(&plan.measure, trial);
    instead(plan, trials, nearly, |names, utilisation| {
        let needed = utilisation * 100.0;
        format!("the client was nearly the limit for {names}: it needed {needed:.0} % of its cores")
    })
}

/// The same after a later block: other programs may begin when the first block is over. It takes a trial in each of the last two blocks
/// that was refused because the client had no CPU left, or was kept from it by others: more trials would be refused, too. The values
/// of the trials have no part in it.
pub fn replacement_after_later_block(
    plan: &Plan,
    facts: &Facts,
    trials: &[&Trial],
) -> Option<(Measure, ReplacedMeasure)> {
    let last = trials.iter().map(|trial| trial.block).max()?;
    let shares_cpus = client_and_server_share_cpus(plan, facts);
    let has_no_answer = |trial: &Trial| {
        let is_disturbed = is_refused_for_its_client(trial) && company::taken(trial).is_some();
        is_disturbed || client_was_the_limit(trial, shares_cpus)
    };
    let of_two: Vec<&Trial> = trials.iter().copied().filter(|trial| trial.block + 1 >= last).collect();
    let refused = of_two.iter().filter(|trial| has_no_answer(trial)).map(|trial| trial.block);
    let blocks: BTreeSet<u32> = refused.collect();
    if blocks.len() == 2 { replacement(plan, facts, &of_two) } else { None }
}

/// Whether the plan keeps its measure for good after these trials: its first look at a verdict is due, or its last block has ended.
pub fn keeps_measure(plan: &Plan, trials: &[&Trial]) -> bool {
    let until = plan.looks.first().copied().unwrap_or(plan.blocks);
    trials.iter().any(|trial| trial.block >= until)
}

/// The same for a search that makes these servers faster: the client must have room for that.
pub fn replacement_before_gains(
    plan: &Plan,
    facts: &Facts,
    trials: &[&Trial],
) -> Option<(Measure, ReplacedMeasure)> {
    let without_room =
        |trial: &Trial| Some(client_utilisation(trial)).filter(|share| *share > MAX_UTILISATION_BEFORE_GAINS);
    replacement(plan, facts, trials).or_else(|| {
        instead(plan, trials, without_room, |names, utilisation| {
            let needed = utilisation * 100.0;
            format!(
                "the client would be the limit for a faster server: for {names} it needs {needed:.0} % of its cores"
            )
        })
    })
}

/// CPU time an operation in place of the planned measure, where the client is the limit of some of these trials: for them `limited`
/// has the share of its cores that it needed. `why` has their names and the largest of these shares.
fn instead(
    plan: &Plan,
    trials: &[&Trial],
    limited: impl Fn(&Trial) -> Option<f64>,
    why: impl FnOnce(&str, f64) -> String,
) -> Option<(Measure, ReplacedMeasure)> {
    let fallback = plan.fallback?;
    let limited: Vec<(&Trial, f64)> =
        trials.iter().filter_map(|trial| Some((*trial, limited(trial)?))).collect();
    let utilisation = limited.iter().map(|(_, utilisation)| *utilisation).max_by(f64::total_cmp)?;
    let is_named = |name: &&str| limited.iter().any(|(trial, _)| trial.variant == *name);
    let names = plan.variants.iter().map(|variant| variant.name.as_str()).filter(is_named);
    let names = names.collect::<Vec<_>>().join(" and ");
    let rate_per_s = cpu_rate::for_closed_loops(trials.iter().filter_map(|trial| closed_loop_per_s(trial)))?;
    let why = why(&names, utilisation);
    let why = match fallback {
        FallbackMeasure::CpuTime => why,
        FallbackMeasure::CpuTimeIfRefused => {
            format!("{why}: to measure it all the same, pass --measure capacity")
        }
    };
    let replaced = ReplacedMeasure { metric: wording(&plan.measure).what, why };
    Some((Measure::CpuTime { rate_per_s: Some(rate_per_s) }, replaced))
}

/// The share of its cores that the client needed for a trial, where that leaves too little room for later ones.
fn nearly_the_limit(measure: &Measure, trial: &Trial) -> Option<f64> {
    let (needed, most) = match measure {
        Measure::Capacity { .. } => {
            let at_capacity = utilisation_in(trial, |kind| kind == PhaseKind::Measure);
            (at_capacity, MAX_UTILISATION_AT_CAPACITY)
        }
        measure if measure.is_closed_loop() => (client_utilisation(trial), MAX_UTILISATION_IN_FIRST_BLOCK),
        _ => return None,
    };
    (needed > most).then_some(needed)
}

/// The share of the CPUs, 0 to 1, that was taken from a trial, where it is so large that this measure says more of the other programs
/// than of the server, or where the client was kept from its own CPUs: later trials would be refused, too.
fn disturbed(measure: &Measure, trial: &Trial) -> Option<f64> {
    let most = match measure {
        Measure::Capacity { .. } => MOST_TAKEN_OF_CAPACITY,
        measure if measure.is_closed_loop() => MOST_TAKEN_OF_CLOSED_LOOP,
        _ => return None,
    };
    company::taken(trial).filter(|share| *share > most || is_refused_for_its_client(trial))
}

/// Whether the client refused a trial because it had no CPU left. A client that other programs kept from its CPUs used less
/// of them: that is no reason to measure something else.
fn client_was_the_limit(trial: &Trial, shares_cpus: bool) -> bool {
    is_refused_for_its_client(trial) && (client_utilisation(trial) > MAX_UTILISATION || shares_cpus)
}

/// Whether a trial is invalid, and the gate `client` is a reason for that.
fn is_refused_for_its_client(trial: &Trial) -> bool {
    let has_failed =
        trial.gates.iter().any(|gate| gate.id == gates::CLIENT && gate.outcome == GateOutcome::Failed);
    trial.status == TrialStatus::Invalid && has_failed
}

/// The largest use of the client's cores in a phase, 0 to 1.
fn client_utilisation(trial: &Trial) -> f64 {
    utilisation_in(trial, |_| true)
}

/// The largest use of the client's cores in the phases of these kinds, 0 to 1.
fn utilisation_in(trial: &Trial, is_asked: impl Fn(PhaseKind) -> bool) -> f64 {
    let asked = trial.phases.iter().filter(|phase| is_asked(phase.kind));
    asked.map(|phase| phase.client.utilisation).fold(0.0, f64::max)
}

/// Why the servers of these trials ran one at a time, although the plan has turns; none where they did not.
pub fn one_at_a_time<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<&'t str> {
    trials.into_iter().find_map(|trial| match &trial.turns {
        Some(TrialTurns::OneAtATime { why }) => Some(why.as_str()),
        Some(TrialTurns::InTurns { .. }) | None => None,
    })
}

/// Whether some of these trials ran in turns, before others showed that the servers of this run must run one at a time: a sweep
/// with many points has several groups of servers that are up together. Not after the first block: a run of an earlier
/// release may have gone on like that, and is not thrown away.
pub fn mixes_turns(trials: &[&Trial]) -> bool {
    let is_in_turns = |trial: &&Trial| matches!(trial.turns, Some(TrialTurns::InTurns { .. }));
    trials.iter().all(|trial| trial.block == 1)
        && trials.iter().any(is_in_turns)
        && one_at_a_time(trials.iter().copied()).is_some()
}

#[cfg(test)]
pub mod tests;
