//! A running server: its address, its processes, its effective configuration, the load for it, and its end.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use host::process::{LogTail, LogText, PipeEnds, Pipes, ProcessExit, ProcessTree};
use host::{Readiness, ServerProcess, Stopped};
use load::connecting::{Endpoint, UnixSocket};
use load::drivers::ProtocolSpec;
use load::spec::LoadSpec;
use load::tls::TlsSpec;
use serde::{Deserialize, Serialize};

use super::error::{ConfigurationError, InstanceError};
use super::options::StartOptions;
use super::private::credentials::ServerCredentials;
use super::private::directories::StartDirectories;
use super::private::files::SecretFiles;
use super::private::password::Password;
use super::replies::log_counter::LogCounter;
use super::tool::{self, Tools};
use crate::definition::{ServerDefinition, TypedValue, Workload};
use crate::render::TemplateVariables;
use crate::started_server::StartedServer;

/// How long a runner may take to end by itself: removing its data takes less.
const RUNNER_END_TIMEOUT: Duration = Duration::from_secs(5);

/// The log of a server, in the private directory of its start.
pub(crate) const SERVER_LOG: &str = "server.log";

/// A file of the effective configuration: what the server read, with the password masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveConfigFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A running server. It is stopped when this is dropped, and when this program ends.
#[derive(Debug)]
pub struct Instance {
    pub(crate) workload: Workload,
    pub(crate) server: ServerDefinition,
    pub(super) options: StartOptions,
    /// The directories of the start, as absolute paths.
    pub(super) directories: StartDirectories,
    /// How the workload's programs run.
    pub(super) tools: Tools,
    pub(super) address: SocketAddr,
    /// The socket on which it listens instead.
    pub(super) socket: Option<UnixSocket>,
    pub(super) knobs: BTreeMap<String, TypedValue>,
    /// The command, and then the files that the server read.
    pub(super) config: Vec<EffectiveConfigFile>,
    /// The variables of all templates but configuration files, which also have the password.
    pub(super) variables: TemplateVariables,
    pub(crate) credentials: ServerCredentials,
    /// The files of the server that contain its credentials.
    pub(super) secrets: SecretFiles,
    pub(super) running: ServerProcess,
    /// What was started before it. They are dropped, and so stopped, after it: fields are dropped in their order.
    pub(super) companions: Companions,
    /// The pipes to a runner.
    pub(super) pipes: Option<(Pipes, PipeEnds)>,
    /// How many requests have read its statistics over HTTP. The server may count them.
    pub(super) http_queries: u64,
    /// What was counted in its log, if its statistics come from there.
    pub(super) log_counter: LogCounter,
}

/// What the workload's `verify` says of a server's work, in the last line of its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// Nothing is wrong.
    Passed(String),
    /// What is wrong.
    Failed(String),
}

/// What the names of a companion's directory and files begin with.
pub(crate) fn companion_prefix(name: &str) -> String {
    format!("companion-{name}-")
}

/// The running companions of a server, in the order of their start. Dropping it stops them, the last one first.
#[derive(Debug, Default)]
pub(super) struct Companions(Vec<Companion>);

/// A running companion: an instance with its own directory, port, log and supervisor.
#[derive(Debug)]
pub(super) struct Companion {
    /// Its name.
    pub name: String,
    /// Its process.
    pub instance: Instance,
}

impl Companions {
    /// Adds one that has been started after the others.
    pub fn push(&mut self, name: &str, instance: Instance) {
        self.0.push(Companion { name: name.to_owned(), instance });
    }

    /// All of them, in the order of their start.
    pub fn iter(&self) -> impl Iterator<Item = &Companion> {
        self.0.iter()
    }

    /// Their logs, with their names.
    pub fn logs(&self) -> Vec<(String, LogText)> {
        let mut logs = Vec::new();
        for companion in self.iter() {
            if let Ok(log) = companion.instance.log() {
                logs.push((companion_prefix(&companion.name) + SERVER_LOG, log));
            }
        }
        logs
    }

    /// Checks that all of them still run. The error has how the first one that does not run ended, and the end of its log.
    pub fn check_alive(&self) -> Result<(), InstanceError> {
        self.0.iter().try_for_each(|companion| companion.instance.check_alive())
    }

    /// Stops them, the last one first. All are stopped, also where stopping one fails.
    fn stop(&mut self) -> Result<(), InstanceError> {
        let mut outcome = Ok(());
        while let Some(mut last) = self.0.pop() {
            outcome = last.instance.stop().map(drop).and(outcome);
        }
        outcome
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        // What does not stop on request is killed when it is dropped.
        let _ = self.stop();
    }
}

impl Instance {
    /// The address that it listens on. Where it listens on a socket of the file system, the port is reserved for it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it accepts connections.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.socket.clone().map_or(Endpoint::Tcp(self.address), Endpoint::Unix)
    }

    /// Every knob with its value, defaults included.
    pub fn knobs(&self) -> &BTreeMap<String, TypedValue> {
        &self.knobs
    }

    /// The command that started it, and its configuration files as it read them, with passwords masked.
    pub fn effective_configuration(&self) -> &[EffectiveConfigFile] {
        &self.config
    }

    /// Whether its CPUs are for it alone.
    pub fn has_own_cpus(&self) -> bool {
        self.options.has_own_cpus
    }

    /// Its companions with their names, in the order of their start.
    pub fn companions(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.companions.iter().map(|companion| (companion.name.as_str(), &companion.instance))
    }

    /// The processes of each of its parts with the part's name, in the order of their start.
    pub fn parts(&self) -> Vec<(String, ProcessTree)> {
        let mut parts = Vec::new();
        for companion in self.companions.iter() {
            parts.push((companion.name.clone(), companion.instance.tree()));
        }
        parts.push((self.server.part.clone(), self.tree()));
        parts
    }

    /// The processes of the server's own part, without its companions.
    pub fn tree(&self) -> ProcessTree {
        self.running.tree()
    }

    /// Checks that it and its companions still run. The error has how the first one that does not run ended, and the end of its log. A
    /// companion comes first: without it, the server may have ended, too.
    pub fn check_alive(&self) -> Result<(), InstanceError> {
        self.companions.check_alive()?;
        Ok(self.running.check()?)
    }

    /// Its directory: `{{ dir }}`.
    pub fn directory(&self) -> &Path {
        &self.directories.server
    }

    /// Its standard output and standard error: all of it, or beginning and end.
    pub fn log(&self) -> io::Result<LogText> {
        LogText::read(&self.directories.private.join(SERVER_LOG))
    }

    /// The logs of its companions and its own, with their names.
    pub fn logs(&self) -> Vec<(String, LogText)> {
        let mut logs = self.companions.logs();
        logs.extend(self.log().ok().map(|log| (SERVER_LOG.to_owned(), log)));
        logs
    }

    /// The configuration of its companions and its own, see [`Self::effective_configuration`].
    pub fn configuration_of_parts(&self) -> Vec<EffectiveConfigFile> {
        let mut files = Vec::new();
        for companion in self.companions.iter() {
            let prefix = companion_prefix(&companion.name);
            for EffectiveConfigFile { name, text } in companion.instance.effective_configuration() {
                files.push(EffectiveConfigFile { name: format!("{prefix}{name}"), text: text.clone() });
            }
        }
        files.extend(self.config.iter().cloned());
        files
    }

    /// The end of its log.
    pub fn log_tail(&self) -> LogTail {
        self.running.log_tail()
    }

    /// What only this start knows.
    pub fn started(&self) -> StartedServer {
        StartedServer {
            addresses: vec![self.address],
            sockets: self.socket.iter().cloned().collect(),
            password: self.credentials.password.as_deref().map(Password::source),
            certificate: self.credentials.certificate.as_ref().map(|pair| pair.certificate.clone()),
            pipes: self.pipes.as_ref().map(|(pipes, _)| (pipes.stdin.clone(), pipes.stdout.clone())),
            seed: self.options.seed,
        }
    }

    /// The operations for the engine: the workload's mix, or only the operation of this name.
    pub fn protocol(&self, only: Option<&str>) -> Result<ProtocolSpec, InstanceError> {
        Ok(self.started().protocol(&self.workload, &self.server, only)?)
    }

    /// The load for it, see [`StartedServer::load_spec`].
    pub fn load_spec(&self, only: Option<&str>) -> Result<LoadSpec, InstanceError> {
        Ok(self.started().load_spec(&self.workload, &self.server, only)?)
    }

    /// Stops it, waits until none of its processes is left, and removes the files with its credentials. Nothing is written
    /// to its directory, where it may have left links.
    pub fn stop(&mut self) -> Result<Stopped, InstanceError> {
        if self.pipes.take().is_some() {
            // A runner ends when its standard input ends. It may have data in another directory to remove.
            let _ =
                self.running.wait_ready(RUNNER_END_TIMEOUT, || Readiness::NotYet("it still runs".to_owned()));
        }
        let stopped = self.running.stop();
        self.companions.stop()?;
        let stopped = stopped?;
        self.credentials = ServerCredentials::default();
        self.secrets = SecretFiles::default();
        Ok(stopped)
    }

    /// How connections to it are secured; none for plain TCP.
    pub(super) fn tls(&self) -> Option<TlsSpec> {
        self.credentials.certificate.as_ref().map(|certificate| certificate.client())
    }

    /// Runs the workload's `verify` on it; none where there is no such command.
    pub fn verify(&self) -> Result<Option<Verification>, InstanceError> {
        let Some(words) = &self.server.verify else { return Ok(None) };
        let argv = self.variables.render_argv(words);
        let argv = argv.map_err(|error| ConfigurationError::Template(error).of(&self.server.name))?;
        let output = self.tools.run(&argv, tool::VERIFY_TIMEOUT)?;
        let last_line = output.last_line();
        Ok(Some(match output.ending {
            ProcessExit::Code(0) => Verification::Passed(last_line),
            _ if last_line.is_empty() => Verification::Failed(output.ending.to_string()),
            _ => Verification::Failed(last_line),
        }))
    }

    /// Runs a program of the workload until it ends, as the server's user.
    pub(super) fn run_tool(&self, argv: &[String]) -> Result<tool::ToolOutput, host::process::Error> {
        self.tools.run(argv, tool::TIMEOUT)
    }
}
