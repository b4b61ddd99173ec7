//! What has changed at a balancer that this run has not changed: a reload, a restart, a weight or a server that somebody else has set.
//! This is the only place that detects it; what follows is left to `guard`.

use std::collections::BTreeMap;

use super::interface::ServerReading;
use crate::observation::{BalancerIdentity, Change};

/// What a server should look like.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expected {
    address: String,
    weight: u32,
    administration: u32,
}

/// What this run expects of a balancer. A change is reported once, and expected from then on.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The name of the backend.
    backend: String,
    identity: BalancerIdentity,
    servers: BTreeMap<String, Expected>,
}

impl Watch {
    /// Everything as it is now.
    pub fn new(backend: &str, identity: BalancerIdentity, servers: &[ServerReading]) -> Self {
        let servers = expected(servers);
        Self { backend: backend.to_owned(), identity, servers }
    }

    /// This run has given a server this weight.
    pub fn expect_weight(&mut self, server: &str, weight: u32) {
        if let Some(expected) = self.servers.get_mut(server) {
            expected.weight = weight;
        }
    }

    /// This run has added or withdrawn a server, which looks so now.
    pub fn expect_server(&mut self, reading: &ServerReading) {
        self.servers.insert(reading.name.clone(), reading.into());
    }

    /// This run has removed a server.
    pub fn expect_no_server(&mut self, server: &str) {
        self.servers.remove(server);
    }

    /// What has changed. `is_alive` says whether a process still runs.
    pub fn changes(
        &mut self,
        identity: &BalancerIdentity,
        servers: &[ServerReading],
        is_alive: impl Fn(u32) -> bool,
    ) -> Vec<Change> {
        let (before, now) = (self.identity.pid, identity.pid);
        if (before, self.identity.started_s) != (now, identity.started_s) {
            let change = replacement(&self.identity, identity, is_alive);
            // What is different about its servers follows from the configuration, and is nobody's change.
            self.identity = identity.clone();
            self.servers = expected(servers);
            return vec![change];
        }
        let mut changes = Vec::new();
        if self.identity.algorithm != identity.algorithm {
            changes.push(Change::Algorithm { now: identity.algorithm.clone() });
        }
        for server in servers {
            match self.servers.get(&server.name) {
                Some(expected) => expected.compare(&self.backend, server, &mut changes),
                None => changes.push(Change::Added(server.name.clone())),
            }
        }
        for name in self.servers.keys() {
            if !servers.iter().any(|server| server.name == *name) {
                changes.push(Change::Removed(name.clone()));
            }
        }
        if !changes.is_empty() {
            self.identity = identity.clone();
            self.servers = expected(servers);
        }
        changes
    }
}

/// How a process has taken the place of another one. A reload leaves the master process, which opened the admin socket. Without one, each
/// process opens the socket itself.
fn replacement(before: &BalancerIdentity, now: &BalancerIdentity, is_alive: impl Fn(u32) -> bool) -> Change {
    let (pid, now_pid) = (before.pid, now.pid);
    let master = before.master.filter(|master| *master != pid);
    if pid != now_pid && (is_alive(pid) || (master.is_some() && master == now.master)) {
        return Change::Reloaded { before: pid, now: now_pid };
    }
    if pid == now_pid || master.is_some() {
        return Change::Restarted { before: pid, now: now_pid };
    }
    Change::Replaced { before: pid, now: now_pid }
}

fn expected(servers: &[ServerReading]) -> BTreeMap<String, Expected> {
    servers.iter().map(|server| (server.name.clone(), Expected::from(server))).collect()
}

impl From<&ServerReading> for Expected {
    fn from(reading: &ServerReading) -> Self {
        let (address, weight) = (reading.address.clone(), reading.weight);
        Self { address, weight, administration: reading.administration }
    }
}

impl Expected {
    fn compare(&self, backend: &str, now: &ServerReading, changes: &mut Vec<Change>) {
        let (backend, server) = (backend.to_owned(), now.name.clone());
        if self.weight != now.weight {
            changes.push(Change::Weight {
                backend: backend.clone(),
                server: server.clone(),
                expected: self.weight,
                now: now.weight,
            });
        }
        if self.address != now.address {
            let (before, now) = (self.address.clone(), now.address.clone());
            changes.push(Change::Address { server: server.clone(), before, now });
        }
        if self.administration != now.administration {
            changes.push(Change::Administration { backend, server, now: now.state });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ServerState;

    fn identity(pid: u32, started_s: u64) -> BalancerIdentity {
        let (algorithm, version) = ("roundrobin".into(), "HAProxy 2.6".into());
        BalancerIdentity { pid, started_s, algorithm, version, master: Some(900) }
    }

    fn server(name: &str, weight: u32) -> ServerReading {
        ServerReading {
            name: name.to_owned(),
            address: "127.0.0.1:80".to_owned(),
            weight,
            initial_weight: 0,
            state: ServerState::Up,
            administration: 0,
            has_agent: false,
        }
    }

    #[test]
    fn a_change_by_somebody_else_is_reported_once_and_own_changes_never() {
        let servers = [server("old", 64), server("new", 0)];
        let mut watch = Watch::new("b", identity(1, 10), &servers);
        assert_eq!(watch.changes(&identity(1, 10), &servers, |_| true), []);
        watch.expect_weight("new", 4);
        let raised = [server("old", 64), server("new", 4)];
        assert_eq!(watch.changes(&identity(1, 10), &raised, |_| true), []);
        let after = [server("old", 3), ServerReading { address: "10.0.0.1:80".into(), ..server("new", 4) }];
        let changes = watch.changes(&identity(1, 10), &after, |_| true);
        let (before, now) = ("127.0.0.1:80".to_owned(), "10.0.0.1:80".to_owned());
        assert_eq!(
            changes,
            [
                Change::Weight { backend: "b".into(), server: "old".into(), expected: 64, now: 3 },
                Change::Address { server: "new".into(), before, now }
            ]
        );
        assert!(changes[0].to_string().contains("`set server b/old weight 3`"), "{}", changes[0]);
        assert_eq!(watch.changes(&identity(1, 10), &after, |_| true), []);
        let off = [ServerReading { administration: 1, state: ServerState::Maintenance, ..server("old", 3) }];
        let changes = watch.changes(&identity(1, 10), &off, |_| true);
        let now = ServerState::Maintenance;
        assert_eq!(
            changes,
            [
                Change::Administration { backend: "b".into(), server: "old".into(), now },
                Change::Removed("new".into())
            ]
        );
        watch.expect_no_server("old");
        let changes = watch.changes(&identity(1, 10), &off, |_| true);
        assert_eq!(changes, [Change::Added("old".into())]);
    }

    /// Of a process without a master: it has opened its socket itself.
    fn alone(pid: u32, started_s: u64) -> BalancerIdentity {
        BalancerIdentity { master: Some(pid), ..identity(pid, started_s) }
    }

    #[test]
    fn a_reload_is_told_from_a_restart() {
        let servers = [server("old", 64)];
        let watch = Watch::new("b", identity(1, 10), &servers);
        let (before, now) = (1, 2);
        for (pid, master, is_alive, change, why) in [
            (2, Some(900), true, Change::Reloaded { before, now }, "the old process finishes"),
            (
                2,
                Some(900),
                false,
                Change::Reloaded { before, now },
                "it had no session, and the master stays",
            ),
            (2, Some(901), false, Change::Restarted { before, now }, "another master"),
            (1, Some(900), true, Change::Restarted { before, now: 1 }, "in a container it is pid 1 again"),
        ] {
            let after = BalancerIdentity { master, ..identity(pid, 20) };
            assert_eq!(watch.clone().changes(&after, &servers, |_| is_alive), [change], "{why}");
        }
        let changes = Watch::new("b", alone(1, 10), &servers).changes(&alone(2, 20), &servers, |_| false);
        assert_eq!(changes, [Change::Replaced { before, now }]);
        assert!(changes[0].to_string().starts_with("HAProxy was reloaded or restarted: "), "{}", changes[0]);
        let other = BalancerIdentity { algorithm: "leastconn".into(), ..identity(1, 10) };
        let changes = watch.clone().changes(&other, &servers, |_| true);
        assert_eq!(changes, [Change::Algorithm { now: "leastconn".into() }]);
        assert!(changes[0].to_string().contains("leastconn"));
    }
}
