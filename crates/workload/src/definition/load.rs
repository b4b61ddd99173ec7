//! What a workload's load consists of: the operations, and what there is to do them on.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::drivers::keyspace::KeyspaceSpec;
use load::drivers::memcache::{MemcacheDialect, MemcacheSpec};
use load::drivers::password::PasswordSource;
use load::drivers::redis::{RedisAuth, RedisSpec};
use load::drivers::smtp::{MailOperation, SmtpSpec};
use load::drivers::sql::{DatabaseLogin, SqlSpec, SqlWork, Tables, Transaction};
use load::inputs::slo::Slo;
use load::inputs::units::parse_duration;
use load::runner::RunnerSpec;
use toml::Spanned;

use super::account::DatabaseAccount;
use super::protocol::{Kind, Protocol};
use super::raw::{RawCommand, RawLoad, RawRunnerOperation, RawTransaction};
use super::source_text::{DefinitionError, SourceText};
use crate::names::available;

/// Connections if nothing is said: enough to keep a few cores busy, few enough for any server.
const CONNECTIONS: u32 = 64;

/// Longer than any reply should take, the largest file over a full machine included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The load of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadDefinition {
    /// The objective that a capacity must meet; none where the load is a runner's own, which has no capacity.
    pub slo: Option<Slo>,
    /// Connections of the client.
    pub connections: u32,
    /// The longest wait for a reply, or for a word of a runner.
    pub timeout: Duration,
    /// Whether an operation takes so long that they are timed one by one.
    pub is_one_by_one: bool,
    /// Whether connections are secured with TLS.
    pub is_tls: bool,
    /// The operation that is done if nobody says which: of a workload whose operations are not mixed.
    pub default_operation: Option<String>,
    /// What is done.
    pub operations: Operations,
    /// The operations' names, in the order of the mix.
    pub names: Vec<String>,
    /// The names of the counters that the engine keeps beside times.
    pub counters: &'static [&'static str],
}

/// The operations of a workload.
#[derive(Clone, Debug, PartialEq)]
pub enum Operations {
    /// Requests.
    Http(Vec<HttpOperation>),
    /// Commands over keys.
    Keys(KeyspaceSpec),
    /// Transactions with their weights, over tables.
    Tables(Vec<(Transaction, f64)>, Tables),
    /// Messages in sessions.
    Mail(SmtpSpec),
    /// What a runner does by itself: names with their weights.
    Runner(Vec<(String, f64)>),
}

/// How a server is reached, apart from its address.
#[derive(Clone, Copy, Debug)]
pub struct ServerAccess<'a> {
    /// What a `Host` header says.
    pub authority: &'a str,
    /// Who logs in to a database.
    pub account: Option<&'a DatabaseAccount>,
    /// Where the password is.
    pub password: Option<&'a PasswordSource>,
    /// Where a runner reads and writes.
    pub pipes: Option<(&'a Path, &'a Path)>,
}

impl LoadDefinition {
    /// Checks requests as written.
    pub(super) fn check_http(
        raw: Spanned<RawLoad<HttpOperation>>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let raw = raw.into_inner();
        refuse_foreign(&raw, None, source)?;
        for operation in &raw.op {
            let alone = HttpOperation { weight: 1.0, ..operation.get_ref().clone() };
            let spec = HttpSpec { authority: "localhost".to_owned(), operations: vec![alone] };
            let checked = ProtocolSpec::Http(spec).names();
            checked.map_err(|e| source.error(&operation.span(), e.to_string()))?;
        }
        let operations = raw.op.iter().map(|op| op.get_ref().clone()).collect();
        Self::check(&raw, Operations::Http(operations), &span, source)
    }

    /// Checks commands as written.
    pub(super) fn check_keys(
        raw: Spanned<RawLoad<RawCommand>>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let raw = raw.into_inner();
        refuse_foreign(&raw, Some(Kind::Keys), source)?;
        let Some(keyspace) = &raw.keyspace else {
            let what = "load: a store needs [load.keyspace] with keys and value_size";
            return Err(source.error(&span, what));
        };
        let keyspace = keyspace.get_ref();
        let spec = KeyspaceSpec {
            mix: raw.op.iter().map(|op| (op.get_ref().command, op.get_ref().weight)).collect(),
            keys: keyspace.keys,
            key_prefix: keyspace.key_prefix.clone(),
            popularity: keyspace.popularity,
            value_size: keyspace.value_size.clone(),
            verify: keyspace.verify,
            seed: 0,
        };
        Self::check(&raw, Operations::Keys(spec), &span, source)
    }

    /// Checks transactions as written.
    pub(super) fn check_tables(
        raw: Spanned<RawLoad<RawTransaction>>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let raw = raw.into_inner();
        refuse_foreign(&raw, Some(Kind::Tables), source)?;
        let Some(tables) = &raw.tables else {
            let what = "load: a database needs [load.tables] with tables and rows";
            return Err(source.error(&span, what));
        };
        let tables = tables.get_ref();
        let mix: Vec<(Transaction, f64)> =
            raw.op.iter().map(|op| (op.get_ref().transaction, op.get_ref().weight)).collect();
        let tables = Tables {
            tables: tables.tables,
            rows: tables.rows,
            popularity: tables.popularity,
            // Also with one operation alone: the check before the load carries out each.
            gaps: mix.iter().any(|(transaction, _)| *transaction == Transaction::Delete),
            seed: 0,
        };
        Self::check(&raw, Operations::Tables(mix, tables), &span, source)
    }

    /// Checks messages as written.
    pub(super) fn check_mail(
        raw: Spanned<RawLoad<MailOperation>>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let raw = raw.into_inner();
        refuse_foreign(&raw, Some(Kind::Mail), source)?;
        let Some(mail) = &raw.mail else {
            return Err(source.error(&span, "load: mail needs [load.mail], which may be empty"));
        };
        let mix = raw.op.iter().map(|op| op.get_ref().clone()).collect();
        let spec = SmtpSpec { sessions: mail.get_ref().clone(), mix };
        Self::check(&raw, Operations::Mail(spec), &span, source)
    }

    /// Checks what a runner does as written.
    pub(super) fn check_runner(
        raw: Spanned<RawLoad<RawRunnerOperation>>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let raw = raw.into_inner();
        refuse_foreign(&raw, None, source)?;
        let why = "a runner makes its own load, see docs/BYOD.md";
        if let Some(slo) = &raw.slo {
            return Err(source.error(&slo.span(), format!("slo: it is for open loops, and {why}")));
        }
        if let Some(connections) = &raw.connections {
            let what = format!("connections: {why}: make a knob of how many it has");
            return Err(source.error(&connections.span(), what));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        for operation in &raw.op {
            let RawRunnerOperation { name, weight } = operation.get_ref();
            if name.is_empty() || !name.chars().all(is_plain) {
                let what = format!("operation {name:?}: a name is of letters, digits, -, _ and .");
                return Err(source.error(&operation.span(), what));
            }
            if !weight.is_finite() || *weight <= 0.0 {
                let what = format!("operation {name:?}: give a weight above 0");
                return Err(source.error(&operation.span(), what));
            }
        }
        let mix = raw.op.iter().map(|op| (op.get_ref().name.clone(), op.get_ref().weight)).collect();
        Self::check(&raw, Operations::Runner(mix), &span, source)
    }

    fn check<Op>(
        raw: &RawLoad<Op>,
        operations: Operations,
        span: &Range<usize>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let refuse = |what: String| source.error(span, format!("load: {what}"));
        // With a protocol of its kind, the mix as a whole is checked: weights, keys.
        let protocol = match operations {
            Operations::Http(_) => Protocol::Http,
            Operations::Keys(_) => Protocol::Memcache,
            Operations::Tables(..) => Protocol::Mysql,
            Operations::Mail(_) => Protocol::Smtp,
            Operations::Runner(_) => Protocol::Runner,
        };
        let access = ServerAccess { authority: "localhost", account: None, password: None, pipes: None };
        let spec = operations.spec(protocol, access, 0);
        let (names, counters) = spec.names().map_err(|e| refuse(e.to_string()))?;
        if names.is_empty() {
            return Err(refuse("give at least one [[load.op]]".to_owned()));
        }
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(refuse(format!(
                "two operations are called {:?}: give each a name of its own",
                twice.1
            )));
        }
        if let Some(none) = raw.connections.as_ref().filter(|connections| *connections.get_ref() == 0) {
            return Err(source.error(&none.span(), "connections: give at least one"));
        }
        let is_runner = matches!(operations, Operations::Runner(_));
        if let Some(word) = raw.one_by_one.as_ref().filter(|_| !is_runner) {
            return Err(source.error(&word.span(), "one_by_one: it is for runners"));
        }
        if let Some(tls) = raw.tls.as_ref().filter(|_| protocol != Protocol::Http) {
            return Err(source.error(&tls.span(), "tls: it is for http"));
        }
        if let Some(alone) = raw.alone.as_ref().filter(|alone| !names.contains(alone.get_ref())) {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let name = alone.get_ref();
            let what = format!("alone: there is no operation {name:?}{}", available(name, &known));
            return Err(source.error(&alone.span(), what));
        }
        let slo = match &raw.slo {
            Some(slo) => {
                Some(slo.get_ref().parse().map_err(|e| source.error(&slo.span(), format!("slo: {e}")))?)
            }
            None if is_runner => None,
            None => {
                return Err(refuse("give an objective, such as slo = \"p99<5ms\"".to_owned()));
            }
        };
        let timeout = raw.timeout.as_ref().map(|text| {
            parse_duration(text.get_ref()).map_err(|e| source.error(&text.span(), format!("timeout: {e}")))
        });
        let given = raw.connections.as_ref().map(|connections| *connections.get_ref());
        Ok(Self {
            slo,
            // A runner is one peer, whatever it does behind that.
            connections: given.unwrap_or(if is_runner { 1 } else { CONNECTIONS }),
            timeout: timeout.transpose()?.unwrap_or(TIMEOUT),
            is_one_by_one: raw.one_by_one.as_ref().is_some_and(|word| *word.get_ref()),
            is_tls: raw.tls.as_ref().is_some_and(|word| *word.get_ref()),
            default_operation: raw.alone.as_ref().map(|name| name.get_ref().clone()),
            operations,
            names,
            counters,
        })
    }

    /// Whether the load is made by the program under test itself.
    pub fn is_runner(&self) -> bool {
        matches!(self.operations, Operations::Runner(_))
    }

    /// Only the operation of this name, if there is one.
    pub fn only(&self, name: &str) -> Option<Operations> {
        let at = self.names.iter().position(|known| known == name)?;
        Some(match &self.operations {
            Operations::Http(operations) => {
                Operations::Http(vec![HttpOperation { weight: 1.0, ..operations[at].clone() }])
            }
            Operations::Keys(spec) => {
                Operations::Keys(KeyspaceSpec { mix: vec![(spec.mix[at].0, 1.0)], ..spec.clone() })
            }
            Operations::Tables(mix, tables) => Operations::Tables(vec![(mix[at].0, 1.0)], tables.clone()),
            Operations::Mail(spec) => Operations::Mail(SmtpSpec {
                mix: vec![MailOperation { weight: 1.0, ..spec.mix[at].clone() }],
                ..spec.clone()
            }),
            Operations::Runner(_) => Operations::Runner(vec![(name.to_owned(), 1.0)]),
        })
    }
}

/// What the operations are on must be of their kind.
fn refuse_foreign<Op>(
    raw: &RawLoad<Op>,
    kind: Option<Kind>,
    source: SourceText<'_>,
) -> Result<(), DefinitionError> {
    let tables = [
        (Kind::Keys, raw.keyspace.as_ref().map(Spanned::span), "keyspace: it is for memcache and redis"),
        (Kind::Tables, raw.tables.as_ref().map(Spanned::span), "tables: they are for mysql and postgres"),
        (Kind::Mail, raw.mail.as_ref().map(Spanned::span), "mail: it is for smtp"),
    ];
    for (whose, span, what) in tables {
        if let Some(span) = span.filter(|_| kind != Some(whose)) {
            return Err(source.error(&span, what));
        }
    }
    Ok(())
}

impl Operations {
    /// What the engine is to do. Keys, values and rows follow from `seed`.
    pub fn spec(&self, protocol: Protocol, access: ServerAccess<'_>, seed: u64) -> ProtocolSpec {
        match self {
            Self::Http(operations) => ProtocolSpec::Http(HttpSpec {
                authority: access.authority.to_owned(),
                operations: operations.clone(),
            }),
            Self::Keys(keyspace) => {
                let keyspace = KeyspaceSpec { seed, ..keyspace.clone() };
                match protocol {
                    Protocol::Redis => {
                        let password = access.password.cloned();
                        let auth = password.map(|password| RedisAuth { user: None, password });
                        ProtocolSpec::Redis(RedisSpec { auth, keyspace })
                    }
                    // A server's protocol was checked to be one of a store.
                    _ => ProtocolSpec::Memcache(MemcacheSpec { dialect: MemcacheDialect::Text, keyspace }),
                }
            }
            Self::Tables(mix, tables) => {
                let DatabaseAccount { user, database } = access.account.cloned().unwrap_or_default();
                let spec = SqlSpec {
                    login: DatabaseLogin { user, database, password: access.password.cloned() },
                    tables: Tables { seed, ..tables.clone() },
                    work: SqlWork::Transactions(mix.clone()),
                };
                // A server's protocol was checked to be one of a database.
                match protocol {
                    Protocol::Postgres => ProtocolSpec::Postgres(spec),
                    _ => ProtocolSpec::Mysql(spec),
                }
            }
            Self::Mail(spec) => ProtocolSpec::Smtp(spec.clone()),
            Self::Runner(mix) => {
                let (stdin, stdout) = access.pipes.unwrap_or((Path::new(""), Path::new("")));
                ProtocolSpec::Runner(RunnerSpec {
                    stdin: stdin.to_owned(),
                    stdout: stdout.to_owned(),
                    mix: mix.clone(),
                })
            }
        }
    }
}
