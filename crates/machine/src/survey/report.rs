//! What a survey of hosts has found. These types are the JSON of `showdown hosts --format json`: docs/FORMATS.md has their
//! keys.

use std::collections::BTreeMap;

use host::doctor::HostFinding;
use serde::Serialize;

use crate::clock::ClockOffset;
use crate::protocol::NetworkPath;

/// All hosts, and the network between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostsReport {
    /// In the order of the hosts file.
    pub hosts: Vec<HostReport>,
    /// Each pair of reachable hosts, once.
    pub network: Vec<NetworkReport>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostReport {
    /// Its name in the hosts file.
    pub name: String,
    /// Where ssh finds it; none for this machine.
    pub ssh: Option<String>,
    /// Its address in the hosts file.
    pub address: String,
    /// Its kind in the hosts file.
    pub kind: Option<String>,
    /// Whether its agent answers.
    pub reachable: bool,
    /// What must be mended before it can be used, each in one line.
    pub problems: Vec<String>,
    /// What can mislead, each in one line.
    pub cautions: Vec<String>,
    /// What the agent has told.
    pub found: Option<HostFound>,
}

/// What the agent of a host has told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostFound {
    /// The version of its showdown.
    pub version: String,
    /// The ID of the user that it runs as.
    pub user_id: u32,
    /// The facts in a line.
    pub summary: String,
    /// All facts, from dotted keys to text.
    pub facts: BTreeMap<String, String>,
    /// The CPUs that will be used.
    pub cpus: String,
    /// The CPUs that it has.
    pub allowed_cpus: String,
    /// How far its clocks are ahead.
    pub clock: ClockOffset,
    /// The findings of its doctor.
    pub findings: Vec<HostFinding>,
}

/// The network between two hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkReport {
    /// The host that has opened the connections.
    pub from: String,
    /// The other one.
    pub to: String,
    /// What was measured; none where no connection was possible.
    pub path: Option<NetworkPath>,
    /// Connections that failed, each in one line.
    pub problems: Vec<String>,
}

impl HostsReport {
    /// What must be mended: the host's name and one line.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().flat_map(|host| host.problems.iter().map(String::as_str))
    }
}
