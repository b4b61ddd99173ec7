//! Simulates many rollouts of equal servers with stalls, of servers that are twice as late, and of differences that do not matter: how
//! often the first and the last are rolled back, and after how many seconds the second. `cargo run --release -p traffic --example rollouts -- 1000`. It prints CSV, which the bench reads.

#[path = "../tests/rollouts/simulated.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod simulated;

use simulated::{Backend, Behaviour, OBJECTIVE_MS, participants};
use traffic::guard::HardLimits;
use traffic::rollout::{Answer, Canary, CanaryRules, Metric, Phase, usual_steps};

/// Two old servers, candidate and control have the same weight.
const SERVERS: f64 = 4.0;

/// A rollback: after how many seconds, and by how much more late requests of the candidate than of the control.
type RolledBack = (u64, u64);

/// An hour at a rate for each of the two servers. None if the candidate was not rolled back.
fn rollout(rate: f64, others: Behaviour, candidate: Behaviour, seed: u64) -> Option<RolledBack> {
    let mut backend = Backend::new(SERVERS * rate, others, Box::new(move |_| candidate), seed);
    let rules = CanaryRules {
        steps: usual_steps(&[64], 1.25, 0.5, 2),
        left_out: Vec::new(),
        max_share: 0.5,
        dwell_s: 3600,
        longest_s: 3600,
        margin: 1.25,
        negligible: 0.002,
        alpha: 0.01,
        is_mail: false,
        hard: HardLimits {
            failed: 0.02,
            late: 0.5,
            deferred: 0.5,
            queued_s: 600,
            objective_ms: OBJECTIVE_MS,
        },
    };
    let first = backend.window();
    let (mut canary, actions) = Canary::start(participants(), rules, &first);
    backend.apply(&actions);
    while canary.phase() != Phase::Ended {
        let actions = canary.take(&backend.window());
        backend.apply(&actions);
    }
    let Some(Answer::RolledBack { second, .. }) = canary.answer() else { return None };
    let late = canary.evidences().state(Metric::Late).counts;
    Some((*second, late.candidate.saturating_sub(late.control)))
}

#[allow(clippy::print_stdout, reason = "an example for people")]
fn main() {
    let rollouts: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    println!("case,rollouts,rolled_back,median_s,p90_s,extra_late");
    for (name, rate, late, candidate_late, stalls) in [
        ("equal, 1 % late", 50.0, 0.01, 0.01, false),
        ("equal, 1 % late, stalls", 50.0, 0.01, 0.01, true),
        ("2 % against 1 %", 50.0, 0.01, 0.02, false),
        ("2 % against 1 %, stalls", 50.0, 0.01, 0.02, true),
        ("1.5 % against 1 %", 50.0, 0.01, 0.015, false),
        ("2 % against 1 %, 4 requests/s", 4.0, 0.01, 0.02, false),
        ("1.1 % against 1 %, stalls, 1,000 requests/s", 1000.0, 0.01, 0.011, true),
        ("1.2 % against 1 %, 1,000 requests/s", 1000.0, 0.01, 0.012, false),
        ("0.15 % against 0.05 %, 1,000 requests/s", 1000.0, 0.0005, 0.0015, false),
    ] {
        let others = Behaviour { late, stalls, ..Behaviour::default() };
        let candidate = Behaviour { late: candidate_late, ..others };
        let (mut seconds, mut extra_late): (Vec<u64>, Vec<u64>) =
            (0..rollouts).filter_map(|seed| rollout(rate, others, candidate, seed)).unzip();
        seconds.sort_unstable();
        extra_late.sort_unstable();
        println!(
            "\"{name}\",{rollouts},{},{},{},{}",
            seconds.len(),
            at(&seconds, 0.5),
            at(&seconds, 0.9),
            at(&extra_late, 0.5)
        );
    }
}

/// A quantile of sorted numbers. Empty if there is none.
fn at(sorted: &[u64], share: f64) -> String {
    let place = (share * sorted.len() as f64) as usize;
    sorted.get(place).map(u64::to_string).unwrap_or_default()
}
