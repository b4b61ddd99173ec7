//! The input of one run of the engine: where the load goes, its operations, when they begin and when it ends.
//!
//! Plain data. Serde carries it from process to process, and so is in no public format: what users read is
//! [`crate::output`].

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::connecting::UnixSocket;
use crate::drivers::ProtocolSpec;
pub use crate::inputs::rate::Arrivals;
use crate::inputs::rate::RateProfile;
use crate::inputs::worker_share::{mix_seed, share};
use crate::record::SingleLimits;
use crate::tls::TlsSpec;
use crate::users::UserPlan;
use crate::users::outside_spec::{Outside, OutsideSpec};

/// When operations begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "loop", rename_all = "lowercase")]
pub enum Shape {
    /// A closed loop: each connection begins an operation a think time after its last one ended.
    Closed {
        /// Zero: the next operation begins at once.
        #[serde(with = "humantime_serde")]
        think: Duration,
    },
    /// An open loop: operations begin on a schedule, independent of the server's replies.
    Open {
        /// Operations a second over time.
        rate: RateProfile,
        /// Gaps between operations.
        arrivals: Arrivals,
    },
}

impl Shape {
    /// A closed loop without think time: the most load that its connections can make.
    pub fn closed() -> Self {
        Self::Closed { think: Duration::ZERO }
    }

    /// An open loop at one rate.
    pub fn open(rate_per_s: f64, arrivals: Arrivals) -> Self {
        Self::Open { rate: RateProfile::constant(rate_per_s), arrivals }
    }
}

/// One run of the engine.
///
/// [`LoadSpec::closed`] and [`LoadSpec::open`] make one; the `with_` methods change it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// Where the load goes, at least one address. Connections are divided evenly among them.
    pub addresses: Vec<SocketAddr>,
    /// Sockets of the file system, to which the connections go instead: none, or one for each address, which is then of this
    /// machine's loopback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<UnixSocket>,
    /// Local addresses to connect from, in turn. Empty: the system chooses.
    pub sources: Vec<IpAddr>,
    /// TLS; none for plain text.
    pub tls: Option<TlsSpec>,
    /// The protocol and its operations.
    pub protocol: ProtocolSpec,
    /// Connections over all workers.
    pub connections: u32,
    /// Worker threads over all processes.
    pub workers: u32,
    /// Operations on a connection before it is closed and opened again.
    pub requests_per_connection: Option<u32>,
    /// Longest wait for a reply, a connection or a handshake.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Users, one a connection, who make the closed loops of this load; none where each operation is independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UserPlan>,
    /// What users do outside their mix. The engine leaves it to [`outside_load`](crate::outside_load).
    #[serde(skip)]
    pub outside: Outside<OutsideSpec>,
    /// The whole load as one part; a session runs others on the same connections.
    pub part: LoadPart,
}

/// What may differ between the parts of a load whose connections stay open: when operations begin, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPart {
    /// When operations begin.
    pub shape: Shape,
    /// Time at the start that is not recorded.
    #[serde(with = "humantime_serde")]
    pub warmup: Duration,
    /// How long new operations begin after the warm-up. None: until `requests` are done.
    #[serde(with = "humantime_serde")]
    pub duration: Option<Duration>,
    /// Most operations to begin, over all workers.
    pub requests: Option<u64>,
    /// Length of the recorded intervals.
    #[serde(with = "humantime_serde")]
    pub interval: Duration,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Single operations that are kept with the times of their steps.
    #[serde(default)]
    pub singles: SingleLimits,
    /// How long before its begin the operations of an open loop fall due already, without warm-up: the time for which the
    /// server drained after the part before. They are sent at the begin, and their response time counts from when they
    /// were due. So the parts of a session are one continuous load in the server's own time (decision 0033).
    #[serde(with = "humantime_serde", default, skip_serializing_if = "Duration::is_zero")]
    pub due_before: Duration,
    /// How much longer than `duration` new operations begin, at most: the part ends as soon as none is in flight. A part that
    /// ends so leaves nothing to drain, and what comes after is as if the load had gone on.
    #[serde(with = "humantime_serde", default, skip_serializing_if = "Duration::is_zero")]
    pub idle_within: Duration,
}

impl LoadPart {
    /// Operations that worker `worker` of `workers` may begin.
    pub fn requests_of(&self, worker: u32, workers: u32) -> u64 {
        self.requests.map_or(u64::MAX, |all| share(all, worker, workers))
    }

    /// A separate seed for each worker and purpose.
    pub(crate) fn seed_of(&self, worker: u32, purpose: u64) -> u64 {
        mix_seed(self.seed, u64::from(worker) << 8 | purpose)
    }
}

impl LoadSpec {
    /// How long a run lasts unless it is changed.
    pub const DURATION: Duration = Duration::from_secs(10);
    /// Longest wait for the server unless it is changed.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
    /// Length of the recorded intervals unless it is changed. Shorter ones would cost more than they show.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// A closed loop without think time: 10 s in plain text on one worker, no warm-up, seed 1.
    pub fn closed(protocol: ProtocolSpec, address: SocketAddr, connections: u32) -> Self {
        Self {
            addresses: vec![address],
            sockets: Vec::new(),
            sources: Vec::new(),
            tls: None,
            protocol,
            connections,
            workers: 1,
            requests_per_connection: None,
            timeout: Self::TIMEOUT,
            users: None,
            outside: Outside::default(),
            part: LoadPart {
                shape: Shape::closed(),
                warmup: Duration::ZERO,
                duration: Some(Self::DURATION),
                requests: None,
                interval: Self::INTERVAL,
                seed: 1,
                singles: SingleLimits::default(),
                due_before: Duration::ZERO,
                idle_within: Duration::ZERO,
            },
        }
    }

    /// An open loop with Poisson arrivals at one rate; the rest is as in [`LoadSpec::closed`].
    pub fn open(protocol: ProtocolSpec, address: SocketAddr, connections: u32, rate_per_s: f64) -> Self {
        let shape = Shape::open(rate_per_s, Arrivals::Poisson);
        Self::closed(protocol, address, connections).with_shape(shape)
    }

    /// Changes where the load goes.
    #[must_use]
    pub fn with_addresses(self, addresses: Vec<SocketAddr>) -> Self {
        Self { addresses, ..self }
    }

    /// Changes to which sockets of the file system the load goes, if to any.
    #[must_use]
    pub fn with_sockets(self, sockets: Vec<UnixSocket>) -> Self {
        Self { sockets, ..self }
    }

    /// The same load for each of its addresses alone.
    pub fn of_each_address(&self) -> impl Iterator<Item = Self> {
        self.addresses.iter().enumerate().map(|(index, address)| {
            let sockets = self.sockets.get(index).cloned().into_iter().collect();
            self.clone().with_addresses(vec![*address]).with_sockets(sockets)
        })
    }

    /// Changes the local addresses.
    #[must_use]
    pub fn with_sources(self, sources: Vec<IpAddr>) -> Self {
        Self { sources, ..self }
    }

    /// Changes whether and how connections use TLS.
    #[must_use]
    pub fn with_tls(self, tls: Option<TlsSpec>) -> Self {
        Self { tls, ..self }
    }

    /// Changes the protocol and its operations.
    #[must_use]
    pub fn with_protocol(self, protocol: ProtocolSpec) -> Self {
        Self { protocol, ..self }
    }

    /// Changes the number of connections.
    #[must_use]
    pub fn with_connections(self, connections: u32) -> Self {
        Self { connections, ..self }
    }

    /// Changes the number of worker threads.
    #[must_use]
    pub fn with_workers(self, workers: u32) -> Self {
        Self { workers, ..self }
    }

    /// Changes who makes the closed loops. There is a connection for each user.
    #[must_use]
    pub fn with_users(self, users: Option<UserPlan>) -> Self {
        Self { users, ..self }
    }

    /// Changes what users do outside their mix.
    #[must_use]
    pub fn with_outside(self, outside: Outside<OutsideSpec>) -> Self {
        Self { outside, ..self }
    }

    /// Changes when operations begin.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Self {
        Self { part: LoadPart { shape, ..self.part }, ..self }
    }

    /// Changes the length of the warm-up.
    #[must_use]
    pub fn with_warmup(self, warmup: Duration) -> Self {
        Self { part: LoadPart { warmup, ..self.part }, ..self }
    }

    /// Changes the length; `None` for a run that ends with its last request, or when it is interrupted.
    #[must_use]
    pub fn with_duration(self, duration: impl Into<Option<Duration>>) -> Self {
        Self { part: LoadPart { duration: duration.into(), ..self.part }, ..self }
    }

    /// Changes the most operations to begin.
    #[must_use]
    pub fn with_requests(self, requests: impl Into<Option<u64>>) -> Self {
        Self { part: LoadPart { requests: requests.into(), ..self.part }, ..self }
    }

    /// Changes how many operations use a connection.
    #[must_use]
    pub fn with_requests_per_connection(self, requests: impl Into<Option<u32>>) -> Self {
        Self { requests_per_connection: requests.into(), ..self }
    }

    /// Changes the longest wait for the server.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Changes the length of the recorded intervals.
    #[must_use]
    pub fn with_interval(self, interval: Duration) -> Self {
        Self { part: LoadPart { interval, ..self.part }, ..self }
    }

    /// Changes the seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { part: LoadPart { seed, ..self.part }, ..self }
    }

    /// Connections of worker `worker`; the numbers of two workers differ by one at most.
    pub fn connections_of(&self, worker: u32) -> u32 {
        share(u64::from(self.connections), worker, self.workers) as u32
    }
}
