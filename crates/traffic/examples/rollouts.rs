//! Simulates many rollouts of equal servers with stalls, and of servers that are twice as late: how often the first are rolled back, and
//! after how many seconds the second. `cargo run --release -p traffic --example rollouts -- 1000`.

#[path = "../tests/rollouts/simulated.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod simulated;

use simulated::{Backend, Behaviour, OBJECTIVE_MS, participants};
use traffic::guard::HardLimits;
use traffic::rollout::{Answer, Canary, CanaryRules, Phase, usual_steps};

/// An hour at 50 requests a second for each of the two servers.
fn rollout(others: Behaviour, candidate: Behaviour, seed: u64) -> Answer {
    let mut backend = Backend::new(200.0, others, Box::new(move |_| candidate), seed);
    let rules = CanaryRules {
        steps: usual_steps(&[64], 1.25, 0.5, 2),
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
    canary.answer().expect("an ended canary has an answer").clone()
}

#[allow(clippy::print_stdout, reason = "an example for people")]
fn main() {
    let rollouts: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    println!("rolled back of {rollouts}; seconds to it: median, 90th percentile");
    for (name, late, candidate_late, stalls) in [
        ("equal, 1 % late", 0.01, 0.01, false),
        ("equal, 1 % late, stalls", 0.01, 0.01, true),
        ("2 % against 1 %", 0.01, 0.02, false),
        ("2 % against 1 %, stalls", 0.01, 0.02, true),
        ("1.5 % against 1 %", 0.01, 0.015, false),
    ] {
        let others = Behaviour { late, stalls, ..Behaviour::default() };
        let candidate = Behaviour { late: candidate_late, ..others };
        let mut seconds: Vec<u64> = (0..rollouts)
            .filter_map(|seed| match rollout(others, candidate, seed) {
                Answer::RolledBack { second, .. } => Some(second),
                _ => None,
            })
            .collect();
        seconds.sort_unstable();
        let at = |share: f64| seconds.get((share * seconds.len() as f64) as usize).copied();
        println!("{name:<26} {:>5} {:?} {:?}", seconds.len(), at(0.5), at(0.9));
    }
}
