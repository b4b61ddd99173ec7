//! `facts.json`: the host, the client and every variant, recorded before the first trial.
//!
//! Facts are a flat map from name to text, so that two sides can be compared without knowing what a fact means. The
//! fairness check decides which differences matter; its findings are in the verdict.

use super::KnobValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts by name. Names have dots, such as `kernel.release` or `thp.enabled`; values are as the system reports them.
pub type FlatFacts = BTreeMap<String, String>;

/// The content of `facts.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which the facts were recorded, milliseconds.
    pub taken_unix_ms: u64,
    /// This host, with the client: kernel, CPU, mitigations, transparent huge pages, governor, sysctls.
    pub host: FlatFacts,
    /// The other machines with servers, by name: the same facts of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, FlatFacts>,
    /// The networks between clients and servers, where these are different machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkFacts>,
    /// What several clients on other machines than the server move at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_network: Vec<SharedNetworkFacts>,
    /// The client: version, threads, CPUs.
    pub client: FlatFacts,
    /// The files of the workload: SHA-256 by name. Empty in runs of versions that did not record it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload: FlatFacts,
    /// The variants in the order of the plan.
    pub variants: Vec<VariantFacts>,
    /// When the run was resumed after an interruption, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumption>,
}

/// The network between a client and a server, as TCP got it before the trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkFacts {
    /// The name of the client's host; none for this machine.
    pub client: Option<String>,
    /// The name of the server's host; none for this machine.
    pub server: Option<String>,
    /// Median round trip, microseconds.
    pub round_trip_us: f64,
    /// Throughput from the server to the client, bytes a second.
    pub to_client_bytes_per_s: f64,
    /// Throughput from the client to the server, bytes a second.
    pub to_server_bytes_per_s: f64,
}

/// The network between all clients of a run that are on other machines and a server, as TCP got it before the trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedNetworkFacts {
    /// The name of the server's host; none for this machine.
    pub server: Option<String>,
    /// Throughput from the server to all clients at the same time, bytes a second.
    pub to_clients_bytes_per_s: f64,
    /// Throughput from all clients to the server at the same time, bytes a second.
    pub to_server_bytes_per_s: f64,
}

/// One continuation of a run that was interrupted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    /// Unix time, milliseconds.
    pub at_unix_ms: u64,
    /// The block with which the run went on.
    pub block: u32,
    /// Number of trials that the run kept.
    pub kept_trials: u32,
    /// Number of trials of the block that was cut. They were removed and run again.
    pub discarded_trials: u32,
    /// Facts that had changed since the run began, and that the user accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FactChange>,
}

/// A fact that changed between the beginning of a run and its continuation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactChange {
    /// The fact, such as `host kernel.release` or `nginx version`.
    pub fact: String,
    /// Its value at the beginning; empty where it was not there.
    pub was: String,
    /// Its value now; empty where it is gone.
    pub is: String,
}

/// One variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantFacts {
    /// Its name in the plan.
    pub name: String,
    /// The version that the server reports.
    pub version: String,
    /// Compiler and flags; empty where the server does not report them.
    pub build: String,
    /// The allocator in use, such as `glibc malloc` or `jemalloc 5.3.0`.
    pub allocator: String,
    /// The C library, such as `glibc 2.36`.
    pub libc: String,
    /// Every knob with its value, defaults included.
    pub knobs: BTreeMap<String, KnobValue>,
    /// Copies of the effective configuration files.
    pub config: Vec<ConfigFile>,
    /// Everything else: package, path and digest of the binary, limits, durability settings.
    pub facts: FlatFacts,
}

/// What the keys of the facts of a companion begin with; its name and a dot follow: `companion.database.version`.
pub const COMPANION_FACTS: &str = "companion.";

impl VariantFacts {
    /// Everything but the files as dotted keys with their values, knobs as `knobs.NAME`.
    pub fn flat(&self) -> FlatFacts {
        let fields = [
            ("version", &self.version),
            ("build", &self.build),
            ("allocator", &self.allocator),
            ("libc", &self.libc),
        ];
        let mut flat = self.facts.clone();
        flat.extend(
            fields
                .iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|&(key, value)| (key.to_owned(), value.clone())),
        );
        flat.extend(self.knobs.iter().map(|(name, value)| (format!("knobs.{name}"), value.to_string())));
        flat
    }
}

/// A configuration file as the server read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// Its name, such as `nginx.conf`.
    pub name: String,
    /// The copy, relative to the run directory.
    pub file: String,
}
