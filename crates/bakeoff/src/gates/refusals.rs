//! What makes a trial invalid, and why: a row for each gate. Whether a gate refuses where servers are loaded in turns follows from what
//! [`check`](super::check) does with it, so that the table cannot say something else.

use archive::model::{Gate, GateOutcome, Refusal, RefusedWhen};
use load::validity::MAX_ERROR_SHARE;

use super::input::gate;
use super::{CLIENT, ERRORS, RESTARTS, STEADY, USERS, host, network, note_what_meets_all_alike};
use super::{MAX_COUNT_DIFFERENCE, MAX_OTHERS, MAX_STEAL, NETWORK, OTHERS, STEAL};

/// A gate that can refuse a trial. The gate `clock` never does.
struct Ground {
    gate: &'static str,
    /// What refuses a trial.
    limit: String,
    why: &'static str,
}

fn grounds() -> Vec<Ground> {
    let percent = |share: f64| format!("{} %", share * 100.0);
    let ground = |gate, limit: String, why| Ground { gate, limit, why };
    vec![
        ground(CLIENT, "a rule of the client is broken".to_owned(), "a saturated client measures itself"),
        ground(
            USERS,
            "a rule of users is broken".to_owned(),
            "another walk or pacing than the declared one is another load",
        ),
        ground(
            STEADY,
            "throughput or p99 of the warm-up drift or step".to_owned(),
            "a mean that includes the warm-up mixes two states",
        ),
        ground(
            ERRORS,
            format!("more than {} of the operations fail", percent(MAX_ERROR_SHARE)),
            "latencies are those of the operations that succeeded",
        ),
        ground(
            super::BACKGROUND,
            "the background load misses its rate or fails".to_owned(),
            "the server had less work than planned",
        ),
        ground(
            super::COUNTS,
            format!("server and client differ by more than {}", percent(MAX_COUNT_DIFFERENCE)),
            "one of the two counts is wrong",
        ),
        ground(
            NETWORK,
            format!(
                "more than {} of what the network carries, or {} of the segments sent again",
                percent(network::MAX_USE),
                percent(network::MAX_RETRANSMITS)
            ),
            "the network was measured, and not the server",
        ),
        ground(
            STEAL,
            format!("more than {} of the CPUs are stolen", percent(MAX_STEAL)),
            "a server alone meets it and the next one does not",
        ),
        ground(
            OTHERS,
            format!("other programs use more than {} of the CPUs", percent(MAX_OTHERS)),
            "a server alone meets them and the next one does not",
        ),
        ground(
            host::SWAP,
            "memory is read from swap".to_owned(),
            "one page from disk costs as much as thousands of requests",
        ),
        ground(
            RESTARTS,
            "the server's main process is another one at the end".to_owned(),
            "part of the trial measured another process",
        ),
        ground(
            host::FREQUENCY,
            format!("the CPU frequency varies by more than {}", percent(host::MAX_FREQUENCY_SPREAD)),
            "both sides must be measured at the same speed",
        ),
    ]
}

/// What makes a trial invalid where servers are loaded in turns on one machine, or where they are not.
pub fn refusals(is_in_turns: bool) -> Vec<Refusal> {
    let refusal = |ground: Ground| Refusal {
        when: if is_in_turns { in_turns(ground.gate) } else { RefusedWhen::Always },
        gate: ground.gate.to_owned(),
        limit: ground.limit,
        why: ground.why.to_owned(),
    };
    grounds().into_iter().map(refusal).collect()
}

/// When this gate refuses a trial of servers in turns.
fn in_turns(id: &str) -> RefusedWhen {
    let failed = |id: &str| gate(id, false, String::new(), String::new(), String::new());
    let stolen = || Gate { share: Some(1.0), ..failed(STEAL) };
    let is_refused = |mut gates: Vec<Gate>| {
        note_what_meets_all_alike(&mut gates);
        gates[0].outcome == GateOutcome::Failed
    };
    match (is_refused(vec![failed(id)]), is_refused(vec![failed(id), stolen()])) {
        (true, true) => RefusedWhen::Always,
        (true, false) => RefusedWhen::UnlessDisturbed,
        (false, _) => RefusedWhen::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::tests::every_gate;

    #[test]
    fn every_gate_but_the_clock_is_in_the_table() {
        let listed: Vec<String> = refusals(true).into_iter().map(|refusal| refusal.gate).collect();
        let gates: Vec<String> =
            every_gate().into_iter().map(|gate| gate.id).filter(|id| id != "clock").collect();
        assert_eq!(listed, gates);
    }

    #[test]
    fn what_meets_all_alike_refuses_nothing_in_turns_and_everything_alone() {
        let when = |id: &str| in_turns(id);
        assert_eq!([STEAL, OTHERS, host::FREQUENCY].map(when), [RefusedWhen::Never; 3]);
        assert_eq!(when(STEADY), RefusedWhen::UnlessDisturbed);
        assert_eq!([CLIENT, host::SWAP, RESTARTS].map(when), [RefusedWhen::Always; 3]);
        assert!(refusals(false).iter().all(|refusal| refusal.when == RefusedWhen::Always));
    }

    #[test]
    fn the_page_on_method_has_the_same_table() {
        let page = include_str!("../../../../docs/METHODOLOGY.md");
        let (_, section) = page.split_once("### What is still refused, and why\n").expect("the section");
        let (section, _) = section.split_once("\n#").expect("a section after it");
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let row = |refusal: Refusal| {
            let Refusal { gate, limit, why, when } = refusal;
            format!("| `{gate}` | {limit} | {why} | {} |", when.in_words())
        };
        assert_eq!(found, refusals(true).into_iter().map(row).collect::<Vec<_>>());
    }
}
