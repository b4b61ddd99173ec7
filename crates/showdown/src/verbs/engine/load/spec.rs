//! From the options of `showdown load` to the specification of a load.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use load::drivers::options::GivenOptions;
use load::drivers::protocol::{ServerAccess, UrlPath, UrlScheme};
use load::drivers::registry::list_of;
use load::drivers::target::{Target, TargetError};
use load::drivers::{PROTOCOLS, ProtocolSpec, RegisteredProtocol};
use load::sources;
use load::spec::{LoadSpec, Shape};
use load::tls::{ClientIdentity, KeyProof, PemSource, TlsSpec, Trust};
use load::users::Scenario;
use load::users::outside_spec::Outside;
use workload::Workload;

use super::args::LoadArgs;
use crate::args::clients::NamedClients;
use crate::exit::usage;
use crate::show::layout::units::plural;

/// Time under load of a search near the capacity, and its warm-up.
const SEARCH: Duration = Duration::from_secs(30);
const SEARCH_WARMUP: Duration = Duration::from_secs(1);
/// Length of each load of a search for a population, and bounds of its warm-up.
const POPULATION: Duration = Duration::from_secs(15);
const POPULATION_WARMUP: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// The longest wait for the first connection.
const LOCATE: Duration = Duration::from_secs(5);

/// A load that is ready to run.
pub struct PlannedLoad {
    pub spec: LoadSpec,
    /// The target and the shape of the load, for the first line of the answer.
    pub title: String,
}

/// Checks the options, resolves the address of the server, and builds the specification. `clients` make the load, or this
/// machine does.
pub fn plan(args: &LoadArgs, clients: Option<&NamedClients>) -> anyhow::Result<PlannedLoad> {
    let target = Target::parse(&args.target).map_err(usage)?.through(args.unix_socket.as_ref());
    refuse_foreign_options(args, &target)?;
    let number = clients.map_or(1, NamedClients::count);
    let scenario = scenario(args, &target)?;
    let users = scenario.as_ref().map(|scenario| args.users.unwrap_or(scenario.count));
    let (connections, workers) = (users.unwrap_or(args.connections), args.threads.saturating_mul(number));
    if workers > connections {
        let each = if number == 1 { "" } else { " on all clients" };
        let of = if users.is_some() { "user" } else { "connection" };
        return Err(usage(format!(
            "{}{each} for {}: give each thread one {of} at least",
            plural(workers.into(), "thread"),
            plural(connections.into(), of)
        )));
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one("a new seed"));
    let (protocol, outside) = match &scenario {
        None => (protocol(args, &target, seed)?, Outside::default()),
        Some(scenario) => {
            let access =
                ServerAccess { folder: Some(scenario.folder.clone()), ..target.access(seed).map_err(usage)? };
            let spec = target.protocol.spec(&scenario.mix, &access);
            let spec = spec.expect("the scenario was read for this protocol");
            (spec, scenario.outside.specs(target.protocol, &access))
        }
    };
    // Operations that cannot be carried out are refused before anything is sent.
    let (mut names, _) = protocol.names().map_err(usage)?;
    for outside in outside.iter() {
        names.extend(outside.protocol.names().map_err(usage)?.0);
    }
    let mut known = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !known.insert(*name)) {
        return Err(usage(format!("two operations are called {twice:?}: give each its own name")));
    }
    let arrivals = args.arrivals.unwrap_or_default();
    let searching = args.find_capacity.is_some();
    let visits = scenario.as_ref().and_then(|scenario| scenario.visits.clone());
    if searching && scenario.is_some() && args.arrivals.is_some() {
        return Err(usage("--arrivals: the scenario says how visits arrive: leave it out"));
    }
    if searching && visits.as_ref().is_some_and(|visits| visits.rate.length().is_some()) {
        return Err(usage(
            "--find-capacity: the scenario's arrivals have steps: give one rate to begin with, such as \"poisson:20/s\"",
        ));
    }
    let shape = match (&args.rate, visits) {
        (_, Some(visits)) => Shape::Open { rate: visits.rate, arrivals: visits.arrivals },
        (Some(rate), None) => Shape::Open { rate: rate.clone(), arrivals },
        // A search sets its own rates.
        (None, None) if searching && scenario.is_none() => Shape::open(1.0, arrivals),
        (None, None) => Shape::Closed { think: args.think },
    };
    let own_length = match &shape {
        Shape::Open { rate, .. } => rate.length(),
        Shape::Closed { .. } => None,
    };
    let duration = match (args.duration, args.requests) {
        (Some(duration), _) => Some(duration),
        (None, Some(_)) => None,
        (None, None) if searching && scenario.is_some() => Some(POPULATION),
        (None, None) if searching => Some(SEARCH),
        (None, None) => Some(own_length.unwrap_or(LoadSpec::DURATION)),
    };
    let refused = |error| match error {
        TargetError::Public { .. } => usage(error),
        other => anyhow::Error::from(other),
    };
    let place = target.at(args.connect_to.as_ref());
    let is_here = clients.is_none() && args.connect_to.is_none();
    let socket = is_here.then(|| target.locate_socket(LOCATE)).transpose()?.flatten();
    let address = match (clients, &socket) {
        (None, Some(_)) => SocketAddr::from((Ipv4Addr::LOCALHOST, place.port)),
        // This machine may have no way to the server.
        (Some(clients), _) => {
            clients.common_address(&place.resolve(args.target_is_mine).map_err(refused)?)?
        }
        (None, _) => place.locate(args.target_is_mine, LOCATE).map_err(refused)?,
    };
    let warmup = warmup(args, scenario.as_ref());
    let tls = tls(args, &target, &protocol);
    let spec = LoadSpec::closed(protocol, address, connections)
        .with_sources(sources(args, connections, address, socket.is_some())?)
        .with_sockets(socket.into_iter().collect())
        .with_tls(tls)
        .with_workers(workers)
        .with_users(scenario.map(|scenario| scenario.plan))
        .with_outside(outside)
        .with_shape(shape)
        .with_warmup(warmup)
        .with_duration(duration)
        .with_requests(args.requests)
        // Some drivers end connections themselves, such as a mail session with QUIT.
        .with_requests_per_connection(
            args.requests_per_connection.filter(|_| !target.protocol.ends_connections()),
        )
        .with_timeout(args.timeout)
        .with_interval(
            args.rate.as_ref().map_or(LoadSpec::INTERVAL, |rate| rate.interval(LoadSpec::INTERVAL)),
        )
        .with_seed(seed);
    Ok(PlannedLoad { title: title(args, &spec, clients), spec })
}

/// Users of a file, if the options name one.
fn scenario(args: &LoadArgs, target: &Target) -> anyhow::Result<Option<Scenario>> {
    let Some(path) = &args.scenario else { return Ok(None) };
    let numbers = Workload::numbers_in(path, args.users).map_err(usage)?;
    Ok(Some(Scenario::read(path, target.protocol, &numbers).map_err(usage)?))
}

/// The load before what is measured. A search has one in any case: of users, as long as they need to spread.
fn warmup(args: &LoadArgs, scenario: Option<&Scenario>) -> Duration {
    match scenario {
        _ if args.find_capacity.is_none() || !args.warmup.is_zero() => args.warmup,
        None => SEARCH_WARMUP,
        Some(scenario) => {
            let (least, most) = POPULATION_WARMUP;
            Duration::from_secs_f64(2.0 * scenario.plan.mean_delay()).clamp(least, most)
        }
    }
}

/// Refuses options that have no effect on this target.
fn refuse_foreign_options(args: &LoadArgs, target: &Target) -> anyhow::Result<()> {
    let refused = |option: &str, schemes: &[&'static UrlScheme]| {
        let whose: Vec<String> = schemes.iter().map(|scheme| format!("{}://", scheme.name())).collect();
        Err(usage(format!("--{option} is for {} targets: leave it out", list_of(&whose))))
    };
    let has = |protocol: &RegisteredProtocol, name: &str| {
        protocol.options().iter().any(|option| option.name == name)
    };
    if let Some(option) = args.protocol.0.keys().find(|name| !has(&target.protocol, name)) {
        let whose = PROTOCOLS.iter().filter(|protocol| has(protocol, option));
        return refused(option, &whose.flat_map(|protocol| protocol.schemes()).collect::<Vec<_>>());
    }
    let of_tls = [
        (args.ca.is_some(), "ca"),
        (args.verify_certificate, "verify-certificate"),
        (args.no_tls_resumption, "no-tls-resumption"),
        (args.server_name.is_some(), "server-name"),
        (args.certificate.is_some(), "certificate"),
    ];
    let is_tls =
        |protocol: &RegisteredProtocol, scheme: &UrlScheme| scheme.is_tls || protocol.may_start_tls();
    if let Some((_, option)) =
        of_tls.into_iter().find(|(is_given, _)| *is_given && !is_tls(&target.protocol, target.scheme))
    {
        let whose = PROTOCOLS
            .iter()
            .flat_map(|protocol| protocol.schemes().iter().filter(|scheme| is_tls(protocol, scheme)));
        return refused(option, &whose.collect::<Vec<_>>());
    }
    if args.arrivals.is_some() && args.rate.is_none() && args.find_capacity.is_none() {
        return Err(usage("--arrivals is for an open loop: give --rate or --find-capacity too"));
    }
    let reason = match target.protocol.url_path() {
        UrlPath::Request if args.ops.is_some() => "the paths come from --ops",
        UrlPath::Request if args.scenario.is_some() => "the paths come from --scenario",
        UrlPath::Unused(reason) => reason,
        UrlPath::Request | UrlPath::Account => return Ok(()),
    };
    match target.path_and_query.as_str() {
        "/" => Ok(()),
        path => Err(usage(format!("the URL's path {path} has no effect, because {reason}: leave it out"))),
    }
}

fn protocol(args: &LoadArgs, target: &Target, seed: u64) -> anyhow::Result<ProtocolSpec> {
    let given = GivenOptions {
        values: args.protocol.0.clone(),
        path_and_query: target.path_and_query.clone(),
        mix_file: args.ops.clone(),
        requests_per_connection: args.requests_per_connection,
    };
    let access = target.access(seed).map_err(usage)?;
    target.protocol.spec_of_options(&given, &access).map_err(usage)
}

fn tls(args: &LoadArgs, target: &Target, protocol: &ProtocolSpec) -> Option<TlsSpec> {
    let (trust, proof) = match &args.ca {
        Some(path) => (Trust::File(path.display().to_string()), KeyProof::Always),
        None if args.verify_certificate => (Trust::System, KeyProof::Always),
        None => (Trust::Anyone, KeyProof::Once),
    };
    (target.scheme.is_tls || protocol.starts_tls()).then(|| TlsSpec {
        server_name: args.server_name.clone().unwrap_or_else(|| name_of(args, target)),
        identity: args.certificate.as_ref().zip(args.key.as_ref()).map(|(certificate, key)| {
            let file = |path: &Path| PemSource::File(path.display().to_string());
            ClientIdentity { certificate: file(certificate), key: file(key) }
        }),
        resumption: !args.no_tls_resumption,
        trust,
        proof,
    })
}

/// The server's name in TLS: the URL's host; where that is an address and a header names the host, that name.
fn name_of(args: &LoadArgs, target: &Target) -> String {
    let headers = args.protocol.0.get("header").into_iter().flatten();
    let mut hosts = headers.filter_map(|header| {
        let (name, value) = header.split_once(':')?;
        let host = value.trim().split(':').next().unwrap_or_default();
        (name.trim().eq_ignore_ascii_case("host") && !host.is_empty() && !host.contains("{{")).then_some(host)
    });
    let named = hosts.next().filter(|_| target.host.parse::<IpAddr>().is_ok());
    named.map_or_else(|| target.host.clone(), str::to_owned)
}

fn sources(
    args: &LoadArgs,
    connections: u32,
    to: SocketAddr,
    is_socket: bool,
) -> anyhow::Result<Vec<IpAddr>> {
    if args.source.is_empty() {
        // A socket of the file system has no ports that could run out.
        if is_socket {
            return Ok(Vec::new());
        }
        return Ok(sources::for_connections(connections, to));
    }
    for &source in &args.source {
        sources::check(source, to).map_err(|error| usage(format!("--source: {error}")))?;
    }
    Ok(args.source.clone())
}

fn title(args: &LoadArgs, spec: &LoadSpec, clients: Option<&NamedClients>) -> String {
    let threads = plural(args.threads.into(), "thread");
    if spec.users.is_some() {
        let who = match &spec.part.shape {
            Shape::Closed { .. } => plural(spec.connections.into(), "user"),
            Shape::Open { rate, arrivals } => {
                let rate = rate.without_unit();
                format!("visits at {rate}/s, {arrivals} arrivals, at most {} at once", spec.connections)
            }
        };
        return format!(
            "{}: {who}, {threads}{}, seed {}",
            args.target,
            clients.map_or(String::new(), |clients| format!(" on each of {} clients", clients.count())),
            spec.part.seed
        );
    }
    let shape = match (&args.find_capacity, &spec.part.shape) {
        (Some(slo), _) => format!("capacity at {slo}"),
        (None, Shape::Closed { think }) if think.is_zero() => "closed loop".to_owned(),
        (None, Shape::Closed { think }) => {
            format!("closed loop, think time {}", humantime::format_duration(*think))
        }
        (None, Shape::Open { rate, arrivals }) if rate.length().is_none() => {
            format!("open loop, {}/s, {arrivals} arrivals", rate.without_unit())
        }
        (None, Shape::Open { rate, arrivals }) => format!("open loop, rate {rate}, {arrivals} arrivals"),
    };
    format!(
        "{}: {shape}, {}, {threads}{}, seed {}",
        args.target,
        plural(args.connections.into(), "connection"),
        clients.map_or(String::new(), |clients| format!(" on each of {} clients", clients.count())),
        spec.part.seed
    )
}
