//! The options of `showdown load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use load::drivers::memcache::Dialect;
use load::drivers::smtp::StartTls;
use load::drivers::sql::Transaction;
use load::inputs::keys::Popularity;
use load::inputs::rate::RateProfile;
use load::inputs::sizes::SizeDistribution;
use load::inputs::slo::Slo;
use load::inputs::units::{parse_count, parse_duration, parse_duration_or_zero};
use load::spec::Arrivals;

use crate::verbs::options::{AnswerFormat, ProgressOption};

/// Options of `showdown load`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown load http://127.0.0.1:8080/1k -c 64 -t 1 -d 10s
  showdown load https://127.0.0.1:8443/ -c 200 -r 50000 -d 60s --warmup 5s
  showdown load memcache://127.0.0.1:11211 -c 64 -r 80000 --get 90 --set 10 --keys 100000 --populate
  MYSQL_PWD=... showdown load mysql://me@127.0.0.1:3306/test --transaction point-select --rows 100k --populate
  showdown load smtp://127.0.0.1:2525 -c 16 --message-size 2k..20k:90,100k..1m:10 --recipients 1:80,2..5:20
  showdown load http://127.0.0.1:8080 --ops mix.toml --find-capacity 'p99<5ms'

Response time counts from the intended start of an operation, service time from the actual send. A closed loop sends \
nothing while it waits, so a stalled server hides the operations that it delays (coordinated omission). To measure \
response time, use an open loop: --rate or --find-capacity.

Exit codes: 0 valid, 3 invalid measurement, 2 usage error, 1 failure, 130 interrupted.")]
pub struct LoadArgs {
    /// Load this server: http://, https://, memcache://, redis://, mysql://, postgres:// or smtp://
    #[arg(value_name = "URL")]
    pub target: String,

    /// Open this number of connections, over all threads
    #[arg(short, long, default_value = "64", value_parser = parse_count, help_heading = "Load")]
    pub connections: u64,

    /// Start this number of worker threads; each needs a CPU of its own
    #[arg(short, long, default_value = "1", value_parser = parse_count, help_heading = "Load")]
    pub threads: u64,

    /// Measure for this long [default: 10s, or until --requests are done, or as long as --rate lasts]
    #[arg(short, long, value_parser = parse_duration, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// Stop after this number of operations
    #[arg(short = 'n', long, value_parser = parse_count, conflicts_with = "find_capacity", help_heading = "Load")]
    pub requests: Option<u64>,

    /// Offer this rate in an open loop: operations per second (50k), a ramp (10k..100k/60s) or steps
    /// (10k,20k,40k/10s). Response time then counts from the intended start, which avoids coordinated omission.
    /// Without this option the loop is closed: each connection waits for its reply before it sends again
    #[arg(short, long, conflicts_with_all = ["think", "find_capacity"], help_heading = "Load")]
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

    /// Search for the highest open-loop rate that meets an objective, such as 'p99<5ms'; --duration [default: 5s] and
    /// --warmup [default: 1s] apply to each step
    #[arg(long, value_name = "SLO", help_heading = "Load")]
    pub find_capacity: Option<Slo>,

    /// Derive all random numbers from this seed [default: a new one, printed]
    #[arg(long, help_heading = "Load")]
    pub seed: Option<u64>,

    /// Connect from these local addresses in turn [default: the kernel's choice; on loopback, as many addresses as
    /// the connections need]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', help_heading = "Load")]
    pub source: Vec<IpAddr>,

    /// Load a public address; do so only if the target is your own
    #[arg(long, help_heading = "Load")]
    pub target_is_mine: bool,

    /// Read a mix of operations from a TOML file of [[op]] tables (see docs/FORMATS.md)
    #[arg(long, value_name = "FILE", help_heading = "Operations")]
    pub ops: Option<PathBuf>,

    /// Use this method for the request [default: GET]
    #[arg(short = 'X', long, conflicts_with = "ops", help_heading = "HTTP")]
    pub method: Option<String>,

    /// Add a header to the request, such as 'Accept: text/html'; may be repeated
    #[arg(short = 'H', long, conflicts_with = "ops", help_heading = "HTTP")]
    pub header: Vec<String>,

    /// Send this body with the request
    #[arg(long, conflicts_with = "ops", help_heading = "HTTP")]
    pub body: Option<String>,

    /// Use this address of the sender [default: sender@client.example]
    #[arg(long, value_name = "ADDRESS", help_heading = "SMTP")]
    pub mail_from: Option<String>,

    /// Use this template for the addresses of recipients [default: user{{ uniform(1, 1000) }}@mx.example]
    #[arg(long, value_name = "ADDRESS", help_heading = "SMTP")]
    pub rcpt_to: Option<String>,

    /// Send messages of these sizes, in the form of --value-size [default: 4k]
    #[arg(long, value_name = "SIZE", conflicts_with = "ops", help_heading = "SMTP")]
    pub message_size: Option<SizeDistribution>,

    /// Send each message to this number of recipients: a number, a range, or weighted classes (1:80,2..5:20)
    /// [default: 1]
    #[arg(long, value_name = "COUNT", conflicts_with = "ops", help_heading = "SMTP")]
    pub recipients: Option<SizeDistribution>,

    /// Send commands one by one, even if the server offers PIPELINING
    #[arg(long, conflicts_with = "ops", help_heading = "SMTP")]
    pub no_pipelining: bool,

    /// Use TLS in sessions: never, offered (if the server offers it) or required [default: offered]
    #[arg(long, value_name = "WHEN", help_heading = "SMTP")]
    pub starttls: Option<StartTls>,

    /// Trust only certificates that an authority in this PEM file has signed [default: trust any certificate]
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub ca: Option<PathBuf>,

    /// Trust only certificates that an authority of the system has signed
    #[arg(long, conflicts_with = "ca", help_heading = "TLS")]
    pub verify_certificate: bool,

    /// Do a full handshake on every connection
    #[arg(long, help_heading = "TLS")]
    pub no_tls_resumption: bool,

    /// Give the operation get this weight [default: 1 if no other weight is given]
    #[arg(long, value_name = "WEIGHT", help_heading = "Key-value")]
    pub get: Option<f64>,

    /// Give the operation set this weight
    #[arg(long, value_name = "WEIGHT", help_heading = "Key-value")]
    pub set: Option<f64>,

    /// Give the operation delete this weight
    #[arg(long, value_name = "WEIGHT", help_heading = "Key-value")]
    pub delete: Option<f64>,

    /// Use this number of keys [default: 10k]
    #[arg(long, value_parser = parse_count, help_heading = "Key-value")]
    pub keys: Option<u64>,

    /// Choose how often each key or row is used: uniform, zipf:S such as zipf:0.99, special (as sysbench has it) or
    /// sequential [default: uniform]
    #[arg(long, value_name = "SKEW", help_heading = "Key-value and SQL")]
    pub key_skew: Option<Popularity>,

    /// Start every key with this prefix [default: key-]
    #[arg(long, value_name = "PREFIX", help_heading = "Key-value")]
    pub key_prefix: Option<String>,

    /// Store values of these sizes: 1k, a range (4..100), or weighted classes (4..100:60,1k..2k:30) [default: 1k]
    #[arg(long, value_name = "SIZE", help_heading = "Key-value")]
    pub value_size: Option<SizeDistribution>,

    /// Store every key before the load, and check every hit against it; for a database, create the tables
    #[arg(long, help_heading = "Key-value and SQL")]
    pub populate: bool,

    /// Run this transaction of sysbench: point-select, read-only, read-write, update-index, update-non-index, insert,
    /// delete or write-only [default: point-select]
    #[arg(long, value_name = "NAME", conflicts_with = "ops", help_heading = "SQL")]
    pub transaction: Option<Transaction>,

    /// Use this number of tables [default: 1]
    #[arg(long, value_parser = parse_count, help_heading = "SQL")]
    pub tables: Option<u64>,

    /// Use this number of rows in each table [default: 10k]
    #[arg(long, value_parser = parse_count, help_heading = "SQL")]
    pub rows: Option<u64>,

    /// Use this form of memcached's protocol [default: text]
    #[arg(long, value_parser = dialect_parser(), help_heading = "Key-value")]
    pub dialect: Option<Dialect>,

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

fn dialect_parser() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(["text", "meta"])
        .map(|name| if name == "meta" { Dialect::Meta } else { Dialect::Text })
}
