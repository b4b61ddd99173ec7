//! The engine under test: in this process, on the client's CPUs, against servers on the other CPUs.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use host::squeeze::{SqueezeError, Squeezer};
use host::telemetry::Sampler;
use host::{CpuSet, Host};
use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::drivers::keyspace::{KeyCommand, KeyspaceSpec, default_prefix};
use load::drivers::memcache::{MemcacheDialect, MemcacheSpec};
use load::engine::{self, LoadOutcome, RunContext, RunError};
use load::inputs::keys::Popularity;
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;
use load::validity::BrokenRule;

use crate::known::account::Account;
use crate::known::behaviour::Behaviour;
use crate::known::child::{ChildError, KnownServer};

/// Why a check has no result.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A known server failed.
    #[error(transparent)]
    Server(#[from] ChildError),
    /// The engine failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The client's CPU time cannot be taken.
    #[error("cannot take CPU time from the client: {0}")]
    Squeeze(#[from] SqueezeError),
    /// A system call for CPUs or temporary files failed.
    #[error("{what}: {source}")]
    System {
        /// What failed.
        what: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Another machine of the check failed: one line with its name.
    #[error(transparent)]
    Host(Box<dyn std::error::Error + Send + Sync>),
    /// The user interrupted the selftest.
    #[error("interrupted")]
    Interrupted,
}

/// The protocol of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestProtocol {
    /// HTTP/1.1.
    Http,
    /// memcached's text protocol.
    Memcached,
}

impl TestProtocol {
    /// The usual spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Memcached => "memcached",
        }
    }

    /// A mix of one operation.
    pub(crate) fn spec(self) -> ProtocolSpec {
        match self {
            Self::Http => ProtocolSpec::Http(HttpSpec::new("127.0.0.1", vec![HttpOperation::get("/")])),
            Self::Memcached => ProtocolSpec::Memcache(MemcacheSpec {
                dialect: MemcacheDialect::Text,
                keyspace: KeyspaceSpec {
                    mix: vec![(KeyCommand::Get, 1.0)],
                    keys: 1_000,
                    key_prefix: default_prefix(),
                    popularity: Popularity::Uniform,
                    value_size: "128".parse().expect("a size"),
                    verify: false,
                    seed: 1,
                },
            }),
        }
    }
}

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadShape {
    /// In a closed loop.
    Closed,
    /// As a Poisson process, at this rate per second.
    Poisson(f64),
    /// Evenly spaced, at this rate per second.
    Even(f64),
}

/// One run of the engine.
#[derive(Clone, Copy, Debug)]
pub struct TestLoad {
    /// The protocol.
    pub protocol: TestProtocol,
    /// Connections.
    pub connections: u32,
    /// When operations start.
    pub shape: LoadShape,
    /// Length of the run; all of it is measured.
    pub length: Duration,
    /// Length of a recorded interval.
    pub interval: Duration,
}

impl TestLoad {
    /// HTTP, with intervals of 100 ms.
    pub fn http(connections: u32, shape: LoadShape, length: Duration) -> Self {
        Self {
            protocol: TestProtocol::Http,
            connections,
            shape,
            length,
            interval: Duration::from_millis(100),
        }
    }
}

/// The results of one run on both sides.
#[derive(Debug)]
pub struct Measurement {
    /// The engine's result.
    pub outcome: LoadOutcome,
    /// Its summary.
    pub summary: Summary,
    /// The server's account.
    pub account: Account,
}

impl Measurement {
    /// Why the server times of this run cannot be trusted, a line each. Late sends are not in them, and the server's account
    /// is of the requests as they came.
    pub fn reasons_against_server_times(&self) -> Vec<String> {
        let rules = self.summary.rules_broken.iter();
        rules.filter(|rule| !matches!(rule.kind(), BrokenRule::Lag { .. })).map(ToString::to_string).collect()
    }
}

/// Long enough to have no effect on the measurement.
const STEAL_PERIOD: Duration = Duration::from_secs(1);

/// Samples the CPU time that the hypervisor takes (steal).
pub struct StealSampler {
    sampler: Sampler,
    cpus: CpuSet,
}

impl StealSampler {
    /// Stops; returns the steal since the start, 0 to 1. `None` where the kernel does not report it.
    pub fn stop(self) -> Option<f64> {
        self.sampler.stop().stolen(&self.cpus, 0..=u64::MAX)
    }
}

/// The engine with the resources that it needs.
pub struct Instrument<'a> {
    host: Host,
    /// The CPUs of server and client.
    cpus: CpuSet,
    server_cpus: CpuSet,
    client_cpus: CpuSet,
    context: &'a RunContext,
    directory: &'a Path,
    seed: u64,
}

impl<'a> Instrument<'a> {
    /// Splits the CPUs, and pins this thread to the client's. The engine's threads inherit the pinning.
    pub fn new(context: &'a RunContext, directory: &'a Path, seed: u64) -> Result<Self, CheckError> {
        let system = |what| move |source| CheckError::System { what, source };
        let host = Host::local();
        let allowed = host.allowed_cpus().map_err(system("cannot read the CPU affinity"))?;
        let split = host::affinity::split(&host.cores(&allowed));
        split.client.pin_this_thread().map_err(system("cannot pin the client to its CPUs"))?;
        let (server_cpus, client_cpus) = (split.server, split.client);
        Ok(Self { host, cpus: allowed, server_cpus, client_cpus, context, directory, seed })
    }

    /// Starts to sample steal. `None` where the host cannot be sampled.
    pub fn sample_steal(&self) -> Option<StealSampler> {
        let sampler = self.host.sample(Vec::new(), STEAL_PERIOD).ok()?;
        Some(StealSampler { sampler, cpus: self.cpus.clone() })
    }

    /// Takes this share of the time of each of the client's CPUs, 0 to 0.9, until it is dropped.
    pub fn take_client_cpus(&self, share: f64) -> Result<Squeezer, CheckError> {
        Ok(self.host.burn(&self.client_cpus, share)?)
    }

    /// Starts a server with this behaviour.
    pub fn start(&self, change: impl FnOnce(&mut Behaviour)) -> Result<KnownServer, CheckError> {
        self.check_interrupted()?;
        let mut behaviour = Behaviour::on(0);
        (behaviour.log, behaviour.seed) = (true, self.seed);
        change(&mut behaviour);
        Ok(KnownServer::start(&self.host, &behaviour, Some(&self.server_cpus), self.directory)?)
    }

    /// Runs a load and reads the server's account afterwards.
    pub fn run(&self, server: &KnownServer, load: &TestLoad) -> Result<Measurement, CheckError> {
        self.run_with(server, load, |_| ())
    }

    /// Runs a load with a changed [`LoadSpec`].
    pub fn run_with(
        &self,
        server: &KnownServer,
        load: &TestLoad,
        change: impl FnOnce(&mut LoadSpec),
    ) -> Result<Measurement, CheckError> {
        let shape = match load.shape {
            LoadShape::Closed => Shape::closed(),
            LoadShape::Poisson(rate) => Shape::open(rate, Arrivals::Poisson),
            LoadShape::Even(rate) => Shape::open(rate, Arrivals::Constant),
        };
        let mut spec = LoadSpec::closed(load.protocol.spec(), server.address(), load.connections)
            .with_shape(shape)
            .with_duration(load.length)
            .with_interval(load.interval)
            .with_seed(self.seed);
        change(&mut spec);
        let outcome = engine::run(&spec, self.context, &mut |_| ())?;
        self.check_interrupted()?;
        Ok(Measurement { summary: Summary::of(&outcome), outcome, account: server.account()? })
    }

    fn check_interrupted(&self) -> Result<(), CheckError> {
        if self.context.interrupted.load(Ordering::Relaxed) { Err(CheckError::Interrupted) } else { Ok(()) }
    }
}
