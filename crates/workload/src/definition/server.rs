//! A server as a workload describes it: what to install and start, when it is ready, what it can be asked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use host::packages::PackageName;
use host::process::StopSignal;
use load::inputs::units::parse_duration;
use toml::Spanned;

use super::account::DatabaseAccount;
use super::knob::{INSTANCES, Knob};
use super::protocol::{Kind, Protocol};
use super::raw::{RawReady, RawServer, RawStatistics, RawVersion};
use super::source_text::{DefinitionError, SourceText, suggestion};
use super::templates::{ConfigTemplate, TemplateCheck};
use crate::folder::Folder;

/// How long a server may take to be ready if nothing is said.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A server.
#[derive(Clone, Debug)]
pub struct ServerDefinition {
    /// Its name, as variants begin with it.
    pub name: String,
    /// What it is.
    pub about: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// The package that it is in, by distribution (`ID` of os-release(5)).
    pub packages: BTreeMap<String, PackageName>,
    /// Its configuration files.
    pub config: Vec<ConfigTemplate>,
    /// The command that starts it, a template.
    pub start: Vec<String>,
    /// Environment variables that it has beside the usual few, their values templates.
    pub environment: BTreeMap<String, String>,
    /// Whether a password is made up for each start.
    pub has_password: bool,
    /// Whether the whole of it runs as an unprivileged user where we are root.
    pub is_unprivileged: bool,
    /// Whether it cannot do without root's rights.
    pub needs_root: bool,
    /// Who logs in to a database.
    pub account: Option<DatabaseAccount>,
    /// Commands, templates, that are run to their ends before the start, such as what makes a data directory.
    pub prepare: Vec<Vec<String>>,
    /// The signal that asks it to stop.
    pub stop: StopSignal,
    /// When it is ready.
    pub ready: ReadyCheck,
    /// How to ask for its version.
    pub version: Option<VersionCommand>,
    /// The command that tells how it was built.
    pub build: Option<Vec<String>>,
    /// How to ask what it has counted.
    pub statistics: Option<StatisticsQuery>,
    /// What a variant may set.
    pub knobs: Vec<Knob>,
}

/// When a server is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyCheck {
    /// What is tried.
    pub probe: ReadyProbe,
    /// How long that may take.
    pub within: Duration,
}

/// What is tried to see whether a server is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyProbe {
    /// A GET of this path is answered with a status from 200 to 399.
    Http(String),
    /// Its port accepts a connection.
    Tcp,
    /// This command, a template, ends with status 0.
    Command(Vec<String>),
    /// This statement succeeds.
    Sql(String),
    /// It says so itself, as runners do.
    Runner,
}

/// How to ask a program for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCommand {
    /// The command.
    pub run: Vec<String>,
    /// The version is what follows this in the first line that begins with it.
    pub after: String,
}

/// How to ask a server what it has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsQuery {
    /// The question.
    pub ask: StatisticsSource,
    /// The names of the counters that together count the operations.
    pub counters: Vec<String>,
    /// The engine's counter that counts the same; operations if not given.
    pub client_counter: Option<String>,
}

/// A question to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticsSource {
    /// GET of a path, a template; one that becomes empty asks nothing.
    Http(String),
    /// A command, a template, whose answer ends in a line `END`, such as `stats`.
    Memcache(String),
    /// A command, a template, that is answered with a bulk string, such as `INFO commandstats`.
    Redis(String),
    /// A statement, a template, that is answered with rows of a name and a number.
    Sql {
        /// The statement.
        statement: String,
        /// Where it is asked, if not in the database of the load.
        database: Option<String>,
    },
    /// A file that it writes, a template of its path. What is counted is how often the name of a counter stands there.
    Log(String),
}

impl StatisticsSource {
    /// The question as a template.
    pub fn template(&self) -> &str {
        match self {
            Self::Http(template) | Self::Memcache(template) | Self::Redis(template) | Self::Log(template) => {
                template
            }
            Self::Sql { statement, .. } => statement,
        }
    }
}

impl ServerDefinition {
    /// Checks a server as written, and reads its templates.
    pub(super) fn check(
        name: &str,
        raw: Spanned<RawServer>,
        protocol: Protocol,
        is_tls: bool,
        folder: &Folder,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            let what = format!("server {name:?}: a name is of letters, digits, - and _");
            return Err(source.error(&span, what));
        }
        let raw = raw.into_inner();
        let protocol = match raw.protocol {
            Some(own) if own.get_ref().kind() != protocol.kind() => {
                let what = format!("server {name:?}: the operations are for another kind of protocol");
                return Err(source.error(&own.span(), what));
            }
            Some(own) => own.into_inner(),
            None => protocol,
        };
        if protocol.kind() == Kind::Tables && raw.account.is_none() {
            let what = format!("server {name:?}: a database needs account = {{ user = …, database = … }}");
            return Err(source.error(&span, what));
        }
        let knob_spans: Vec<Range<usize>> = raw.knobs.values().map(Spanned::span).collect();
        let knobs: Result<Vec<Knob>, DefinitionError> =
            raw.knobs.into_iter().map(|(name, knob)| Knob::check(&name, knob, source)).collect();
        let knobs = knobs?;

        let mut templates = TemplateCheck::new(&knobs, &knob_spans, raw.password, is_tls, source)?;
        templates.argv(&raw.start)?;
        raw.prepare.iter().try_for_each(|command| templates.argv(command))?;
        templates.environment(&raw.environment)?;
        let config: Result<Vec<ConfigTemplate>, DefinitionError> =
            raw.config.iter().map(|file| templates.config_file(file, folder)).collect();
        let config = config?;
        let ready = match &raw.ready {
            Some(ready) => check_ready(ready, protocol, source, &mut templates)?,
            None => ReadyCheck { probe: usual_probe(protocol), within: READY_WITHIN },
        };
        if let Some(version) = &raw.version {
            templates.words(&version.get_ref().run, &version.span())?;
        }
        if let Some(build) = &raw.build {
            templates.argv(build)?;
        }
        let statistics =
            raw.statistics.map(|raw| check_statistics(raw, source, &mut templates)).transpose()?;
        templates.every_knob_is_used(&knobs, &knob_spans)?;
        if is_tls && !templates.uses("https") {
            let what =
                "the load is over TLS: use {{ https.certificate }} and {{ https.key }} in config or start";
            return Err(source.error(&span, format!("server {name:?}: {what}")));
        }
        let of_tls = is_tls.then(Knob::of_tls);
        let of_instances = (protocol.kind() != Kind::Own).then(Knob::of_instances);
        let knobs = knobs.into_iter().chain(of_tls.into_iter().flatten()).chain(of_instances).collect();
        Ok(Self {
            name: name.to_owned(),
            about: raw.about,
            protocol,
            packages: raw.packages,
            config,
            start: raw.start.into_inner(),
            environment: raw.environment.into_iter().map(|(k, v)| (k, v.into_inner())).collect(),
            has_password: raw.password,
            is_unprivileged: raw.unprivileged,
            needs_root: raw.root,
            account: raw.account,
            prepare: raw.prepare.into_iter().map(Spanned::into_inner).collect(),
            stop: raw.stop,
            ready,
            version: raw.version.map(|version| {
                let RawVersion { run, after } = version.into_inner();
                VersionCommand { run, after }
            }),
            build: raw.build.map(Spanned::into_inner),
            statistics,
            knobs,
        })
    }

    /// A knob by name; the error goes on from the server's name and says which there are.
    pub fn knob(&self, name: &str) -> Result<&Knob, String> {
        if name == INSTANCES && self.protocol.kind() == Kind::Own {
            let what = "is a program that makes its own load, which cannot be spread over several";
            return Err(format!("has no knob {INSTANCES}: it {what}"));
        }
        let names: Vec<&str> = self.knobs.iter().map(|knob| knob.name.as_str()).collect();
        let found = self.knobs.iter().find(|knob| knob.name == name);
        found.ok_or_else(|| format!("has no knob {name:?}{}", suggestion(name, &names)))
    }
}

fn usual_probe(protocol: Protocol) -> ReadyProbe {
    if protocol == Protocol::Runner { ReadyProbe::Runner } else { ReadyProbe::Tcp }
}

fn check_ready(
    raw: &Spanned<RawReady>,
    protocol: Protocol,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<ReadyCheck, DefinitionError> {
    let span = raw.span();
    let RawReady { http, tcp, command, sql, within } = raw.get_ref();
    let probe = match (http, tcp, command, sql) {
        (None, None, None, None) => usual_probe(protocol),
        _ if protocol == Protocol::Runner => {
            let what = "ready: a runner says itself when it is: give only within";
            return Err(source.error(&span, what));
        }
        (Some(path), None, None, None) => ReadyProbe::Http(http_path(path, &span, source)?),
        (None, Some(true), None, None) => ReadyProbe::Tcp,
        (None, None, None, Some(statement)) => ReadyProbe::Sql(statement.clone()),
        (None, None, Some(command), None) => {
            templates.words(command, &span)?;
            ReadyProbe::Command(command.clone())
        }
        _ => {
            let what = "ready: give one of http = \"/path\", tcp = true, sql = \"SELECT 1\" and \
                        command = [\"program\"]";
            return Err(source.error(&span, what));
        }
    };
    let within = within.as_ref().map(|text| {
        parse_duration(text.get_ref()).map_err(|e| source.error(&text.span(), format!("ready: within: {e}")))
    });
    Ok(ReadyCheck { probe, within: within.transpose()?.unwrap_or(READY_WITHIN) })
}

fn check_statistics(
    raw: Spanned<RawStatistics>,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<StatisticsQuery, DefinitionError> {
    let span = raw.span();
    let refuse = |what: &str| source.error(&span, format!("statistics: {what}"));
    let RawStatistics { http, memcache, redis, sql, log, database, counters, client_counter } =
        raw.into_inner();
    if counters.is_empty() || counters.iter().any(String::is_empty) {
        return Err(refuse("give the names of the counters that together count the operations"));
    }
    let ask = match (http, memcache, redis, sql, log) {
        (Some(path), None, None, None, None) => StatisticsSource::Http(path),
        (None, Some(command), None, None, None) => StatisticsSource::Memcache(command),
        (None, None, Some(command), None, None) => StatisticsSource::Redis(command),
        (None, None, None, Some(statement), None) => StatisticsSource::Sql { statement, database },
        (None, None, None, None, Some(path)) => StatisticsSource::Log(path),
        _ => {
            return Err(refuse(
                "give one of http = \"/path\", memcache = \"stats\", redis = \"INFO\", sql = \"SHOW STATUS\" and log = \"{{ dir }}/log\"",
            ));
        }
    };
    let question = templates.word(ask.template(), &span)?;
    if let (StatisticsSource::Http(_), false) = (&ask, question.is_empty()) {
        http_path(&question, &span, source)?;
    }
    Ok(StatisticsQuery { ask, counters, client_counter })
}

fn http_path(path: &str, span: &Range<usize>, source: SourceText<'_>) -> Result<String, DefinitionError> {
    let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    let what = || format!("{path:?} is no path: write it as /path, blanks as %20");
    if is_path { Ok(path.to_owned()) } else { Err(source.error(span, what())) }
}
