//! The keys of `workload.toml`, for serde, with their positions in the file. The other files of this folder check their
//! values. `docs/WORKLOAD.md` documents every key; a test compares it with these types.

use std::collections::BTreeMap;

use host::packages::PackageName;
use load::drivers::RegisteredProtocol;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor, value};
use toml::Spanned;

use crate::definition::account::DatabaseAccount;
use crate::definition::external::{PidSource, StopMethod};
use crate::definition::values::knob_type::KnobEffect;
use crate::definition::values::text_form::TextForm;

/// The whole file without the mix, which [`RawMix`](super::mix::RawMix) removes from it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawWorkload {
    pub title: String,
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub data: RawData,
    #[serde(default)]
    pub servers_of: Option<Spanned<String>>,
    #[serde(default)]
    pub server: BTreeMap<String, Spanned<RawServer>>,
    pub load: Spanned<RawLoad>,
    #[serde(default)]
    pub metrics: RawMetrics,
}

/// The protocol, which decides how the mix is read.
#[derive(Deserialize)]
pub struct RawProtocolOnly {
    pub load: RawLoadProtocol,
}

#[derive(Deserialize)]
pub struct RawLoadProtocol {
    pub protocol: RegisteredProtocol,
}

/// The parts of a workload that another one uses with `servers_of`.
#[derive(Deserialize)]
pub struct RawSharedServers {
    #[serde(default)]
    pub servers_of: Option<String>,
    #[serde(default)]
    pub data: RawData,
    #[serde(default)]
    pub server: BTreeMap<String, Spanned<RawServer>>,
    pub load: RawLoadProtocol,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawData {
    #[serde(default)]
    pub files: Vec<Spanned<RawFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    pub path: String,
    pub size: Spanned<String>,
    #[serde(default)]
    pub content: crate::data::FileContent,
}

/// Declares the tables of a server and of a companion. Both have the keys that are given, which describe one process. serde's `flatten`
/// would lose the positions in the file and let unknown keys pass.
macro_rules! process_tables {
    ($($(#[$attribute:meta])* $key:ident: $kind:ty,)*) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct RawServer {
            $($(#[$attribute])* pub $key: $kind,)*
            #[serde(default)]
            pub statistics: Option<Spanned<RawStatistics>>,
            #[serde(default)]
            pub observe: Vec<Spanned<RawObservation>>,
            /// The command that checks the server's work at the end of a trial.
            #[serde(default)]
            pub verify: Option<Spanned<Vec<String>>>,
            #[serde(default)]
            pub concurrency: BTreeMap<String, Spanned<String>>,
            #[serde(default)]
            pub knobs: BTreeMap<String, Spanned<RawKnob>>,
            /// The name of its own process among the parts of the server.
            #[serde(default)]
            pub part: Option<Spanned<String>>,
            #[serde(default)]
            pub companion: Vec<Spanned<RawCompanion>>,
        }

        /// A process beside that of a server: a database, a cache.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct RawCompanion {
            pub name: Spanned<String>,
            $($(#[$attribute])* pub $key: $kind,)*
            #[serde(default)]
            pub observe: Vec<Spanned<RawObservation>>,
        }

        impl RawCompanion {
            /// The companion as a server that has nothing but this process.
            pub fn into_server(self) -> RawServer {
                RawServer {
                    $($key: self.$key,)*
                    statistics: None,
                    observe: self.observe,
                    verify: None,
                    concurrency: BTreeMap::new(),
                    knobs: BTreeMap::new(),
                    part: None,
                    companion: Vec::new(),
                }
            }
        }
    };
}

process_tables! {
    #[serde(default)]
    about: String,
    #[serde(default)]
    protocol: Option<Spanned<RegisteredProtocol>>,
    #[serde(default)]
    packages: BTreeMap<String, PackageName>,
    #[serde(default)]
    needs: Vec<Spanned<RawNeed>>,
    #[serde(default)]
    config: Vec<Spanned<String>>,
    start: Spanned<Vec<String>>,
    #[serde(default)]
    environment: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    password: bool,
    #[serde(default)]
    unprivileged: bool,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    account: Option<DatabaseAccount>,
    /// A Unix socket below `{{ dir }}` on which the process listens, a template; empty for its port.
    #[serde(default)]
    socket: Option<Spanned<String>>,
    #[serde(default)]
    prepare: Vec<Spanned<Vec<String>>>,
    #[serde(default)]
    stop: Option<Spanned<StopMethod>>,
    /// Where the process ID of a server is found that another program starts.
    #[serde(default)]
    pid: Option<Spanned<PidSource>>,
    #[serde(default)]
    ready: Option<Spanned<RawReady>>,
    #[serde(default)]
    version: Option<Spanned<RawVersion>>,
    #[serde(default)]
    build: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNeed {
    /// A program in `PATH`.
    pub program: Option<String>,
    /// The name of a shared library's file.
    pub library: Option<String>,
    /// A file or a directory.
    pub path: Option<String>,
    #[serde(default)]
    pub packages: BTreeMap<String, PackageName>,
    /// What to do where no package has it.
    #[serde(default)]
    pub remedy: Option<String>,
    /// Knobs with the values without which it is not needed.
    #[serde(default)]
    pub only_with: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawReady {
    pub http: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
    pub tcp: Option<bool>,
    pub sql: Option<String>,
    pub command: Option<Vec<String>>,
    pub within: Option<Spanned<String>>,
}

/// `["nginx", "-v"]`, or `{ run = ["nginx", "-v"], after = "nginx version: " }`.
pub struct RawVersion {
    pub run: Vec<String>,
    pub after: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawStatistics {
    pub http: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
    pub memcache: Option<String>,
    pub redis: Option<String>,
    pub sql: Option<String>,
    /// A file that the server writes. A counter is the number of occurrences of its name.
    pub log: Option<String>,
    /// The database in which `sql` runs.
    pub database: Option<String>,
    pub counters: Vec<String>,
    pub client_counter: Option<String>,
}

/// What a server says of itself: a query, and the values in its reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawObservation {
    pub http: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
    pub memcache: Option<String>,
    pub redis: Option<String>,
    pub sql: Option<String>,
    /// The database in which `sql` runs.
    pub database: Option<String>,
    pub values: BTreeMap<String, Spanned<RawObserved>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawObserved {
    pub counter: Option<String>,
    pub gauge: Option<String>,
    pub scale: Option<f64>,
    #[serde(default)]
    pub unit: String,
    pub about: String,
    pub limit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawKnob {
    #[serde(default)]
    pub about: String,
    pub default: Spanned<toml::Value>,
    #[serde(default)]
    pub range: Option<Spanned<String>>,
    #[serde(default)]
    pub choices: Option<Vec<String>>,
    #[serde(default)]
    pub form: Option<TextForm>,
    #[serde(default)]
    pub pattern: Option<Spanned<String>>,
    #[serde(default)]
    pub unit: String,
    #[serde(default)]
    pub memory: bool,
    #[serde(default)]
    pub changes: Option<KnobEffect>,
    #[serde(default)]
    pub resource: String,
    #[serde(default)]
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLoad {
    pub protocol: RegisteredProtocol,
    #[serde(default)]
    pub tls: Option<Spanned<bool>>,
    #[serde(default)]
    pub alone: Option<Spanned<String>>,
    #[serde(default)]
    pub slo: Option<Spanned<String>>,
    #[serde(default)]
    pub timeout: Option<Spanned<String>>,
    #[serde(default)]
    pub one_by_one: Option<Spanned<bool>>,
    #[serde(default)]
    pub connections: Option<Spanned<u32>>,
    /// The socket of each server that has none of its own.
    #[serde(default)]
    pub socket: Option<Spanned<String>>,
    /// Always empty. It exists so that an error about an unknown key lists `op`.
    #[serde(default, rename = "op")]
    _op: IgnoredAny,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawMetrics {
    #[serde(default)]
    pub operations: Option<String>,
    #[serde(default)]
    pub bytes: Vec<Spanned<String>>,
    #[serde(default)]
    pub ratios: Vec<Spanned<RawRatio>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRatio {
    pub name: String,
    #[serde(default)]
    pub about: String,
    pub part: String,
    pub of: Vec<String>,
    #[serde(default)]
    pub at_least: Option<f64>,
}

impl<'de> Deserialize<'de> for RawVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct VersionTable {
            run: Vec<String>,
            #[serde(default)]
            after: String,
        }

        struct CommandOrTable;
        impl<'de> Visitor<'de> for CommandOrTable {
            type Value = RawVersion;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a command as a list of words, or a table of run and after")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<RawVersion, A::Error> {
                let run = Vec::deserialize(value::SeqAccessDeserializer::new(words))?;
                Ok(RawVersion { run, after: String::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RawVersion, A::Error> {
                let VersionTable { run, after } =
                    VersionTable::deserialize(value::MapAccessDeserializer::new(table))?;
                Ok(RawVersion { run, after })
            }
        }
        deserializer.deserialize_any(CommandOrTable)
    }
}
