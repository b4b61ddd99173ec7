//! The options of `showdown load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use load::drivers::memcache::Dialect;
use load::drivers::smtp::StartTls;
use load::drivers::sql::Transaction;
use load::inputs::keys::Popularity;
use load::inputs::rate::RateProfile;
use load::inputs::sizes::SizeDistribution;
use load::inputs::slo::Slo;
use load::inputs::units::{parse_count, parse_duration, parse_duration_or_zero};
use load::spec::Arrivals;

use crate::verbs::options::{Format, ProgressOption};

/// Options of `showdown load`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  showdown load http://127.0.0.1:8080/1k -c 64 -t 1 -d 10s
  showdown load https://127.0.0.1:8443/ -c 200 -r 50000 -d 60s --warmup 5s
  showdown load memcache://127.0.0.1:11211 -c 64 -r 80000 --get 90 --set 10 --keys 100000 --populate
  MYSQL_PWD=... showdown load mysql://me@127.0.0.1:3306/test --transaction point-select --rows 100k --populate
  showdown load smtp://127.0.0.1:2525 -c 16 --message-size 2k..20k:90,100k..1m:10 --recipients 1:80,2..5:20
  showdown load http://127.0.0.1:8080 --ops mix.toml --find-capacity 'p99<5ms'

Exit codes: 0 valid, 3 invalid measurement, 2 usage, 1 failure, 130 interrupted.")]
pub struct Args {
    /// Where the load goes: http://, https://, memcache://, redis://, mysql://, postgres:// or smtp://
    #[arg(value_name = "URL")]
    pub target: String,

    /// Connections, over all threads
    #[arg(short, long, default_value = "64", value_parser = parse_count, help_heading = "Load")]
    pub connections: u64,

    /// Worker threads; each needs a CPU to itself
    #[arg(short, long, default_value = "1", value_parser = parse_count, help_heading = "Load")]
    pub threads: u64,

    /// How long to measure [default: 10s, or until --requests are done, or as long as --rate lasts]
    #[arg(short, long, value_parser = parse_duration, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// Stop after so many operations
    #[arg(short = 'n', long, value_parser = parse_count, conflicts_with = "find_capacity", help_heading = "Load")]
    pub requests: Option<u64>,

    /// Open loop: operations a second (50k), a ramp (10k..100k/60s) or steps (10k,20k,40k/10s); closed
    /// loop if not given
    #[arg(short, long, conflicts_with_all = ["think", "find_capacity"], help_heading = "Load")]
    pub rate: Option<RateProfile>,

    /// Gaps between operations of the open loop: poisson or constant [default: poisson]
    #[arg(long, value_parser = parse_arrivals, help_heading = "Load")]
    pub arrivals: Option<Arrivals>,

    /// Closed loop: pause of a connection between an operation's end and the next one's begin
    #[arg(long, value_parser = parse_duration_or_zero, default_value = "0s", conflicts_with = "find_capacity", help_heading = "Load")]
    pub think: Duration,

    /// Load without recording, before measuring
    #[arg(long, value_parser = parse_duration_or_zero, default_value = "0s", conflicts_with = "requests", help_heading = "Load")]
    pub warmup: Duration,

    /// Close a connection after so many operations and open a new one; of SMTP so many messages before QUIT
    /// [default: without end, of SMTP 1]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Load")]
    pub requests_per_connection: Option<u32>,

    /// Longest wait for a reply, a connection or a handshake
    #[arg(long, value_parser = parse_duration, default_value = "10s", help_heading = "Load")]
    pub timeout: Duration,

    /// Search the highest rate that meets an objective, such as 'p99<5ms'; --duration is that of each step
    /// [default: 5s], --warmup too [default: 1s]
    #[arg(long, value_name = "SLO", help_heading = "Load")]
    pub find_capacity: Option<Slo>,

    /// Everything drawn at random follows from this [default: a new one, printed]
    #[arg(long, help_heading = "Load")]
    pub seed: Option<u64>,

    /// Connect from these local addresses in turn [default: the system's choice; for loopback as many as
    /// the connections need]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', help_heading = "Load")]
    pub source: Vec<IpAddr>,

    /// Load a public address: you may do so only to a target of your own
    #[arg(long, help_heading = "Load")]
    pub target_is_mine: bool,

    /// A mix of operations from a TOML file of [[op]] tables (see docs/FORMATS.md)
    #[arg(long, value_name = "FILE", help_heading = "Operations")]
    pub ops: Option<PathBuf>,

    /// Method of the one request [default: GET]
    #[arg(short = 'X', long, conflicts_with = "ops", help_heading = "HTTP")]
    pub method: Option<String>,

    /// A header of the one request, 'Name: value'; may be repeated
    #[arg(short = 'H', long, conflicts_with = "ops", help_heading = "HTTP")]
    pub header: Vec<String>,

    /// Body of the one request
    #[arg(long, conflicts_with = "ops", help_heading = "HTTP")]
    pub body: Option<String>,

    /// The sender's address [default: sender@client.example]
    #[arg(long, value_name = "ADDRESS", help_heading = "SMTP")]
    pub mail_from: Option<String>,

    /// The recipients' addresses, a template [default: user{{ uniform(1, 1000) }}@mx.example]
    #[arg(long, value_name = "ADDRESS", help_heading = "SMTP")]
    pub rcpt_to: Option<String>,

    /// Sizes of messages, as --value-size has them [default: 4k]
    #[arg(long, value_name = "SIZE", conflicts_with = "ops", help_heading = "SMTP")]
    pub message_size: Option<SizeDistribution>,

    /// Recipients of a message: a number, a range, or weighted classes (1:80,2..5:20) [default: 1]
    #[arg(long, value_name = "COUNT", conflicts_with = "ops", help_heading = "SMTP")]
    pub recipients: Option<SizeDistribution>,

    /// Send commands one by one, also where the server offers PIPELINING
    #[arg(long, conflicts_with = "ops", help_heading = "SMTP")]
    pub no_pipelining: bool,

    /// Whether sessions use TLS: never, offered (where the server does) or required [default: offered]
    #[arg(long, value_name = "WHEN", help_heading = "SMTP")]
    pub starttls: Option<StartTls>,

    /// Trust only certificates of the authorities in this PEM file [default: any certificate]
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub ca: Option<PathBuf>,

    /// Trust only certificates of the system's authorities
    #[arg(long, conflicts_with = "ca", help_heading = "TLS")]
    pub verify_certificate: bool,

    /// Do a full handshake on every connection
    #[arg(long, help_heading = "TLS")]
    pub no_tls_resumption: bool,

    /// Weight of get [default: 1 if no other weight is given]
    #[arg(long, value_name = "WEIGHT", help_heading = "Key-value")]
    pub get: Option<f64>,

    /// Weight of set
    #[arg(long, value_name = "WEIGHT", help_heading = "Key-value")]
    pub set: Option<f64>,

    /// Weight of delete
    #[arg(long, value_name = "WEIGHT", help_heading = "Key-value")]
    pub delete: Option<f64>,

    /// Number of keys [default: 10k]
    #[arg(long, value_parser = parse_count, help_heading = "Key-value")]
    pub keys: Option<u64>,

    /// How popular keys, or rows, are: uniform, zipf:S, special (sysbench's) or sequential [default: uniform]
    #[arg(long, value_name = "SKEW", help_heading = "Key-value and SQL")]
    pub key_skew: Option<Popularity>,

    /// What keys begin with [default: key-]
    #[arg(long, value_name = "PREFIX", help_heading = "Key-value")]
    pub key_prefix: Option<String>,

    /// Sizes of values: 1k, a range (4..100), or weighted classes (4..100:60,1k..2k:30) [default: 1k]
    #[arg(long, value_name = "SIZE", help_heading = "Key-value")]
    pub value_size: Option<SizeDistribution>,

    /// Store every key first, and then hold every hit against what was stored; of a database make the tables
    #[arg(long, help_heading = "Key-value and SQL")]
    pub populate: bool,

    /// What is done, as sysbench calls it: point-select, read-only, read-write, update-index, update-non-index,
    /// insert, delete or write-only [default: point-select]
    #[arg(long, value_name = "NAME", conflicts_with = "ops", help_heading = "SQL")]
    pub transaction: Option<Transaction>,

    /// Number of tables [default: 1]
    #[arg(long, value_parser = parse_count, help_heading = "SQL")]
    pub tables: Option<u64>,

    /// Rows of each table [default: 10k]
    #[arg(long, value_parser = parse_count, help_heading = "SQL")]
    pub rows: Option<u64>,

    /// Form of memcached's protocol: text or meta [default: text]
    #[arg(long, value_parser = parse_dialect, help_heading = "Key-value")]
    pub dialect: Option<Dialect>,

    /// Write every second's histograms to a file that other tools read, a standard log (see docs/FORMATS.md)
    #[arg(long, value_name = "FILE", conflicts_with = "find_capacity", help_heading = "Output")]
    pub hlog: Option<PathBuf>,

    /// How the answer is printed
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: Format,

    /// How progress is shown
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    pub progress: ProgressOption,
}

fn parse_arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "poisson" => Ok(Arrivals::Poisson),
        "constant" => Ok(Arrivals::Constant),
        _ => Err("expected poisson or constant".to_owned()),
    }
}

fn parse_dialect(text: &str) -> Result<Dialect, String> {
    match text {
        "text" => Ok(Dialect::Text),
        "meta" => Ok(Dialect::Meta),
        _ => Err("expected text or meta".to_owned()),
    }
}
