//! Changes that this run did not make: of the balancer's process, its algorithm, its servers and their weights, and of the shares of
//! the traffic.

use std::collections::BTreeMap;

use super::reason::Stop;
use super::start::in_words;
use crate::observation::{BalancerIdentity, ServerState, Window};
use crate::weights::Weights;

/// A server's part of the requests may differ from its weight's by this share.
const MOST_SHARE_ERROR: f64 = 0.2;
/// From this number of requests on, which a server should have by its weight.
const FEWEST_FOR_SHARE: f64 = 200.0;
/// Seconds without any request after which a run ends.
const MOST_SECONDS_WITHOUT_TRAFFIC: u64 = 60;

/// What must stay as it was.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    identity: BalancerIdentity,
    /// Each server with its address.
    addresses: BTreeMap<String, String>,
    /// Requests of each server in this step. None until the first window of the step is over, which has weights of before.
    in_step: Option<BTreeMap<String, u64>>,
    seconds_without_traffic: u64,
}

impl Changes {
    pub(super) fn new(identity: BalancerIdentity, first: &Window) -> Self {
        Self { identity, addresses: addresses(first), in_step: None, seconds_without_traffic: 0 }
    }

    pub(super) fn begin_step(&mut self) {
        self.in_step = None;
    }

    pub(super) fn check(&mut self, window: &Window, weights: &Weights) -> Option<Stop> {
        // Missing answers are counted as missing data.
        let identity = window.identity.as_ref()?;
        if (identity.pid, identity.started_s) != (self.identity.pid, self.identity.started_s) {
            return Some(Stop::Reloaded { before: self.identity.clone(), after: identity.clone() });
        }
        if identity.algorithm != self.identity.algorithm {
            let (before, after) = (self.identity.algorithm.clone(), identity.algorithm.clone());
            return Some(Stop::AlgorithmChanged { before, after });
        }
        self.servers(window)
            .or_else(|| weights_changed(window, weights))
            .or_else(|| self.shares(window, weights))
    }

    fn servers(&self, window: &Window) -> Option<Stop> {
        let now = addresses(window);
        if now == self.addresses {
            return None;
        }
        let mut changes = Vec::new();
        for (server, address) in &self.addresses {
            match now.get(server) {
                None => changes.push(format!("{server} was removed")),
                Some(other) if other != address => {
                    changes.push(format!("{server} moved from {address} to {other}"));
                }
                Some(_) => {}
            }
        }
        let added = now.keys().filter(|server| !self.addresses.contains_key(*server));
        changes.extend(added.map(|server| format!("{server} was added")));
        Some(Stop::ServersChanged(changes.join(", ")))
    }

    /// Whether requests are divided as the weights say.
    fn shares(&mut self, window: &Window, weights: &Weights) -> Option<Stop> {
        let requests: u64 = window.servers.iter().map(|server| server.requests).sum();
        self.seconds_without_traffic = if requests == 0 { self.seconds_without_traffic + 1 } else { 0 };
        if self.seconds_without_traffic >= MOST_SECONDS_WITHOUT_TRAFFIC {
            return Some(Stop::NoTraffic { seconds: self.seconds_without_traffic });
        }
        let Some(in_step) = &mut self.in_step else {
            self.in_step = Some(BTreeMap::new());
            return None;
        };
        for server in &window.servers {
            *in_step.entry(server.server.clone()).or_default() += server.requests;
        }
        let total: u64 = in_step.values().sum();
        let all_weights: u32 = weights.participants().all().filter_map(|name| weights.expected(name)).sum();
        for name in weights.participants().all() {
            let weight = f64::from(weights.expected(name).unwrap_or(0));
            let expected = total as f64 * weight / f64::from(all_weights.max(1));
            let found = in_step.get(name).copied().unwrap_or(0) as f64;
            if expected >= FEWEST_FOR_SHARE && (found / expected - 1.0).abs() > MOST_SHARE_ERROR {
                return Some(Stop::ShareOff { server: name.clone(), found, expected, total });
            }
        }
        None
    }
}

fn addresses(window: &Window) -> BTreeMap<String, String> {
    let known = window.servers.iter().filter(|server| server.state != Some(ServerState::Absent));
    known.map(|server| (server.server.clone(), server.address.clone())).collect()
}

/// A weight that this run did not set, or an old server that is not up.
fn weights_changed(window: &Window, weights: &Weights) -> Option<Stop> {
    for server in &window.servers {
        let Some(found) = server.weight else { continue };
        let expected = weights.expected(&server.server).unwrap_or(0);
        if found != expected {
            return Some(Stop::WeightChanged { server: server.server.clone(), expected, found });
        }
        let is_old = weights.participants().old.contains(&server.server);
        if let Some(state) = server.state
            && is_old
            && state != ServerState::Up
        {
            return Some(Stop::OldNotUp { server: server.server.clone(), state: in_words(state) });
        }
    }
    None
}
