//! The options of `showdown load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use load::inputs::rate::RateProfile;
use load::inputs::slo::Slo;
use load::inputs::units::{
    parse_connections, parse_count, parse_duration, parse_duration_or_zero, parse_threads,
};
use load::spec::Arrivals;

use super::protocol_options::ProtocolOptions;
use crate::args::clients::ClientOptions;
use crate::args::options::{AnswerFormat, ProgressOption};
use crate::fail_if::Missed;
use crate::live::{CollectorUrl, MetricsAddress};

/// Options of `showdown load`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown load http://127.0.0.1:8080/1k -c 64 -t 1 -d 10s
  showdown load https://127.0.0.1:8443/ -c 200 -r 50000 -d 60s --warmup 5s
  showdown load memcache://127.0.0.1:11211 -c 64 -r 80000 --get 90 --set 10 --keys 100000 --populate
  MYSQL_PWD=... showdown load mysql://me@127.0.0.1:3306/test --transaction point-select --rows 100k --populate
  showdown load smtp://127.0.0.1:2525 -c 16 --message-size 2k..20k:90,100k..1m:10 --recipients 1:80,2..5:20
  showdown load http://127.0.0.1:8080 --ops mix.toml --find-capacity 'p99<5ms'
  showdown load http://127.0.0.1:8080 --scenario shop.toml --warmup 30s -d 5m
  showdown load http://127.0.0.1:8080 -r 5k -d 10m --metrics-listen 9464 --otlp http://127.0.0.1:4318
  showdown load http://10.1.0.5/ -c 60000 -r 400000 --clients c1,c2,c3 --hosts hosts.toml

Response time counts from the intended start of an operation, service time from the actual send. A closed loop sends \
nothing while it waits, so a stalled server hides the operations that it delays (coordinated omission). To measure \
response time, use an open loop: --rate or --find-capacity.

With --clients, hosts of the hosts file (see `showdown hosts --help`) make one load together. Connections, rate and \
operations are those of all clients; each has --threads threads. Each is checked as a client alone is: one that was the \
limit, or was lost, makes the measurement invalid.

Exit codes: 0 valid, 3 invalid measurement, 4 as --fail-if says, 2 usage error, 1 failure, 130 interrupted.")]
pub struct LoadArgs {
    /// Load this server: http://, https://, memcache://, redis://, mysql://, postgres:// or smtp://
    #[arg(value_name = "URL")]
    pub target: String,

    /// Open this number of connections, over all threads
    #[arg(short, long, default_value = "64", value_parser = parse_connections, help_heading = "Load")]
    pub connections: u32,

    /// Load with this number of users, instead of the number in the file of the scenario
    #[arg(long, value_parser = parse_connections, requires = "scenario", conflicts_with = "connections", help_heading = "Load")]
    pub users: Option<u32>,

    /// Start this number of worker threads, on each client if there are several; each needs a CPU of its own
    #[arg(short, long, default_value = "1", value_parser = parse_threads, help_heading = "Load")]
    pub threads: u32,

    /// Measure for this long [default: 10s, or until --requests are done, or as long as --rate lasts]
    #[arg(short, long, value_parser = parse_duration, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// Stop after this number of operations
    #[arg(short = 'n', long, value_parser = parse_count, conflicts_with = "find_capacity", help_heading = "Load")]
    pub requests: Option<u64>,

    /// Offer this rate in an open loop: operations per second (50k), a ramp (10k..100k/60s) or steps
    /// (10k,20k,40k/10s). Response time then counts from the intended start, which avoids coordinated omission.
    /// Without this option the loop is closed: each connection waits for its reply before it sends again
    #[arg(short, long, alias = "rps", conflicts_with_all = ["think", "find_capacity"], help_heading = "Load")]
    pub rate: Option<RateProfile>,

    /// Choose the gaps between operations of the open loop [default: poisson]
    #[arg(long, value_parser = arrivals_parser(), help_heading = "Load")]
    pub arrivals: Option<Arrivals>,

    /// Pause each connection of a closed loop for this long between two operations
    #[arg(long, value_parser = parse_duration_or_zero, default_value = "0s", conflicts_with = "find_capacity", help_heading = "Load")]
    pub think: Duration,

    /// Load for this long without recording, before the measurement
    #[arg(long, value_parser = parse_duration_or_zero, default_value = "0s", conflicts_with = "requests", help_heading = "Load")]
    pub warmup: Duration,

    /// Close a connection after this number of operations and open a new one; for SMTP, this number of messages
    /// before QUIT [default: no limit; 1 for SMTP]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Load")]
    pub requests_per_connection: Option<u32>,

    /// Wait this long at most for a reply, a connection or a handshake
    #[arg(long, value_parser = parse_duration, default_value = "10s", help_heading = "Load")]
    pub timeout: Duration,

    /// Search for the highest open-loop rate that meets an objective, such as 'p99<5ms', in short slices of load;
    /// --duration [default: 30s] is the time under load near the capacity; a closed loop before and each load at the capacity after it
    /// (three or more) take half of that; --warmup [default: 1s] is the load before all.
    /// With --scenario, search for the most users, or visits a second, instead: one load after the other, each with
    /// --warmup [default: two mean delays] and --duration [default: 15s]
    #[arg(long, value_name = "SLO", help_heading = "Load")]
    pub find_capacity: Option<Slo>,

    /// Fail with exit code 4 if the load is valid and this is so, such as 'p99>5ms' or 'p99>5ms,errors>0.1%'
    #[arg(long, value_name = "CONDITION", conflicts_with = "find_capacity", help_heading = "Load")]
    pub fail_if: Option<Missed>,

    /// Derive all random numbers from this seed [default: a new one, printed]
    #[arg(long, help_heading = "Load")]
    pub seed: Option<u64>,

    /// Connect from these local addresses in turn [default: the kernel's choice; on loopback, as many addresses as
    /// the connections need]
    #[arg(
        long,
        value_name = "ADDRESS",
        value_delimiter = ',',
        conflicts_with = "clients",
        help_heading = "Load"
    )]
    pub source: Vec<IpAddr>,

    /// Load a public address; do so only if the target is your own
    #[arg(long, help_heading = "Load")]
    pub target_is_mine: bool,

    /// Read a mix of operations from a TOML file of [[op]] tables, or from the [[load.op]] tables of a workload.toml (see docs/FORMATS.md)
    #[arg(long, value_name = "FILE", help_heading = "Operations")]
    pub ops: Option<PathBuf>,

    /// Load with users who carry out a scenario: a TOML file with [load.users] and [[load.op]], such as a workload (see docs/SCENARIOS.md)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["ops", "rate", "think", "connections", "requests_per_connection"],
        help_heading = "Operations"
    )]
    pub scenario: Option<PathBuf>,

    /// The options of the protocols.
    #[command(flatten)]
    pub protocol: ProtocolOptions,

    /// Trust only certificates that an authority in this PEM file has signed [default: trust any certificate]
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub ca: Option<PathBuf>,

    /// Trust only certificates that an authority of the system has signed
    #[arg(long, conflicts_with = "ca", help_heading = "TLS")]
    pub verify_certificate: bool,

    /// Do a full handshake on every connection
    #[arg(long, help_heading = "TLS")]
    pub no_tls_resumption: bool,

    /// Send this name in the TLS handshake, and expect it in the certificate [default: the URL's host]
    #[arg(long, value_name = "NAME", help_heading = "TLS")]
    pub server_name: Option<String>,

    /// Show the server this certificate of the client, from a PEM file
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    pub certificate: Option<PathBuf>,

    /// Use this private key for the client's certificate, from a PEM file
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = "TLS")]
    pub key: Option<PathBuf>,

    /// Connect to this HOST:PORT instead of the URL's; the URL still gives the name in requests and in TLS
    #[arg(long, value_name = "HOST:PORT", value_parser = load::drivers::target::parse_endpoint)]
    pub connect_to: Option<(String, u16)>,

    /// Connect to this Unix socket instead of the URL's host and port, as unix:PATH:/ does; the URL still gives the name in requests
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to")]
    pub unix_socket: Option<PathBuf>,

    /// The hosts that make the load.
    #[command(flatten)]
    pub clients: ClientOptions,

    /// Measure the power of the server's machine with this meter: KIND=ADDRESS, such as shelly=http://10.0.0.31, or one of this
    /// machine, such as rapl-package (see `showdown power`); may be repeated
    #[arg(long, value_name = "SOURCE", conflicts_with = "find_capacity", help_heading = "Output")]
    pub power: Vec<String>,

    /// Show the figures of the running load to Prometheus and others at this port of 127.0.0.1, path /metrics; ADDRESS:PORT listens
    /// at another address, where others may read them
    #[arg(long, value_name = "PORT", conflicts_with = "find_capacity", help_heading = "Output")]
    pub metrics_listen: Option<MetricsAddress>,

    /// Send the figures of the running load to this collector every 5 s (OTLP over HTTP in JSON; its usual port is 4318)
    #[arg(long, value_name = "URL", conflicts_with = "find_capacity", help_heading = "Output")]
    pub otlp: Option<CollectorUrl>,

    /// Write the histograms of every second to this file, in the standard HdrHistogram log format
    #[arg(long, value_name = "FILE", conflicts_with = "find_capacity", help_heading = "Output")]
    pub hlog: Option<PathBuf>,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: AnswerFormat,

    /// Show progress on standard error in this form
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    pub progress: ProgressOption,
}

fn arrivals_parser() -> impl TypedValueParser<Value = Arrivals> {
    PossibleValuesParser::new(["poisson", "constant"])
        .map(|name| if name == "constant" { Arrivals::Constant } else { Arrivals::Poisson })
}
