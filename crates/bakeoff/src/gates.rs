//! The gates: checks that a trial must pass to be valid. A trial that fails a gate is invalid, with the gate's message
//! as the reason.
//!
//! What disturbs the machine scatters a ratio; it does not bias it where the servers of one machine meet it alike ([`Exposure`]). There
//! `steal`, `others`, `frequency` and `heat` are notes, and so is `steady` where one of the first two is. The interval of the ratio has the
//! scatter. The clock's gate is always a note.
//!
//! | gate | threshold | why |
//! |---|---|---|
//! | client | the engine's own rules ([`load::validity`]) | a saturated client measures itself |
//! | users | the engine's rules of users | another walk or pacing than the declared one is another load |
//! | steady | [`stats::steady`] | a mean that includes the warm-up mixes two states |
//! | errors | 1 % of operations | most failed operations have no response time |
//! | background | the client's rules for achieved load and errors, applied to the background load | the server had less work than planned |
//! | counts | 0.5 % between the server's count and the client's | one of the two is wrong |
//! | verify | the workload's own check | a server that answers wrongly does another work |
//! | network | 90 % of what the network carried before the trials, in either direction; 1 % of segments sent again | the network was measured, and not the server |
//! | steal | 2 % of the trial's CPUs | the hypervisor took CPU time from the measurement |
//! | others | 2 % of the trial's CPUs | as steal. With two CPUs, 2 % is 4 % of the server's CPU, less than the 5 % that a comparison must detect. Services of an idle machine use 0.3 to 0.8 % |
//! | swap | no byte read from swap | one page from disk costs as much as thousands of requests |
//! | restarts | the server's main process is the same at the end | part of the trial measured another process |
//! | clock | none; a step of 10 ms plus 0.5 % of the trial is noted | times of day in the run are off; durations are those of the monotonic clock |
//! | frequency | 5 % between lowest and highest CPU frequency | both sides must be measured at the same speed |
//! | heat | no thermal throttling event | as frequency. The kernel samples a frequency now and then, and counts each event |

mod exposure;
mod host;
mod input;
mod network;
mod refusals;
#[cfg(test)]
mod tests;

use archive::model::{Gate, GateOutcome, Trial, TrialStatus, plural, thousands};
use load::validity::MAX_ERROR_SHARE;
use workload::Verification;

pub use exposure::Exposure;
pub use host::{MAX_OTHERS, MAX_STEAL, OTHERS, STEAL};
pub use input::{GateInput, SeenMachine, WatchedMachine};
use input::{gate, measured_percent, not_applicable};
pub use network::NETWORK;
pub use refusals::refusals;

/// Id of the gate [`client`].
pub const CLIENT: &str = "client";
/// Id of the gate [`users`].
const USERS: &str = "users";
/// Id of the gate [`steady`].
const STEADY: &str = "steady";
/// Id of the gate [`errors`].
const ERRORS: &str = "errors";
/// Id of the gate [`background`].
const BACKGROUND: &str = "background";
/// Id of the gate [`counts`].
const COUNTS: &str = "counts";
/// Id of the gate [`verify`].
const VERIFY: &str = "verify";
/// Id of the gate [`restarts`].
/// The gate of a server that ended under load.
pub const RESTARTS: &str = "restarts";
/// Gates whose failure explains errors of operations without the server.
const ELSEWHERE: &[&str] = &[CLIENT, NETWORK, STEAL, OTHERS, host::SWAP, host::FREQUENCY, host::HEAT];
/// Largest relative difference between the server's count and the client's.
const MAX_COUNT_DIFFERENCE: f64 = 0.005;

/// Checks every gate.
pub fn check(input: &GateInput<'_>) -> Vec<Gate> {
    let mut gates = vec![
        client(input),
        users(input),
        steady(input),
        errors(input),
        background(input),
        counts(input),
        verify(input),
        network::network(input.network),
        on_each_machine(input, host::steal),
        on_each_machine(input, host::others),
        on_each_machine(input, host::swap),
        restarts(input),
        on_each_machine(input, host::clock),
        on_each_machine(input, host::frequency),
        on_each_machine(input, host::heat),
    ];
    note_what_meets_all_alike(&mut gates, input.exposure);
    gates
}

/// Where servers meet what disturbs the machine alike, the disturbance is noted, and the trial counts. Other programs can make a warm-up
/// unsteady as a server can, so beside other programs an unsteady warm-up is a note, too.
fn note_what_meets_all_alike(gates: &mut [Gate], exposure: Exposure) {
    let Some(why) = exposure.why_it_counts() else { return };
    for gate in gates.iter_mut() {
        if [STEAL, OTHERS, host::FREQUENCY, host::HEAT].contains(&gate.id.as_str()) {
            note(gate, why);
        }
    }
    if gates.iter().any(|gate| taken_share(gate).is_some()) {
        for gate in gates.iter_mut().filter(|gate| gate.id == STEADY) {
            note(gate, "other programs disturbed all servers of the block");
        }
    }
}

/// Makes a failed gate a note, with the reason in place of the remedy, which is what follows the last `: ` of its message.
fn note(gate: &mut Gate, why: &str) {
    if gate.outcome == GateOutcome::Failed {
        gate.outcome = GateOutcome::Noted;
        let what = gate.message.rsplit_once(": ").map_or(gate.message.as_str(), |(what, _)| what);
        gate.message = format!("{what}; the trial counts: {why}");
    }
}

/// Share of the trial's CPUs, 0 to 1, that other programs or the hypervisor took, if the share is more than the limit and the trial
/// counts. Other gates have no share.
pub fn taken_share(gate: &Gate) -> Option<f64> {
    if gate.outcome == GateOutcome::Noted { gate.share } else { None }
}

/// Whether other programs or the hypervisor used more of a machine than the gates allow.
pub fn is_disturbed(machine: &WatchedMachine<'_>) -> bool {
    [host::steal(machine), host::others(machine)].iter().any(|gate| gate.outcome == GateOutcome::Failed)
}

/// Whether a server did its work badly in a trial: it did not start or serve, it was started again, or too many operations failed.
/// Operations also fail where the client, the network or the machine was the limit, or other programs or the hypervisor took the
/// CPUs: those are no fault of the server. A process that ended is.
pub fn is_broken(trial: &Trial) -> bool {
    let is_exceeded = |gate: &&Gate| matches!(gate.outcome, GateOutcome::Failed | GateOutcome::Noted);
    let mut exceeded = trial.gates.iter().filter(is_exceeded);
    let has_failed = |id| trial.gates.iter().any(|gate| gate.outcome == GateOutcome::Failed && gate.id == id);
    match trial.status {
        TrialStatus::Failed => !trial.failed_elsewhere,
        TrialStatus::Invalid => {
            has_failed(RESTARTS)
                || has_failed(VERIFY)
                || (has_failed(ERRORS) && !exceeded.any(|gate| ELSEWHERE.contains(&&*gate.id)))
        }
        TrialStatus::Valid | TrialStatus::Interrupted => false,
    }
}

/// A gate on each machine of the trial: the result of the worst one, whose message names it.
fn on_each_machine(input: &GateInput<'_>, check: fn(&WatchedMachine<'_>) -> Gate) -> Gate {
    let gravity = |gate: &Gate| match gate.outcome {
        GateOutcome::Failed => 3,
        GateOutcome::Noted => 2,
        GateOutcome::Passed => 1,
        GateOutcome::NotApplicable => 0,
    };
    let results = input.machines.iter().map(|machine| {
        let gate = check(machine);
        let named = if gate.outcome == GateOutcome::Failed { machine.name.as_ref() } else { None };
        let message = named.map_or_else(|| gate.message.clone(), |name| format!("{name}: {}", gate.message));
        Gate { message, ..gate }
    });
    // Of equal ones, that of the server's machine, which is the first.
    let worst = results.reduce(|worst, other| if gravity(&other) > gravity(&worst) { other } else { worst });
    worst.expect("a trial has a machine")
}

fn client(input: &GateInput<'_>) -> Gate {
    let Some(reasons) = input.client_reasons else {
        return not_applicable(CLIENT, "the program under test generates the load, on its own clock");
    };
    let message = if reasons.is_empty() {
        "the client was not the limit".to_owned()
    } else {
        let other = input.other_measure.map(|options| format!("or compare CPU time an operation: {options}"));
        reasons.iter().cloned().chain(other).collect::<Vec<_>>().join("; ")
    };
    let measured = format!("{} broken", plural(reasons.len() as u64, "rule"));
    gate(CLIENT, reasons.is_empty(), measured, "0 rules broken".to_owned(), message)
}

fn users(input: &GateInput<'_>) -> Gate {
    let Some(reasons) = input.user_reasons else {
        return not_applicable(USERS, "the load has no users");
    };
    let message = match reasons.len() {
        0 => "mix, delays and limits are as declared".to_owned(),
        _ => reasons.join("; "),
    };
    let measured = format!("{} broken", plural(reasons.len() as u64, "rule"));
    gate(USERS, reasons.is_empty(), measured, "0 rules broken".to_owned(), message)
}

fn steady(input: &GateInput<'_>) -> Gate {
    if let Some(why) = input.why_no_warm_up {
        return not_applicable(STEADY, why);
    }
    let message = input.unsteady.clone().unwrap_or_else(|| "throughput and p99 are steady".to_owned());
    let threshold = "no drift or step after the MSER-5 cut".to_owned();
    gate(STEADY, input.unsteady.is_none(), String::new(), threshold, message)
}

fn errors(input: &GateInput<'_>) -> Gate {
    let share = input.error_share;
    let message = if share > MAX_ERROR_SHARE {
        "too many operations failed: see the errors by kind"
    } else {
        "operations succeeded"
    };
    gate(
        ERRORS,
        share <= MAX_ERROR_SHARE,
        measured_percent(share),
        format!("at most {}", measured_percent(MAX_ERROR_SHARE)),
        message.to_owned(),
    )
}

fn background(input: &GateInput<'_>) -> Gate {
    let Some(load) = input.background else {
        return not_applicable(BACKGROUND, "the plan has no background load");
    };
    let offered = load.offered_per_s.unwrap_or_default();
    let message = match load.reasons.len() {
        0 => "the background load ran as planned".to_owned(),
        _ => format!("the background load did not run as planned: {}", load.reasons.join("; ")),
    };
    let measured = format!("{:.1}/s of {offered:.1}/s", load.throughput_per_s);
    gate(BACKGROUND, load.valid, measured, "0 rules broken".to_owned(), message)
}

fn counts(input: &GateInput<'_>) -> Gate {
    let worst = input
        .counts
        .iter()
        .filter_map(|check| Some((check.disagreement()?, check)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((difference, check)) = worst else {
        return not_applicable(COUNTS, "the server does not count its operations");
    };
    let (server, client) = (thousands(check.server as f64), thousands(check.client as f64));
    let counted = format!("{}: the server counted {server}, the client {client}", check.counter);
    let is_equal = difference <= MAX_COUNT_DIFFERENCE;
    let message = if is_equal {
        counted
    } else {
        format!("{counted}: check whether anything else used the server, and see its log")
    };
    gate(
        COUNTS,
        is_equal,
        measured_percent(difference),
        format!("at most {}", measured_percent(MAX_COUNT_DIFFERENCE)),
        message,
    )
}

fn verify(input: &GateInput<'_>) -> Gate {
    let (message, passed) = match &input.verification {
        None => return not_applicable(VERIFY, "the workload does not verify a server's work"),
        Some(Verification::Passed(said)) => (said, true),
        Some(Verification::Failed(said)) => (said, false),
    };
    gate(VERIFY, passed, String::new(), "the workload's command succeeds".to_owned(), message.clone())
}

fn restarts(input: &GateInput<'_>) -> Gate {
    let message = input.died.clone().unwrap_or_else(|| "the server did not restart".to_owned());
    gate(RESTARTS, input.died.is_none(), String::new(), "no restart".to_owned(), message)
}
