//! Starting a server of a workload, and the server that runs.
//!
//! [`Instance::start`] does what comes before the load, in the order in which it can go wrong: knobs, directory,
//! port, data, configuration, process, readiness.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use host::process::{LogTail, PipeEnds, Pipes, ProcessExit, ProcessTree, RunAs, Stopped};
use host::{Readiness, ServerCommand, ServerProcess};
use load::drivers::ProtocolSpec;
use load::runner::{RunnerError, RunnerSession};
use load::spec::{LoadSpec, TlsSpec, Trust};

use super::credentials::ServerCredentials;
use super::error::InstanceError;
use super::identity::ServiceUser;
use super::password::{MASKED, Password};
use super::stage::{self, StartOptions};
use super::{exchange, tool};
use crate::data;
use crate::definition::{
    CERTIFICATE, RESUMPTION, ReadyProbe, ServerAccess, ServerDefinition, TypedValue, Workload,
};
use crate::render::{self, RenderError, TemplateVariables};
use crate::variant::ServerVariant;

/// Where servers listen: this machine only.
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Longer than any data directory takes to be made.
const PREPARE_WITHIN: Duration = Duration::from_mins(1);

/// Longer than a runner takes to remove its data.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What the first of the shown files is called: the command that started the server, a word a line.
const COMMAND: &str = "command";

/// A file of the effective configuration: what the server read, its password masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveConfigFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A server that runs. It is stopped when this is dropped, and when we die.
#[derive(Debug)]
pub struct Instance {
    pub(super) workload: Workload,
    pub(super) server: ServerDefinition,
    pub(super) stage: StartOptions,
    /// The stage's directory, as a whole path.
    directory: PathBuf,
    /// Where its commands are run.
    working_directory: PathBuf,
    pub(super) address: SocketAddr,
    knobs: BTreeMap<String, TypedValue>,
    /// The command, and then the files that the server read.
    config: Vec<EffectiveConfigFile>,
    /// What templates other than configuration files may use.
    pub(super) scope: TemplateVariables,
    pub(crate) credentials: ServerCredentials,
    running: ServerProcess,
    /// What a runner is talked to through.
    pipes: Option<(Pipes, PipeEnds)>,
    /// How often we have asked for the counts in a way that counts itself.
    pub(super) asked: u64,
}

impl Instance {
    /// Starts a server and waits until it is ready.
    pub fn start(
        workload: &Workload,
        variant: &ServerVariant,
        stage: &StartOptions,
    ) -> Result<Self, InstanceError> {
        Self::start_with(workload, variant, stage, None)
    }

    /// Starts a server that has the credentials of another.
    pub(crate) fn start_with(
        workload: &Workload,
        variant: &ServerVariant,
        stage: &StartOptions,
        credentials: Option<ServerCredentials>,
    ) -> Result<Self, InstanceError> {
        let server = workload
            .server(&variant.server)
            .map_err(|what| InstanceError::Configuration { server: variant.server.clone(), what })?
            .clone();
        let wrong = |what: String| InstanceError::Configuration { server: server.name.clone(), what };
        workload.check_rights(&server.name)?;
        stage::raise_descriptor_limit();
        let directory = stage::make_directory(&stage.directory)?;
        let working_directory = match workload.server_folder.directory() {
            Some(folder) => {
                stage::quotable(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()))?
            }
            None => directory.clone(),
        };
        let service_user = ServiceUser::needed();
        let data = stage::quotable(prepare_data(workload, &server, service_user.as_ref(), stage)?)?;
        let address = address(stage)?;

        let mut scope = TemplateVariables::default();
        scope.set("host", address.ip().to_string());
        scope.set("port", address.port());
        scope.set("dir", directory.to_string_lossy());
        scope.set("data", data.to_string_lossy());
        scope.set("here", working_directory.to_string_lossy());
        scope.set("cpus", stage.cpus.len());
        scope.set("showdown", stage::this_program());
        scope.set("https", ());
        scope.set("user", service_user.as_ref().map(|who| who.user.clone()));
        scope.set("group", service_user.as_ref().map(|who| who.group.clone()));
        let knobs = settle(&server, variant, &scope).map_err(wrong)?;
        for (name, value) in &knobs {
            scope.set(name, value);
        }

        let certificate = knobs.get(CERTIFICATE).map(ToString::to_string);
        let credentials = match credentials {
            Some(given) => given,
            None => {
                ServerCredentials::make(&stage.host, &directory, server.has_password, certificate.as_deref())?
            }
        };
        if let Some(made) = &credentials.certificate {
            let resumption = knobs.get(RESUMPTION) == Some(&TypedValue::Switch(true));
            scope.set("https", render::https(&made.certificate, &made.key, resumption));
        }
        let password = credentials.password.as_deref();
        let mut config = configure(&server, &scope, password, &directory)?;
        let run_as = service_user.filter(|_| server.is_unprivileged).map(|who| who.run_as);
        if let Some(who) = run_as {
            stage::give_to(who, &directory)?;
        }
        prepare(&server, &scope, run_as, &working_directory, &directory, stage)?;
        let template = |e: RenderError| wrong(e.message);
        let argv = scope.render_argv(&server.start).map_err(template)?;
        config.insert(0, EffectiveConfigFile { name: COMMAND.to_owned(), text: argv.join("\n") + "\n" });
        let log = directory.join("server.log");
        let mut command = ServerCommand::new(&server.name, argv, &working_directory, &log);
        command.stop = server.stop;
        command.cpus = Some(stage.cpus.clone());
        command.run_as = run_as;
        let secret = with_password(&scope, password.map(Password::reveal));
        for (name, value) in &server.environment {
            command.env.insert(name.clone(), secret.render(value).map_err(template)?);
        }
        let pipes = workload.load.is_runner().then(|| stage::make_pipes(&directory)).transpose()?;
        command.pipes = pipes.as_ref().map(|(pipes, _)| pipes.clone());
        let running = stage.host.start(&command)?;
        let instance = Self {
            workload: workload.clone(),
            server,
            stage: stage.clone(),
            directory,
            working_directory,
            address,
            knobs,
            config,
            scope,
            credentials,
            running,
            pipes,
            asked: 0,
        };
        instance.wait_ready()?;
        Ok(instance)
    }

    fn wait_ready(&self) -> Result<(), InstanceError> {
        let command = match &self.server.ready.probe {
            ReadyProbe::Command(command) => command,
            ReadyProbe::Sql(statement) => {
                return self.probe(|| match self.ask_sql(statement, None) {
                    Ok(_) => Readiness::Ready,
                    Err(why) => Readiness::NotYet(why),
                });
            }
            ReadyProbe::Runner => return self.wait_for_runner(),
            _ => return self.probe(|| self.connects()),
        };
        let command = self.scope.render_argv(command).map_err(|e| self.wrong(e.message))?;
        self.probe(|| match self.run_tool(&command) {
            Ok(output) if output.ending == ProcessExit::Code(0) => Readiness::Ready,
            Ok(output) => Readiness::NotYet(format!("{} {}", command[0], output.ending)),
            Err(error) => Readiness::Never(error.to_string()),
        })
    }

    fn wait_for_runner(&self) -> Result<(), InstanceError> {
        let ProtocolSpec::Runner(runner) = self.protocol(None)? else { return Ok(()) };
        let mut conversation = RunnerSession::open(&runner).map_err(|e| self.wrong(e.to_string()))?;
        self.probe(|| match conversation.is_ready() {
            Ok(true) => Readiness::Ready,
            Ok(false) => Readiness::NotYet("it has not said that it is ready".to_owned()),
            // It is about to be known how it ended, which says more.
            Err(RunnerError::Gone) => Readiness::NotYet(RunnerError::Gone.to_string()),
            Err(error) => Readiness::Never(error.to_string()),
        })
    }

    fn probe(&self, mut probe: impl FnMut() -> Readiness) -> Result<(), InstanceError> {
        let outcome = self.running.wait_ready(self.server.ready.within, || {
            if self.stage.interrupted.load(Ordering::Relaxed) {
                return Readiness::Never("interrupted".to_owned());
            }
            probe()
        });
        match outcome {
            Ok(_) => Ok(()),
            Err(_) if self.stage.interrupted.load(Ordering::Relaxed) => Err(InstanceError::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    fn connects(&self) -> Readiness {
        match &self.server.ready.probe {
            ReadyProbe::Http(path) => match exchange::http_get(self.address, self.tls().as_ref(), path) {
                Ok(reply) if (200..400).contains(&reply.status) => Readiness::Ready,
                Ok(reply) => Readiness::NotYet(format!("{path} is answered with status {}", reply.status)),
                Err(error) => Readiness::NotYet(error),
            },
            _ => host::process::tcp_probe(self.address)(),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every knob with its value, defaults included.
    pub fn knobs(&self) -> &BTreeMap<String, TypedValue> {
        &self.knobs
    }

    /// The command that started it, and its configuration files as it read them, passwords masked.
    pub fn effective_configuration(&self) -> &[EffectiveConfigFile] {
        &self.config
    }

    /// Its processes.
    pub fn tree(&self) -> ProcessTree {
        self.running.tree()
    }

    /// Whether it still runs; the error says how it ended, with the end of its log.
    pub fn check_alive(&self) -> Result<(), InstanceError> {
        Ok(self.running.check()?)
    }

    /// The file that gets its standard output and error.
    pub fn log_path(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    /// The end of that.
    pub fn log_tail(&self) -> LogTail {
        self.running.log_tail()
    }

    /// What the engine is to do: the workload's mix, or only the operation of this name.
    pub fn protocol(&self, only: Option<&str>) -> Result<ProtocolSpec, InstanceError> {
        let load = &self.workload.load;
        let operations = match only {
            None => load.operations.clone(),
            Some(name) => load
                .only(name)
                .map_err(|what| InstanceError::NoOperation(format!("{} {what}", self.workload.name)))?,
        };
        let (authority, password) =
            (self.address.to_string(), self.credentials.password.as_deref().map(Password::source));
        let access = ServerAccess {
            authority: &authority,
            account: self.server.account.as_ref(),
            password: password.as_ref(),
            pipes: self.pipes.as_ref().map(|(pipes, _)| (&*pipes.stdin, &*pipes.stdout)),
        };
        Ok(operations.spec(self.server.protocol, access, self.stage.seed))
    }

    /// A closed loop of the mix, or of the operation of this name, on one thread without an end: shape, length
    /// and threads are for the caller to say.
    pub fn load_spec(&self, only: Option<&str>) -> Result<LoadSpec, InstanceError> {
        let protocol = self.protocol(only)?;
        let starting = protocol.starts_tls().then(|| TlsSpec {
            server_name: self.address.ip().to_string(),
            resumption: true,
            trust: Trust::Anyone,
        });
        let connections = self.workload.load.connections;
        Ok(LoadSpec::closed(protocol, self.address, connections)
            .with_tls(self.tls().or(starting))
            .with_duration(None)
            .with_timeout(self.workload.load.timeout)
            .with_seed(self.stage.seed))
    }

    /// Stops it, comes back when nothing is left of it, and takes its password from the disk.
    pub fn stop(&mut self) -> Result<Stopped, InstanceError> {
        if self.pipes.take().is_some() {
            // The end of its input asks a runner to end, in good order: its data may lie elsewhere.
            let _ = self.running.wait_ready(END_WITHIN, || Readiness::NotYet("it goes on".to_owned()));
        }
        let stopped = self.running.stop()?;
        if std::mem::take(&mut self.credentials).password.is_some() {
            for file in &self.config[1..] {
                stage::write_private(&self.directory.join(&file.name), &file.text)?;
            }
        }
        Ok(stopped)
    }

    /// How connections to it are secured; none if they are not.
    pub(super) fn tls(&self) -> Option<TlsSpec> {
        self.credentials.certificate.as_ref().map(|certificate| certificate.client())
    }

    /// Runs a program of the workload to its end.
    pub(super) fn run_tool(&self, argv: &[String]) -> Result<tool::Output, host::process::Error> {
        tool::run(&self.stage.host, argv, &self.working_directory, &self.directory.join("tool.log"))
    }

    fn wrong(&self, what: String) -> InstanceError {
        InstanceError::Configuration { server: self.server.name.clone(), what }
    }
}

/// Runs what comes before the start; each command must end well.
fn prepare(
    server: &ServerDefinition,
    scope: &TemplateVariables,
    run_as: Option<RunAs>,
    working_directory: &Path,
    directory: &Path,
    stage: &StartOptions,
) -> Result<(), InstanceError> {
    for words in &server.prepare {
        let argv = scope
            .render_argv(words)
            .map_err(|e| InstanceError::Configuration { server: server.name.clone(), what: e.message })?;
        let program = argv.first().cloned().unwrap_or_default();
        let log = directory.join("prepare.log");
        let mut command = ServerCommand::new(&program, argv, working_directory, log);
        command.run_as = run_as;
        let output = tool::run_command(&stage.host, &command, PREPARE_WITHIN)?;
        if output.ending != ProcessExit::Code(0) {
            let said: Vec<&str> =
                output.text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
            return Err(InstanceError::Prepare {
                server: server.name.clone(),
                program,
                ending: output.ending.to_string(),
                said: said.into_iter().rev().collect::<Vec<_>>().join(" | "),
            });
        }
    }
    Ok(())
}

/// The port that is given, if it is free, or a free one.
fn address(stage: &StartOptions) -> Result<SocketAddr, InstanceError> {
    let Some(port) = stage.port else {
        let ports = stage.host.free_ports(HOST, 1)?;
        return Ok((HOST, ports[0]).into());
    };
    let address = (HOST, port).into();
    stage.host.check_port(address)?;
    Ok(address)
}

/// The directory with the workload's files, which the server's workers can reach.
fn prepare_data(
    workload: &Workload,
    server: &ServerDefinition,
    service_user: Option<&ServiceUser>,
    stage: &StartOptions,
) -> Result<PathBuf, InstanceError> {
    if workload.data.is_empty() {
        return Ok(stage.cache.clone());
    }
    let data = data::prepare(&workload.data, &stage.cache)?;
    let whole = std::path::absolute(&data).unwrap_or(data);
    if let Some((who, path)) = service_user.zip(stage::barred(&whole)) {
        return Err(InstanceError::Unreachable {
            server: server.name.clone(),
            user: who.user.clone(),
            path: path.to_owned(),
        });
    }
    Ok(whole)
}

/// Every knob's value: the variant's, or the default.
fn settle(
    server: &ServerDefinition,
    variant: &ServerVariant,
    scope: &TemplateVariables,
) -> Result<BTreeMap<String, TypedValue>, String> {
    let value = |knob: &crate::definition::Knob| match variant.knobs.get(&knob.name) {
        Some(value) => Ok((knob.name.clone(), value.clone())),
        None => match knob.default_value(scope) {
            Ok(value) => Ok((knob.name.clone(), value)),
            Err(why) => Err(format!("knob {}: {why}: set it to a value that it takes", knob.name)),
        },
    };
    server.knobs.iter().map(value).collect()
}

/// Writes the configuration files; gives them with the password masked.
fn configure(
    server: &ServerDefinition,
    scope: &TemplateVariables,
    password: Option<&Password>,
    directory: &Path,
) -> Result<Vec<EffectiveConfigFile>, InstanceError> {
    let real = with_password(scope, password.map(Password::reveal));
    let shown = with_password(scope, password.map(|_| MASKED));
    let mut files = Vec::new();
    for template in &server.config {
        let wrong = |e: RenderError| InstanceError::Configuration {
            server: server.name.clone(),
            what: format!("{}:{}: {}", template.name, e.line, e.message),
        };
        stage::write_private(&directory.join(&template.name), &real.render(&template.text).map_err(wrong)?)?;
        let text = shown.render(&template.text).map_err(wrong)?;
        files.push(EffectiveConfigFile { name: template.name.clone(), text });
    }
    Ok(files)
}

fn with_password(scope: &TemplateVariables, password: Option<&str>) -> TemplateVariables {
    let mut scope = scope.clone();
    if let Some(password) = password {
        scope.set("password", password);
    }
    scope
}
