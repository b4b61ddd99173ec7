//! From the options of `showdown load` to the specification of a load.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::drivers::keyspace::{self, Command, KeyspaceSpec};
use load::drivers::memcache::MemcacheSpec;
use load::drivers::password::PasswordSource;
use load::drivers::redis::{Auth, RedisSpec};
use load::inputs::rate::RateProfile;
use load::inputs::sizes::SizeDistribution;
use load::inputs::target::{Scheme, Target, TargetError};
use load::spec::{LoadSpec, Shape, TlsSpec, Trust};
use load::{mix, sources};

use super::args::LoadArgs;
use super::{smtp, sql};
use crate::exit::usage;
use crate::show::units::plural;

/// The length of each step of a search for the capacity.
const STEP: Duration = Duration::from_secs(5);
const STEP_WARMUP: Duration = Duration::from_secs(1);
/// The longest wait for the first connection.
const LOCATE: Duration = Duration::from_secs(5);
/// The default number of keys, and the default size of their values.
const KEYS: u64 = 10_000;
const VALUE_BYTES: u64 = 1_024;

/// A load that is ready to run.
pub struct PlannedLoad {
    pub spec: LoadSpec,
    /// The target and the shape of the load, for the first line of the answer.
    pub title: String,
}

/// Checks the options, resolves the address of the server, and builds the specification.
pub fn plan(args: &LoadArgs) -> anyhow::Result<PlannedLoad> {
    let target = Target::parse(&args.target).map_err(usage)?;
    refuse_foreign_options(args, &target)?;
    let connections =
        u32::try_from(args.connections).map_err(|_| usage("--connections: at most 4 billion"))?;
    let threads = u32::try_from(args.threads).ok().filter(|&t| t <= 1024);
    let workers = threads.ok_or_else(|| usage("--threads: at most 1,024"))?;
    if u64::from(workers) > args.connections {
        return Err(usage(format!(
            "{} for {}: give each thread one connection at least",
            plural(u64::from(workers), "thread"),
            plural(args.connections, "connection")
        )));
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one("a new seed"));
    let protocol = protocol(args, &target, seed)?;
    // Operations that cannot be carried out are refused before anything is sent.
    protocol.names().map_err(usage)?;
    let arrivals = args.arrivals.unwrap_or_default();
    let searching = args.find_capacity.is_some();
    let shape = match &args.rate {
        Some(rate) => Shape::Open { rate: rate.clone(), arrivals },
        // A search sets its own rates.
        None if searching => Shape::open(1.0, arrivals),
        None => Shape::Closed { think: args.think },
    };
    let own_length = args.rate.as_ref().and_then(RateProfile::length);
    let duration = match (args.duration, args.requests) {
        (Some(duration), _) => Some(duration),
        (None, Some(_)) => None,
        (None, None) if searching => Some(STEP),
        (None, None) => Some(own_length.unwrap_or(LoadSpec::DURATION)),
    };
    let address = target.locate(args.target_is_mine, LOCATE).map_err(|error| match error {
        TargetError::Public { .. } => usage(error),
        other => other.into(),
    })?;
    let warmup = if searching && args.warmup.is_zero() { STEP_WARMUP } else { args.warmup };
    let tls = tls(args, &target, &protocol);
    let spec = LoadSpec::closed(protocol, address, connections)
        .with_sources(sources(args, connections, address)?)
        .with_tls(tls)
        .with_workers(workers)
        .with_shape(shape)
        .with_warmup(warmup)
        .with_duration(duration)
        .with_requests(args.requests)
        // A mail session ends with QUIT, which the driver sends.
        .with_requests_per_connection(args.requests_per_connection.filter(|_| target.scheme != Scheme::Smtp))
        .with_timeout(args.timeout)
        .with_interval(
            args.rate.as_ref().map_or(LoadSpec::INTERVAL, |rate| rate.interval(LoadSpec::INTERVAL)),
        )
        .with_seed(seed);
    Ok(PlannedLoad { title: title(args, &spec), spec })
}

/// Refuses options that have no effect on this target.
fn refuse_foreign_options(args: &LoadArgs, target: &Target) -> anyhow::Result<()> {
    let is_tls = matches!(target.scheme, Scheme::Https | Scheme::Smtp);
    let is_http = target.scheme == Scheme::Https || target.scheme == Scheme::Http;
    let is_smtp = target.scheme == Scheme::Smtp;
    let is_memcache = target.scheme == Scheme::Memcache;
    let refused =
        |what: &str, whose: &str| Err(usage(format!("{what} is for {whose} targets: leave it out")));
    let given = |options: &[(bool, &'static str)]| {
        options.iter().find(|(is_given, _)| *is_given).map(|(_, name)| *name)
    };
    let of_http = given(&[
        (args.method.is_some(), "--method"),
        (!args.header.is_empty(), "--header"),
        (args.body.is_some(), "--body"),
    ]);
    let of_tls = given(&[
        (args.ca.is_some(), "--ca"),
        (args.verify_certificate, "--verify-certificate"),
        (args.no_tls_resumption, "--no-tls-resumption"),
    ]);
    let of_tables = given(&[
        (args.transaction.is_some(), "--transaction"),
        (args.tables.is_some(), "--tables"),
        (args.rows.is_some(), "--rows"),
    ]);
    let of_data = given(&[(args.key_skew.is_some(), "--key-skew"), (args.populate, "--populate")]);
    let of_keys = given(&[
        (args.get.is_some(), "--get"),
        (args.set.is_some(), "--set"),
        (args.delete.is_some(), "--delete"),
        (args.keys.is_some(), "--keys"),
        (args.key_prefix.is_some(), "--key-prefix"),
        (args.value_size.is_some(), "--value-size"),
    ]);
    let of_mail = given(&[
        (args.mail_from.is_some(), "--mail-from"),
        (args.rcpt_to.is_some(), "--rcpt-to"),
        (args.message_size.is_some(), "--message-size"),
        (args.recipients.is_some(), "--recipients"),
        (args.no_pipelining, "--no-pipelining"),
        (args.starttls.is_some(), "--starttls"),
    ]);
    let is_database = target.scheme.is_database();
    match (of_http, of_tls, of_keys.or(of_data).or(of_tables)) {
        (Some(option), ..) if !is_http => refused(option, "http:// and https://"),
        (_, Some(option), _) if !is_tls => refused(option, "https:// and smtp://"),
        _ if of_mail.is_some() && !is_smtp => refused(of_mail.unwrap_or_default(), "smtp://"),
        _ if of_tables.is_some() && !is_database => {
            refused(of_tables.unwrap_or_default(), "mysql:// and postgres://")
        }
        _ if of_keys.is_some() && (is_http || is_database || is_smtp) => {
            refused(of_keys.unwrap_or_default(), "memcache:// and redis://")
        }
        (_, _, Some(option)) if is_http || is_smtp => {
            refused(option, "memcache://, redis://, mysql:// and postgres://")
        }
        _ if args.dialect.is_some() && !is_memcache => refused("--dialect", "memcache://"),
        _ if args.arrivals.is_some() && args.rate.is_none() && args.find_capacity.is_none() => {
            Err(usage("--arrivals is for an open loop: give --rate or --find-capacity too"))
        }
        _ if target.path_and_query != "/" && !is_database && (args.ops.is_some() || !is_http) => {
            let path = &target.path_and_query;
            let reason = match (is_http, is_smtp) {
                (true, _) => "the paths come from --ops",
                (_, true) => "mail has no paths",
                _ => "keys have no paths",
            };
            Err(usage(format!("the URL's path {path} has no effect, because {reason}: leave it out")))
        }
        _ => Ok(()),
    }
}

fn protocol(args: &LoadArgs, target: &Target, seed: u64) -> anyhow::Result<ProtocolSpec> {
    Ok(match target.scheme {
        Scheme::Http | Scheme::Https => {
            let operations = match &args.ops {
                Some(path) => mix::read_http(path).map_err(usage)?,
                None => vec![one_request(args, target)?],
            };
            ProtocolSpec::Http(HttpSpec { authority: target.authority(), operations })
        }
        Scheme::Memcache => ProtocolSpec::Memcache(MemcacheSpec {
            dialect: args.dialect.unwrap_or_default(),
            keyspace: keyspace(args, seed)?,
        }),
        Scheme::Redis => {
            // The variable from which redis-cli takes its password.
            let variable = "REDISCLI_AUTH".to_owned();
            let is_set = std::env::var_os(&variable).is_some();
            let auth = is_set.then_some(Auth { user: None, password: PasswordSource::Environment(variable) });
            ProtocolSpec::Redis(RedisSpec { auth, keyspace: keyspace(args, seed)? })
        }
        // The variables from which the clients of these databases take their passwords.
        Scheme::Mysql => ProtocolSpec::Mysql(sql::spec(args, target, "MYSQL_PWD", seed)?),
        Scheme::Postgres => ProtocolSpec::Postgres(sql::spec(args, target, "PGPASSWORD", seed)?),
        Scheme::Smtp => ProtocolSpec::Smtp(smtp::spec(args)?),
    })
}

fn keyspace(args: &LoadArgs, seed: u64) -> anyhow::Result<KeyspaceSpec> {
    let weights = [(Command::Get, args.get), (Command::Set, args.set), (Command::Delete, args.delete)];
    let weights: Vec<(Command, f64)> =
        weights.into_iter().filter_map(|(command, weight)| Some((command, weight?))).collect();
    let mix = match (&args.ops, weights.is_empty()) {
        (Some(_), false) => {
            return Err(usage(
                "weights come from --ops or from --get, --set and --delete: give one of the two",
            ));
        }
        (Some(path), true) => mix::read_commands(path).map_err(usage)?,
        (None, true) => vec![(Command::Get, 1.0)],
        (None, false) => weights,
    };
    Ok(KeyspaceSpec {
        mix,
        keys: args.keys.unwrap_or(KEYS),
        key_prefix: args.key_prefix.clone().unwrap_or_else(keyspace::default_prefix),
        popularity: args.key_skew.unwrap_or_default(),
        value_size: args.value_size.clone().unwrap_or_else(|| SizeDistribution::fixed(VALUE_BYTES)),
        verify: args.populate,
        seed,
    })
}

fn one_request(args: &LoadArgs, target: &Target) -> anyhow::Result<HttpOperation> {
    let header = |text: &String| {
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| usage(format!("--header {text:?} has no colon: write 'Name: value'")))?;
        anyhow::Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    let get = HttpOperation::get(&target.path_and_query);
    Ok(HttpOperation {
        method: args.method.clone().unwrap_or(get.method),
        headers: args.header.iter().map(header).collect::<anyhow::Result<_>>()?,
        body: args.body.clone(),
        ..get
    })
}

fn tls(args: &LoadArgs, target: &Target, protocol: &ProtocolSpec) -> Option<TlsSpec> {
    (target.scheme == Scheme::Https || protocol.starts_tls()).then(|| TlsSpec {
        server_name: target.host.clone(),
        resumption: !args.no_tls_resumption,
        trust: match &args.ca {
            Some(path) => Trust::File(path.display().to_string()),
            None if args.verify_certificate => Trust::System,
            None => Trust::Anyone,
        },
    })
}

fn sources(args: &LoadArgs, connections: u32, to: SocketAddr) -> anyhow::Result<Vec<IpAddr>> {
    if args.source.is_empty() {
        return Ok(sources::for_connections(connections, to));
    }
    for &source in &args.source {
        sources::check(source, to).map_err(|error| usage(format!("--source: {error}")))?;
    }
    Ok(args.source.clone())
}

fn title(args: &LoadArgs, spec: &LoadSpec) -> String {
    let shape = match (&args.find_capacity, &spec.shape) {
        (Some(slo), _) => format!("capacity at {slo}"),
        (None, Shape::Closed { think }) if think.is_zero() => "closed loop".to_owned(),
        (None, Shape::Closed { think }) => {
            format!("closed loop, think time {}", humantime::format_duration(*think))
        }
        (None, Shape::Open { rate, arrivals }) if rate.length().is_none() => {
            format!("open loop, {rate}/s, {arrivals} arrivals")
        }
        (None, Shape::Open { rate, arrivals }) => format!("open loop, rate {rate}, {arrivals} arrivals"),
    };
    format!(
        "{}: {shape}, {}, {}, seed {}",
        args.target,
        plural(args.connections, "connection"),
        plural(args.threads, "thread"),
        spec.seed
    )
}
