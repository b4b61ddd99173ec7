//! A server as a workload defines it: its packages, its commands, when it is ready, its statistics and its knobs.

use std::collections::BTreeMap;
use std::time::Duration;

use host::packages::PackageName;
use load::drivers::RegisteredProtocol;
use load::inputs::units::parse_duration;
use toml::Spanned;

use super::account::DatabaseAccount;
use super::external::{PidSource, StopMethod};
use super::external_check;
use super::knobs::concurrency::ConcurrencyKnobs;
use super::knobs::knob::{INSTANCES, Knob};
use super::need::Need;
use super::observation::Observation;
use super::probe::HttpProbe;
use super::source::raw::{RawReady, RawServer, RawVersion};
use super::statistics::{self, StatisticsQuery};
use super::templates::{ConfigTemplate, TemplateCheck};
use crate::folder::Folder;
use crate::names::UnknownName;
use notation::source_text::{FileError, SourceText};

/// The default time that a server may take to become ready.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A server as defined.
#[derive(Clone, Debug)]
pub struct ServerDefinition {
    /// Its name, with which variants begin.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Its protocol.
    pub protocol: RegisteredProtocol,
    /// The package that contains it, by distribution (`ID` of os-release(5)).
    pub packages: BTreeMap<String, PackageName>,
    /// What else it needs of the system.
    pub needs: Vec<Need>,
    /// Its configuration files.
    pub config: Vec<ConfigTemplate>,
    /// The command that starts it, a template.
    pub start: Vec<String>,
    /// Environment variables added to the base environment; their values are templates.
    pub environment: BTreeMap<String, String>,
    /// Whether each start generates a password.
    pub has_password: bool,
    /// Whether all its processes run as an unprivileged user where this program runs as root.
    pub is_unprivileged: bool,
    /// Whether it needs root.
    pub needs_root: bool,
    /// The account that the load uses in a database.
    pub account: Option<DatabaseAccount>,
    /// The Unix socket on which it listens, a template. Where there is none, or where it becomes empty, it listens on its port.
    pub socket: Option<String>,
    /// Commands that run before the start, such as one that creates a data directory. Their words are templates.
    pub prepare: Vec<Vec<String>>,
    /// What stops it.
    pub stop: StopMethod,
    /// What names its process, where another program starts it.
    pub pid: Option<PidSource>,
    /// How to find out whether it is ready.
    pub ready: ReadyCheck,
    /// How to find out its version.
    pub version: Option<VersionCommand>,
    /// The command that prints how it was built.
    pub build: Option<Vec<String>>,
    /// How to read its count of operations.
    pub statistics: Option<StatisticsQuery>,
    /// What it says of itself, for an explanation.
    pub observe: Vec<Observation>,
    /// The command that checks its work when its load has ended, a template.
    pub verify: Option<Vec<String>>,
    /// The settings that a variant may change.
    pub knobs: Vec<Knob>,
    /// Values of some of them for very many connections.
    pub concurrency: ConcurrencyKnobs,
    /// The name of its own process among its parts.
    pub part: String,
    /// The processes that are started before its own, in this order.
    pub companions: Vec<CompanionDefinition>,
}

/// A companion as defined.
#[derive(Clone, Debug)]
pub struct CompanionDefinition {
    /// Its name, by which templates refer to it, and its CPU time is reported.
    pub name: String,
    /// The process. Its name is that in messages: `companion database of shop`.
    pub process: ServerDefinition,
}

/// Why a server does not have a knob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchKnob {
    /// The server defines no knob of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The knob `instances` of a runner.
    #[error(
        "server {0} has no knob {INSTANCES}: it is a runner, which generates its own load; \
         that load cannot be divided among several"
    )]
    RunnerInstances(String),
}

/// How to find out whether a server is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyCheck {
    /// The probe, repeated until it succeeds.
    pub probe: ReadyProbe,
    /// How long that may take.
    pub within: Duration,
}

/// A probe of whether a server is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyProbe {
    /// This GET is answered with a status from 200 to 399.
    Http(HttpProbe),
    /// Its port accepts a connection.
    Tcp,
    /// This command, a template, ends with status 0.
    Command(Vec<String>),
    /// This statement, a template, succeeds.
    Sql(String),
    /// A runner reports it.
    Runner,
}

/// How to find out a server's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCommand {
    /// The command.
    pub run: Vec<String>,
    /// The version follows this prefix, in the first line that begins with it.
    pub after: String,
}

impl ServerDefinition {
    /// Checks what a server and a companion have in common: what one process needs to start, and what is asked of it. Its needs, its
    /// knobs and its companions are left to the caller.
    pub(super) fn check_process(
        name: String,
        raw: RawServer,
        protocol: RegisteredProtocol,
        folder: &Folder,
        source: SourceText<'_>,
        templates: &mut TemplateCheck<'_>,
    ) -> Result<Self, FileError> {
        templates.argv(&raw.start)?;
        raw.prepare.iter().try_for_each(|command| templates.argv(command))?;
        templates.environment(&raw.environment)?;
        let (stop, pid) = external_check::check(raw.stop, raw.pid, source, templates)?;
        let socket = raw.socket.as_ref().map(|socket| templates.socket(socket, protocol)).transpose()?;
        let config: Result<Vec<ConfigTemplate>, FileError> =
            raw.config.iter().map(|file| templates.config_file(file, folder)).collect();
        let config = config?;
        let ready = match &raw.ready {
            Some(ready) => check_ready(ready, protocol, source, templates)?,
            None => ReadyCheck { probe: default_probe(protocol), within: READY_WITHIN },
        };
        if let Some(version) = &raw.version {
            templates.words(&version.get_ref().run, &version.span())?;
        }
        if let Some(build) = &raw.build {
            templates.argv(build)?;
        }
        if let Some(verify) = &raw.verify {
            templates.argv(verify)?;
        }
        let statistics = raw.statistics.map(|raw| statistics::check(raw, source, templates)).transpose()?;
        let observe: Result<Vec<Observation>, FileError> =
            raw.observe.into_iter().map(|raw| Observation::check(raw, source, templates)).collect();
        let observe = observe?;
        Ok(Self {
            name,
            about: raw.about,
            protocol,
            packages: raw.packages,
            needs: Vec::new(),
            config,
            start: raw.start.into_inner(),
            environment: raw.environment.into_iter().map(|(k, v)| (k, v.into_inner())).collect(),
            has_password: raw.password,
            is_unprivileged: raw.unprivileged,
            needs_root: raw.root,
            account: raw.account,
            socket,
            prepare: raw.prepare.into_iter().map(Spanned::into_inner).collect(),
            stop,
            pid,
            ready,
            version: raw.version.map(|version| {
                let RawVersion { run, after } = version.into_inner();
                VersionCommand { run, after }
            }),
            build: raw.build.map(Spanned::into_inner),
            statistics,
            observe,
            verify: raw.verify.map(Spanned::into_inner),
            knobs: Vec::new(),
            concurrency: ConcurrencyKnobs::default(),
            part: String::new(),
            companions: Vec::new(),
        })
    }

    /// The names of its parts, each with an account of its own: its own process and its companions, in order of their start.
    pub fn parts(&self) -> Vec<&str> {
        let companions = self.companions.iter().map(|companion| companion.name.as_str());
        companions.chain([self.part.as_str()]).collect()
    }

    /// The names of the parts whose CPU time is counted apart: none where its own process is all of it.
    pub fn accounts(&self) -> Vec<&str> {
        if self.companions.is_empty() { Vec::new() } else { self.parts() }
    }

    /// A knob by name.
    pub fn knob(&self, name: &str) -> Result<&Knob, NoSuchKnob> {
        if name == INSTANCES && self.protocol.makes_own_load() {
            return Err(NoSuchKnob::RunnerInstances(self.name.clone()));
        }
        let names: Vec<&str> = self.knobs.iter().map(|knob| knob.name.as_str()).collect();
        let found = self.knobs.iter().find(|knob| knob.name == name);
        found.ok_or_else(|| UnknownName::new(format!("server {}", self.name), "knob", name, &names).into())
    }
}

fn default_probe(protocol: RegisteredProtocol) -> ReadyProbe {
    if protocol.makes_own_load() { ReadyProbe::Runner } else { ReadyProbe::Tcp }
}

fn check_ready(
    raw: &Spanned<RawReady>,
    protocol: RegisteredProtocol,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<ReadyCheck, FileError> {
    let span = raw.span();
    let RawReady { http, headers, tcp, command, sql, within } = raw.get_ref();
    let http = statistics::check_probe("ready", (http.clone(), headers.clone()), &span, source, templates)?;
    let probe = match (http, tcp, command, sql) {
        (None, None, None, None) => default_probe(protocol),
        _ if protocol.makes_own_load() => {
            let what = "ready: a runner reports when it is ready: give only within";
            return Err(source.error(&span, what));
        }
        (Some(probe), None, None, None) => ReadyProbe::Http(probe),
        (None, Some(true), None, None) => ReadyProbe::Tcp,
        (None, None, None, Some(statement)) => {
            templates.word(statement, &span)?;
            ReadyProbe::Sql(statement.clone())
        }
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
