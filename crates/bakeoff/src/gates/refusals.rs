//! What makes a trial invalid, and why: a row for each gate. Whether a gate refuses where servers meet a disturbance alike follows from what
//! [`check`](super::check) does with it, so that the table cannot say something else.

use archive::model::{Gate, GateOutcome, Refusal, RefusedWhen};
use load::validity::MAX_ERROR_SHARE;

use super::input::gate;
use super::{CLIENT, ERRORS, Exposure, RESTARTS, STEADY, USERS, host, network, note_what_meets_all_alike};
use super::{MAX_COUNT_DIFFERENCE, MAX_OTHERS, MAX_STEAL, NETWORK, OTHERS, STEAL};

/// A gate that can refuse a trial. The gate `clock` never does.
struct Ground {
    gate: &'static str,
    /// What refuses a trial.
    limit: String,
    why: &'static str,
}

impl Ground {
    fn new(gate: &'static str, limit: String, why: &'static str) -> Self {
        Self { gate, limit, why }
    }
}

/// A limit as a percentage with all its digits.
fn limit_percent(share: f64) -> String {
    format!("{} %", share * 100.0)
}

fn grounds() -> Vec<Ground> {
    vec![
        Ground::new(
            CLIENT,
            "a rule of the client is broken".to_owned(),
            "a saturated client measures itself",
        ),
        Ground::new(
            USERS,
            "a rule of users is broken".to_owned(),
            "another walk or pacing than the declared one is another load",
        ),
        Ground::new(
            STEADY,
            "throughput or p99 of the warm-up drift or step".to_owned(),
            "a mean that includes the warm-up mixes two states",
        ),
        Ground::new(
            ERRORS,
            format!("more than {} of the operations fail", limit_percent(MAX_ERROR_SHARE)),
            "most failed operations have no response time",
        ),
        Ground::new(
            super::BACKGROUND,
            "the background load misses its rate or fails".to_owned(),
            "the server had less work than planned",
        ),
        Ground::new(
            super::COUNTS,
            format!("server and client differ by more than {}", limit_percent(MAX_COUNT_DIFFERENCE)),
            "one of the two counts is wrong",
        ),
        Ground::new(
            super::VERIFY,
            "the workload's `verify` finds the server's work wrong".to_owned(),
            "a server that answers wrongly does another work",
        ),
        Ground::new(
            NETWORK,
            format!(
                "more than {} of what the network carries, or {} of the segments sent again",
                limit_percent(network::MAX_USE),
                limit_percent(network::MAX_RETRANSMITS)
            ),
            "the network was measured, and not the server",
        ),
        Ground::new(
            STEAL,
            format!("more than {} of the CPUs are stolen", limit_percent(MAX_STEAL)),
            "a machine of its own meets it and the other does not",
        ),
        Ground::new(
            OTHERS,
            format!("other programs use more than {} of the CPUs", limit_percent(MAX_OTHERS)),
            "a machine of its own meets them and the other does not",
        ),
        Ground::new(
            host::SWAP,
            "memory is read from swap".to_owned(),
            "one page from disk costs as much as thousands of requests",
        ),
        Ground::new(
            RESTARTS,
            "the server's main process is another one at the end".to_owned(),
            "part of the trial measured another process",
        ),
        Ground::new(
            host::FREQUENCY,
            format!("the CPU frequency varies by more than {}", limit_percent(host::MAX_FREQUENCY_SPREAD)),
            "both sides must be measured at the same speed",
        ),
        Ground::new(
            host::HEAT,
            "the processor slows down because of heat".to_owned(),
            "both sides must be measured at the same speed",
        ),
    ]
}

/// What makes a trial invalid, where servers meet what disturbs the machine like this.
pub fn refusals(exposure: Exposure) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for Ground { gate, limit, why } in grounds() {
        let when = refused_when(gate, exposure);
        refusals.push(Refusal { when, gate: gate.to_owned(), limit, why: why.to_owned() });
    }
    refusals
}

/// When this gate refuses a trial.
fn refused_when(id: &str, exposure: Exposure) -> RefusedWhen {
    let stolen = Gate { share: Some(1.0), ..failed(STEAL) };
    let (alone, beside) = (vec![failed(id)], vec![failed(id), stolen]);
    match (is_refused(alone, exposure), is_refused(beside, exposure)) {
        (true, true) => RefusedWhen::Always,
        (true, false) => RefusedWhen::UnlessDisturbed,
        (false, _) => RefusedWhen::Never,
    }
}

fn failed(id: &str) -> Gate {
    gate(id, false, String::new(), String::new(), String::new())
}

/// Whether the first of these gates refuses a trial.
fn is_refused(mut gates: Vec<Gate>, exposure: Exposure) -> bool {
    note_what_meets_all_alike(&mut gates, exposure);
    gates[0].outcome == GateOutcome::Failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::tests::every_gate;

    #[test]
    fn every_gate_but_the_clock_is_in_the_table() {
        let listed: Vec<String> =
            refusals(Exposure::InTurns).into_iter().map(|refusal| refusal.gate).collect();
        let gates: Vec<String> =
            every_gate().into_iter().map(|gate| gate.id).filter(|id| id != "clock").collect();
        assert_eq!(listed, gates);
    }

    #[test]
    fn what_meets_all_alike_refuses_nothing_on_one_machine_and_everything_on_machines_of_their_own() {
        for exposure in [Exposure::InTurns, Exposure::InRandomOrder] {
            let when = |id| refused_when(id, exposure);
            assert_eq!([STEAL, OTHERS, host::FREQUENCY].map(when), [RefusedWhen::Never; 3]);
            assert_eq!(when(STEADY), RefusedWhen::UnlessDisturbed);
            assert_eq!([CLIENT, host::SWAP, RESTARTS].map(when), [RefusedWhen::Always; 3]);
        }
        assert!(refusals(Exposure::OfItsOwn).iter().all(|refusal| refusal.when == RefusedWhen::Always));
    }

    #[test]
    fn the_page_on_method_has_the_same_table() {
        let page = include_str!("../../../../docs/METHODOLOGY.md");
        let (_, section) = page.split_once("### What makes a trial invalid, and why\n").expect("the section");
        let (section, _) = section.split_once("\n#").expect("a section after it");
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let row = |refusal: Refusal| {
            let Refusal { gate, limit, why, when } = refusal;
            format!("| `{gate}` | {limit} | {why} | {} |", when.in_words())
        };
        assert_eq!(found, refusals(Exposure::InTurns).into_iter().map(row).collect::<Vec<_>>());
    }
}
