//! What a run of the engine is asked to do. Plain data that serde can carry, so that a plan can record it
//! and another process can be given its part.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::division::{mix_seed, share};
use crate::drivers::ProtocolSpec;
use crate::inputs::rate::RateProfile;

/// How operations of an open loop follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Independently, with exponential gaps, as the requests of many users do.
    #[default]
    Poisson,
    /// Evenly.
    Constant,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Poisson => "Poisson",
            Self::Constant => "constant",
        })
    }
}

/// When operations begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "loop", rename_all = "lowercase")]
pub enum Shape {
    /// Each connection begins an operation a think time after its last one ended.
    Closed {
        /// Zero for as fast as it goes.
        #[serde(with = "humantime_serde")]
        think: Duration,
    },
    /// Operations begin on a schedule, whatever the server does.
    Open {
        /// Operations a second over time.
        rate: RateProfile,
        /// Gaps between them.
        arrivals: Arrivals,
    },
}

/// TLS on the connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSpec {
    /// The name to ask for (SNI) and to check.
    pub server_name: String,
    /// May a connection resume an earlier one's session?
    pub resumption: bool,
    /// Whose certificates are trusted.
    pub trust: Trust,
}

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anybody's: the server under test is known by its address. Summaries say so.
    Anyone,
    /// The system's authorities.
    System,
    /// The authorities in this PEM file.
    File(String),
}

/// One run of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// Where the load goes, at least one address: connections are spread over them in turn, as evenly as can be.
    pub addresses: Vec<SocketAddr>,
    /// Local addresses to connect from, in turn; empty leaves it to the system.
    pub sources: Vec<IpAddr>,
    /// TLS, or in the clear.
    pub tls: Option<TlsSpec>,
    /// The protocol and its operations.
    pub protocol: ProtocolSpec,
    /// Connections over all workers.
    pub connections: u32,
    /// Worker threads over all processes.
    pub workers: u32,
    /// When operations begin.
    pub shape: Shape,
    /// Not recorded, at the front.
    #[serde(with = "humantime_serde")]
    pub warmup: Duration,
    /// How long new operations begin after the warm-up; none means until `requests` are done.
    #[serde(with = "humantime_serde")]
    pub duration: Option<Duration>,
    /// Most operations to begin, over all workers.
    pub requests: Option<u64>,
    /// Operations on a connection before it is closed and opened anew.
    pub requests_per_connection: Option<u32>,
    /// The longest wait for a reply, a connection or a handshake.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Length of the intervals that are recorded.
    #[serde(with = "humantime_serde")]
    pub interval: Duration,
    /// Everything drawn at random follows from this.
    pub seed: u64,
}

impl LoadSpec {
    /// Connections of worker `worker`: as even as can be.
    pub fn connections_of(&self, worker: u32) -> u32 {
        share(u64::from(self.connections), worker, self.workers) as u32
    }

    /// Operations that worker `worker` may begin.
    pub fn requests_of(&self, worker: u32) -> u64 {
        self.requests.map_or(u64::MAX, |all| share(all, worker, self.workers))
    }

    /// A seed of its own for each worker and purpose.
    pub(crate) fn seed_of(&self, worker: u32, purpose: u64) -> u64 {
        mix_seed(self.seed, u64::from(worker) << 8 | purpose)
    }
}
