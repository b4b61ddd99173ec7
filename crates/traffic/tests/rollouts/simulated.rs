//! A backend that exists in numbers only: servers with planted behaviour behind a perfect `roundrobin`, a second at a time.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution};
use rand_pcg::Pcg64;
use traffic::name::Name;
use traffic::observation::{Action, BalancerIdentity, Failures, ServerState, ServerWindow, Window};
use traffic::weights::Participants;

/// What is late, in ms.
pub const OBJECTIVE_MS: u32 = 200;

/// How a server behaves at a second of the rollout.
#[derive(Clone, Copy, Default)]
pub struct Behaviour {
    /// The probability that an answer is late.
    pub late: f64,
    /// The probability that a request fails with a status of 5xx.
    pub errors: f64,
    /// The server stalls in one second of a hundred: 30 % are late then.
    pub stalls: bool,
    /// Requests a second above which all are late, and sessions pile up. 0: without a limit.
    pub capacity: u64,
}

/// The behaviour of a server by the second.
pub type Planted = Box<dyn Fn(u64) -> Behaviour>;

/// A backend.
pub struct Backend {
    rng: Pcg64,
    servers: Vec<(String, Planted)>,
    /// The weights, as a balancer has them.
    pub weights: BTreeMap<String, u32>,
    /// What is not yet a whole request, for each server.
    remainders: BTreeMap<String, f64>,
    in_progress: BTreeMap<String, u64>,
    requests_per_s: f64,
    second: u64,
    /// Who answers.
    pub identity: BalancerIdentity,
}

/// A name that is one.
pub fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

/// The servers of all simulated backends: two old ones, a control and a candidate.
pub fn participants() -> Participants {
    Participants {
        candidate: name("candidate"),
        control: Some(name("control")),
        old: vec![name("old1"), name("old2")],
    }
}

impl Backend {
    /// Two old servers, a control like them, and a candidate.
    pub fn new(requests_per_s: f64, others: Behaviour, candidate: Planted, seed: u64) -> Self {
        let mut servers: Vec<(String, Planted)> = Vec::new();
        for name in ["old1", "old2", "control"] {
            servers.push((name.to_owned(), Box::new(move |_| others)));
        }
        servers.push(("candidate".to_owned(), candidate));
        let weights = [("old1", 1), ("old2", 1), ("control", 0), ("candidate", 0)];
        Self {
            rng: Pcg64::seed_from_u64(seed),
            servers,
            weights: weights.map(|(name, weight)| (name.to_owned(), weight)).into(),
            remainders: BTreeMap::new(),
            in_progress: BTreeMap::new(),
            requests_per_s,
            second: 0,
            identity: BalancerIdentity {
                pid: 812,
                started_s: 1_795_000_000,
                algorithm: "roundrobin".to_owned(),
                master: None,
                version: "HAProxy 2.6.12".to_owned(),
            },
        }
    }

    /// Does what is asked.
    pub fn apply(&mut self, actions: &[Action]) {
        for action in actions {
            if let Action::SetWeight { server, weight } = action {
                self.weights.insert(server.to_string(), *weight);
            }
        }
    }

    /// The next second.
    pub fn window(&mut self) -> Window {
        let total: u32 = self.weights.values().sum();
        let mut servers = Vec::new();
        for (name, planted) in &self.servers {
            let weight = self.weights[name];
            let behaviour = planted(self.second);
            let due = self.requests_per_s * f64::from(weight) / f64::from(total.max(1))
                + self.remainders.get(name).copied().unwrap_or(0.0);
            self.remainders.insert(name.clone(), due.fract());
            let requests = due as u64;
            let is_over = behaviour.capacity > 0 && requests > behaviour.capacity;
            let stalls = behaviour.stalls && self.rng.random_range(0..100) == 0;
            let late = if is_over {
                1.0
            } else if stalls {
                0.3
            } else {
                behaviour.late
            };
            let failed =
                Binomial::new(requests, behaviour.errors).expect("a probability").sample(&mut self.rng);
            let answered = requests - failed;
            let late = Binomial::new(answered, late).expect("a probability").sample(&mut self.rng);
            let in_progress = self.in_progress.entry(name.clone()).or_default();
            *in_progress = match weight {
                0 => 0,
                _ if is_over => *in_progress + requests - behaviour.capacity,
                _ => 2,
            };
            let times = |count: u64, ms: u32| std::iter::repeat_n(ms, count as usize);
            servers.push(ServerWindow {
                server: name.clone(),
                address: format!("127.0.0.1:{}", 8000 + servers.len()),
                weight: Some(weight),
                state: Some(ServerState::Up),
                is_backup: false,
                requests,
                failed: Failures { status_5xx: failed, ..Failures::default() },
                in_progress: *in_progress,
                log_lines: requests,
                response_ms: times(late, 2 * OBJECTIVE_MS).chain(times(answered - late, 20)).collect(),
                counters_arrived: true,
                log_arrived: true,
                mail: None,
            });
        }
        self.second += 1;
        Window {
            second: self.second - 1,
            identity: Some(self.identity.clone()),
            servers,
            old_process: None,
            alarms: Vec::new(),
        }
    }
}
