//! From options to what the engine is asked to do.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::drivers::keyspace::{Command, KeyspaceSpec};
use load::drivers::memcache::{Dialect, MemcacheSpec};
use load::drivers::redis::{Auth, PasswordSource, RedisSpec};
use load::inputs::target::{Scheme, Target};
use load::mix;
use load::spec::{LoadSpec, Shape, TlsSpec, Trust};

use super::args::Args;
use crate::exit::usage;

/// How long to measure if nothing is said.
const DURATION: Duration = Duration::from_secs(10);
/// Each step of a search for a capacity.
const STEP: Duration = Duration::from_secs(5);
const STEP_WARMUP: Duration = Duration::from_secs(1);
/// Connections from one local address to one server: under the 28,232 ports that Linux hands out unless
/// told otherwise (`ip_local_port_range`).
const CONNECTIONS_A_SOURCE: u64 = 25_000;
/// Longest wait for the first connection.
const LOCATE: Duration = Duration::from_secs(5);
/// Finer would cost more than it shows.
const INTERVAL: Duration = Duration::from_secs(1);

/// What will be run.
pub struct Planned {
    pub spec: LoadSpec,
    /// What is loaded and how, for the first line of the answer.
    pub title: String,
}

/// Checks the options against each other, finds the server, and makes the spec.
pub fn plan(args: &Args) -> anyhow::Result<Planned> {
    let target = Target::parse(&args.target).map_err(usage)?;
    let connections =
        u32::try_from(args.connections).map_err(|_| usage("--connections: at most 4 billion"))?;
    let threads = u32::try_from(args.threads).ok().filter(|&t| t <= 1024);
    let workers = threads.ok_or_else(|| usage("--threads: at most 1,024"))?;
    if u64::from(workers) > args.connections {
        return Err(usage(format!(
            "{workers} threads for {connections} connections: give each thread a connection at least"
        )));
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one("a new seed"));
    let protocol = protocol(args, &target, seed)?;
    // Operations that cannot be carried out are told before anything is sent.
    protocol.names().map_err(usage)?;
    let shape = match &args.rate {
        Some(rate) => Shape::Open { rate: rate.clone(), arrivals: args.arrivals },
        None => Shape::Closed { think: args.think },
    };
    let searching = args.find_capacity.is_some();
    let own_length = args.rate.as_ref().and_then(load::inputs::rate::RateProfile::length);
    let duration = match (args.duration, args.requests) {
        (Some(duration), _) => Some(duration),
        (None, Some(_)) => None,
        (None, None) if searching => Some(STEP),
        (None, None) => Some(own_length.unwrap_or(DURATION)),
    };
    let address = target.locate(args.target_is_mine, LOCATE).map_err(|error| match error {
        load::inputs::target::TargetError::Public { .. } => usage(error),
        other => other.into(),
    })?;
    let spec = LoadSpec {
        address,
        sources: sources(args, address)?,
        tls: tls(args, &target),
        protocol,
        connections,
        workers,
        shape,
        warmup: if searching && args.warmup.is_zero() { STEP_WARMUP } else { args.warmup },
        duration,
        requests: args.requests,
        requests_per_connection: args.requests_per_connection,
        timeout: args.timeout,
        interval: INTERVAL,
        seed,
    };
    Ok(Planned { title: title(args, &spec), spec })
}

fn protocol(args: &Args, target: &Target, seed: u64) -> anyhow::Result<ProtocolSpec> {
    let has_weights = args.get.or(args.set).or(args.delete).is_some();
    Ok(match target.scheme {
        Scheme::Http | Scheme::Https => {
            if has_weights || args.populate {
                return Err(usage(
                    "--get, --set, --delete and --populate are for memcache:// and redis:// targets",
                ));
            }
            let operations = match &args.ops {
                Some(path) => mix::read_http(path).map_err(usage)?,
                None => vec![one_request(args, target)?],
            };
            ProtocolSpec::Http(HttpSpec { authority: target.authority(), operations })
        }
        Scheme::Memcache => ProtocolSpec::Memcache(MemcacheSpec {
            dialect: args.dialect,
            keyspace: keyspace(args, has_weights, seed)?,
        }),
        Scheme::Redis => {
            if args.dialect != Dialect::Text {
                return Err(usage("--dialect is for memcache:// targets"));
            }
            // The variable that redis-cli takes its password from.
            let variable = "REDISCLI_AUTH".to_owned();
            let is_set = std::env::var_os(&variable).is_some();
            let auth = is_set.then_some(Auth { user: None, password: PasswordSource::Environment(variable) });
            ProtocolSpec::Redis(RedisSpec { auth, keyspace: keyspace(args, has_weights, seed)? })
        }
    })
}

fn keyspace(args: &Args, has_weights: bool, seed: u64) -> anyhow::Result<KeyspaceSpec> {
    if args.body.is_some() || !args.header.is_empty() || args.method != "GET" {
        return Err(usage("--method, --header and --body are for http:// and https:// targets"));
    }
    let mix = match (&args.ops, has_weights) {
        (Some(_), true) => {
            return Err(usage("weights come from --ops or from --get, --set and --delete: give one"));
        }
        (Some(path), false) => mix::read_commands(path).map_err(usage)?,
        (None, false) => vec![(Command::Get, 1.0)],
        (None, true) => {
            let weights =
                [(Command::Get, args.get), (Command::Set, args.set), (Command::Delete, args.delete)];
            weights.into_iter().filter_map(|(command, weight)| Some((command, weight?))).collect()
        }
    };
    Ok(KeyspaceSpec {
        mix,
        keys: args.keys,
        key_prefix: args.key_prefix.clone(),
        popularity: args.key_skew,
        value_size: args.value_size.clone(),
        verify: args.populate,
        seed,
    })
}

fn one_request(args: &Args, target: &Target) -> anyhow::Result<HttpOperation> {
    let header = |text: &String| {
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| usage(format!("--header {text:?} has no colon: write 'Name: value'")))?;
        anyhow::Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    Ok(HttpOperation {
        method: args.method.clone(),
        headers: args.header.iter().map(header).collect::<anyhow::Result<_>>()?,
        body: args.body.clone(),
        ..HttpOperation::get(&target.path_and_query)
    })
}

fn tls(args: &Args, target: &Target) -> Option<TlsSpec> {
    (target.scheme == Scheme::Https).then(|| TlsSpec {
        server_name: target.host.clone(),
        resumption: !args.no_tls_resumption,
        trust: match &args.ca {
            Some(path) => Trust::File(path.display().to_string()),
            None if args.verify_certificate => Trust::System,
            None => Trust::Anyone,
        },
    })
}

/// Ports run out at some 28,000 connections from one address to another; loopback has 16 million addresses.
fn sources(args: &Args, to: SocketAddr) -> anyhow::Result<Vec<IpAddr>> {
    if let Some(other) = args.source.iter().find(|source| source.is_ipv4() != to.is_ipv4()) {
        return Err(usage(format!("--source {other} cannot reach {to}: give addresses of the same family")));
    }
    let needed = args.connections.div_ceil(CONNECTIONS_A_SOURCE);
    if !args.source.is_empty() || needed < 2 || !to.ip().is_loopback() || !to.is_ipv4() {
        return Ok(args.source.clone());
    }
    let first = u32::from(Ipv4Addr::new(127, 0, 1, 1));
    Ok((0..needed.min(60_000) as u32).map(|n| IpAddr::V4(Ipv4Addr::from(first + n))).collect())
}

fn title(args: &Args, spec: &LoadSpec) -> String {
    let plural = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let shape = match (&args.find_capacity, &spec.shape) {
        (Some(slo), _) => format!("capacity at {slo}"),
        (None, Shape::Closed { think }) if think.is_zero() => "closed loop".to_owned(),
        (None, Shape::Closed { think }) => {
            format!("closed loop, think time {}", humantime::format_duration(*think))
        }
        (None, Shape::Open { rate, arrivals }) => format!("open loop, {rate}/s, {arrivals:?} arrivals"),
    };
    format!(
        "{}: {shape}, {}, {}, seed {}",
        args.target,
        plural(args.connections, "connection"),
        plural(args.threads, "thread"),
        spec.seed
    )
}
