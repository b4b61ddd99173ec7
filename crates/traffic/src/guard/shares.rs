//! Whether requests are divided as the weights say, and whether there are any.

use std::collections::BTreeMap;

use super::reason::Stop;
use crate::observation::Window;
use crate::weights::Weights;

/// A server's part of the requests may differ from its weight's by this share.
const MOST_SHARE_ERROR: f64 = 0.2;
/// From this number of requests on, which a server should have by its weight.
const FEWEST_FOR_SHARE: f64 = 200.0;
/// Seconds without any request after which a run ends.
const MOST_SECONDS_WITHOUT_TRAFFIC: u64 = 60;

/// The requests of a step, by server.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares {
    /// None until the first window of the step is over, which has weights of before.
    in_step: Option<BTreeMap<String, u64>>,
    seconds_without_traffic: u64,
}

impl Shares {
    pub(super) fn begin_step(&mut self) {
        self.in_step = None;
    }

    pub(super) fn check(&mut self, window: &Window, weights: &Weights) -> Option<Stop> {
        // Missing answers are counted as missing data.
        window.identity.as_ref()?;
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
        let participants = weights.participants();
        let all_weights: u32 = participants.all().filter_map(|name| weights.expected(name.as_str())).sum();
        for name in participants.all() {
            let weight = f64::from(weights.expected(name.as_str()).unwrap_or(0));
            let expected = total as f64 * weight / f64::from(all_weights.max(1));
            let found = in_step.get(name.as_str()).copied().unwrap_or(0) as f64;
            if expected >= FEWEST_FOR_SHARE && (found / expected - 1.0).abs() > MOST_SHARE_ERROR {
                return Some(Stop::ShareOff { server: name.clone(), found, expected, total });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{BalancerIdentity, ServerState, ServerWindow};
    use crate::weights::Participants;

    fn window(requests: [u64; 2]) -> Window {
        let mut servers = Vec::new();
        for (server, requests) in ["candidate", "old"].into_iter().zip(requests) {
            servers.push(ServerWindow {
                weight: Some(1),
                state: Some(ServerState::Up),
                requests,
                ..ServerWindow::nothing(server)
            });
        }
        let (algorithm, version) = ("roundrobin".to_owned(), "HAProxy 2.6".to_owned());
        let identity = Some(BalancerIdentity { pid: 1, started_s: 1, algorithm, version, master: None });
        Window { second: 0, identity, servers, old_process: None, alarms: Vec::new() }
    }

    #[test]
    fn the_first_window_of_a_step_has_the_weights_of_before_and_does_not_count() {
        let (candidate, old) = ("candidate".parse().unwrap(), vec!["old".parse().unwrap()]);
        let weights = Weights::before(Participants { candidate, control: None, old }, &window([0, 0]));
        let mut shares = Shares::default();
        assert_eq!(shares.check(&window([0, 9000]), &weights), None);
        assert_eq!(shares.check(&window([500, 500]), &weights), None);
        shares.begin_step();
        assert_eq!(shares.check(&window([0, 9000]), &weights), None);
        let off = shares.check(&window([100, 900]), &weights);
        assert!(matches!(off, Some(Stop::ShareOff { total: 1000, .. })), "{off:?}");
    }
}
