//! The engine as it is under test: in this process, on the client's CPUs, against servers on the others.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

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

use crate::known::account::Account;
use crate::known::behaviour::Behaviour;
use crate::known::child::{ChildError, KnownServer};

/// Why a check came to no answer.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A known server.
    #[error(transparent)]
    Server(#[from] ChildError),
    /// The engine.
    #[error(transparent)]
    Run(#[from] RunError),
    /// CPUs or temporary files.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// The user has seen enough.
    #[error("interrupted")]
    Interrupted,
}

/// What the engine speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// memcached's text protocol.
    Memcached,
}

impl Protocol {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Memcached => "memcached",
        }
    }

    fn spec(self) -> ProtocolSpec {
        match self {
            Self::Http => ProtocolSpec::Http(HttpSpec {
                authority: "127.0.0.1".to_owned(),
                operations: vec![HttpOperation::get("/")],
            }),
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

/// When operations begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as it goes.
    Closed,
    /// With exponential gaps, so many a second.
    Poisson(f64),
    /// Evenly, so many a second.
    Even(f64),
}

/// One run of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What is spoken.
    pub protocol: Protocol,
    /// Connections.
    pub connections: u32,
    /// When operations begin.
    pub pace: Pace,
    /// For how long they do; all of it is measured.
    pub length: Duration,
    /// How often is recorded.
    pub interval: Duration,
}

impl Load {
    /// HTTP, recorded every 100 ms.
    pub fn http(connections: u32, pace: Pace, length: Duration) -> Self {
        Self { protocol: Protocol::Http, connections, pace, length, interval: Duration::from_millis(100) }
    }
}

/// Both sides of one run.
#[derive(Debug)]
pub struct Measured {
    /// The engine's.
    pub outcome: LoadOutcome,
    /// The same as it is printed.
    pub summary: Summary,
    /// The server's.
    pub account: Account,
}

/// Seldom enough to be in nobody's way.
const STEAL_PERIOD: Duration = Duration::from_secs(1);

/// A look at what the hypervisor takes of the CPUs.
pub struct StealWatch {
    sampler: Sampler,
    cpus: CpuSet,
}

impl StealWatch {
    /// The share that it took since the look began, 0 to 1; none where the kernel does not say.
    pub fn stop(self) -> Option<f64> {
        self.sampler.stop().stolen(&self.cpus)
    }
}

/// The engine with what it needs to run.
pub struct Instrument<'a> {
    host: Host,
    /// Those of server and client.
    cpus: CpuSet,
    server_cpus: CpuSet,
    context: &'a RunContext,
    directory: &'a Path,
    seed: u64,
}

impl<'a> Instrument<'a> {
    /// Shares out the CPUs and keeps this thread, whose heirs the engine's are, to the client's.
    pub fn new(context: &'a RunContext, directory: &'a Path, seed: u64) -> Result<Self, CheckError> {
        let system = |what| move |source| CheckError::System { what, source };
        let host = Host::local();
        let allowed = host.allowed_cpus().map_err(system("the CPUs that may be used"))?;
        let split = host::affinity::split(&host.cores(&allowed));
        split.client.pin_this_thread().map_err(system("the client's CPUs"))?;
        Ok(Self { host, cpus: allowed, server_cpus: split.server, context, directory, seed })
    }

    /// Begins to watch what the hypervisor takes of the CPUs; none where the host cannot be watched.
    pub fn watch_steal(&self) -> Option<StealWatch> {
        let sampler = self.host.sample(Vec::new(), STEAL_PERIOD).ok()?;
        Some(StealWatch { sampler, cpus: self.cpus.clone() })
    }

    /// A server of this behaviour.
    pub fn start(&self, change: impl FnOnce(&mut Behaviour)) -> Result<KnownServer, CheckError> {
        self.heed_the_user()?;
        let mut behaviour = Behaviour::on(0);
        (behaviour.log, behaviour.seed) = (true, self.seed);
        change(&mut behaviour);
        Ok(KnownServer::start(&self.host, &behaviour, Some(&self.server_cpus), self.directory)?)
    }

    /// Loads a server and asks it afterwards.
    pub fn run(&self, server: &KnownServer, load: &Load) -> Result<Measured, CheckError> {
        self.run_with(server, load, |_| ())
    }

    /// The same, with something to change in what the engine is asked to do.
    pub fn run_with(
        &self,
        server: &KnownServer,
        load: &Load,
        change: impl FnOnce(&mut LoadSpec),
    ) -> Result<Measured, CheckError> {
        let shape = match load.pace {
            Pace::Closed => Shape::closed(),
            Pace::Poisson(rate) => Shape::open(rate, Arrivals::Poisson),
            Pace::Even(rate) => Shape::open(rate, Arrivals::Constant),
        };
        let mut spec = LoadSpec::closed(load.protocol.spec(), server.address(), load.connections)
            .with_shape(shape)
            .with_duration(load.length)
            .with_interval(load.interval)
            .with_seed(self.seed);
        change(&mut spec);
        let outcome = engine::run(&spec, self.context, &mut |_| ())?;
        self.heed_the_user()?;
        Ok(Measured { summary: Summary::of(&outcome), outcome, account: server.account()? })
    }

    fn heed_the_user(&self) -> Result<(), CheckError> {
        if self.context.interrupted.load(Ordering::Relaxed) { Err(CheckError::Interrupted) } else { Ok(()) }
    }
}
