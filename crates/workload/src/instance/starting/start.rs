//! The start of a server: directories, data, port, knobs, credentials, configuration files, preparation, process, and the
//! wait until it is ready.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::ServerCommand;
use host::process::{PipeEnds, Pipes, ProcessExit};
use load::connecting::UnixSocket;

use super::allocator;
use super::companions::{self, Role};
use super::service_user::ServiceUser;
use crate::data;
use crate::definition::{
    CERTIFICATE, Knob, PreloadedAllocator, RESUMPTION, ServerDefinition, StopMethod, TypedValue, Workload,
    with_binary,
};
use crate::instance::error::{ConfigurationError, InstanceError};
use crate::instance::external;
use crate::instance::layout;
use crate::instance::options::StartOptions;
use crate::instance::private::credentials::ServerCredentials;
use crate::instance::private::directories::StartDirectories;
use crate::instance::private::files;
use crate::instance::private::files::SecretFiles;
use crate::instance::private::password;
use crate::instance::private::password::{MASKED, Password};
use crate::instance::replies::log_counter::LogCounter;
use crate::instance::running::{EffectiveConfigFile, Instance, SERVER_LOG};
use crate::instance::tool::{TMPDIR, Tools};
use crate::render::{self, COMPANION, TemplateVariables, USERS};
use crate::variant::ServerVariant;

/// The timeout of a command in `prepare`: making a large data set takes minutes, and who waits for it sees the command.
const PREPARE_TIMEOUT: Duration = Duration::from_mins(10);

/// How long a server may take to end with its stop command: `docker stop` waits 10 s before it kills.
const STOP_COMMAND: Duration = Duration::from_secs(30);

/// The name of the first file of the effective configuration: the command that started the server, one word a line.
pub(crate) const COMMAND: &str = "command";

impl Instance {
    /// Starts a server and waits until it is ready.
    pub fn start(
        workload: &Workload,
        variant: &ServerVariant,
        options: &StartOptions,
    ) -> Result<Self, InstanceError> {
        Self::start_with(workload, variant, options, None)
    }

    /// Starts a server with the credentials of another.
    pub(crate) fn start_with(
        workload: &Workload,
        variant: &ServerVariant,
        options: &StartOptions,
        credentials: Option<ServerCredentials>,
    ) -> Result<Self, InstanceError> {
        let workload = workload.for_variant(variant, options.connections)?;
        let server = workload.server(&variant.server)?;
        workload.check_rights(&server.name)?;
        Self::start_as(Role::Server(variant), &workload, server, options, credentials)
    }

    /// Starts a process of a workload: a server after its companions, or a companion.
    pub(in crate::instance) fn start_as(
        role: Role<'_>,
        workload: &Workload,
        server: &ServerDefinition,
        options: &StartOptions,
        credentials: Option<ServerCredentials>,
    ) -> Result<Self, InstanceError> {
        let server = server.clone();
        let wrong = |error: ConfigurationError| error.of(&server.name);
        let service_user = ServiceUser::needed();
        let workers = if server.is_unprivileged { None } else { service_user.as_ref() };
        let directories = StartDirectories::create(&options.directory, workers.map(|user| user.run_as))?;
        let working_directory = working_directory(workload, &directories)?;
        let data = files::quotable(data_directory(workload, &server, service_user.as_ref(), options)?)?;
        let address = listen_address(options)?;

        let mut variables = TemplateVariables::default();
        set_address(&mut variables, address);
        variables.set("dir", directories.server.to_string_lossy());
        variables.set("data", data.to_string_lossy());
        variables.set("here", working_directory.to_string_lossy());
        set_means(&mut variables, options, service_user.as_ref());
        // A companion's templates have the knobs of its server. What showdown itself does with them, it does with the server.
        let knobs = match role {
            Role::Server(variant) => knob_values(&server, variant, &variables).map_err(wrong)?,
            Role::Companion { .. } => BTreeMap::new(),
        };
        let known_knobs = if let Role::Companion { knobs, .. } = role { knobs } else { &knobs };
        for (name, value) in known_knobs {
            variables.set(name, value);
        }

        // The user of the server's processes; none for this program's.
        let run_as = if server.is_unprivileged { service_user.map(|service| service.run_as) } else { None };
        let own_tools = private_tools(options, &directories.private);
        let temporary = directories.temporary.clone();
        let tools = Tools { working_directory, temporary, run_as, ..own_tools.clone() };
        let key_type = knobs.get(CERTIFICATE).map(ToString::to_string);
        let credentials = match credentials {
            Some(given) => given,
            None => ServerCredentials::generate(&own_tools, server.has_password, key_type.as_deref())?,
        };
        let started_before =
            companions::start(workload, &server.companions, known_knobs, options, &credentials)?;
        let earlier = if let Role::Companion { earlier, .. } = role { earlier } else { &started_before };
        variables.set(COMPANION, companions::variable(earlier));
        let mut secrets = SecretFiles::default();
        if let Some(pair) = &credentials.certificate {
            let (certificate, key) = pair.copy_to(&directories.server, &mut secrets)?;
            let resumption = knobs.get(RESUMPTION) == Some(&TypedValue::Switch(true));
            variables.set("https", render::https(&certificate, &key, resumption));
        }
        let password = if server.has_password { credentials.password.as_deref() } else { None };
        if let Some(password) = password {
            secrets.write(directories.server.join(password::FILE), password.reveal())?;
        }
        let mut config =
            write_configuration(&server, &variables, password, &directories.server, &mut secrets)?;
        if let Some(user) = run_as {
            directories.give_to(user)?;
        }
        prepare(&server, &variables, &knobs, &tools, &directories.server)
            .map_err(|error| error.with_logs(started_before.logs()))?;
        let socket = socket_of(&server, &variables, &directories, options).map_err(wrong)?;
        let argv = variables.render_argv(&server.start).map_err(|e| wrong(e.into()))?;
        let argv = with_binary(argv, &server.start, &knobs);
        config.insert(0, EffectiveConfigFile { name: COMMAND.to_owned(), text: argv.join("\n") + "\n" });
        let secret = with_password(&variables, password.map(Password::reveal));
        let allocator = PreloadedAllocator::of(&knobs);
        let mut command = server_command(&server, argv, &directories, &tools, options);
        command.listens = (socket.is_none() && !server.protocol.makes_own_load()).then_some(address);
        set_stop(&server, &variables, &mut command).map_err(wrong)?;
        for (name, value) in &server.environment {
            command.env.insert(name.clone(), secret.render(value).map_err(|e| wrong(e.into()))?);
        }
        allocator::set(allocator, &knobs, &tools, &mut command)?;
        let pipes = server.protocol.makes_own_load().then(|| make_pipes(&directories.private)).transpose()?;
        command.pipes = pipes.as_ref().map(|(pipes, _)| pipes.clone());
        let running = options.host.start(&command)?;
        let log_counter = LogCounter::new(server.statistics.as_ref().map_or(&[], |query| &query.counters));
        let mut instance = Self {
            workload: workload.clone(),
            server,
            options: options.clone(),
            directories,
            tools,
            address,
            socket,
            knobs,
            config,
            variables,
            credentials,
            secrets,
            running,
            companions: started_before,
            pipes,
            http_queries: 0,
            log_counter,
        };
        let before = if let Role::Companion { earlier, .. } = role { earlier } else { &instance.companions };
        if let Err(error) = instance.wait_ready(before) {
            // A part before it that has ended is the reason, whatever this one says.
            let error = before.check_alive().err().unwrap_or_else(|| external::returned(error));
            return Err(error.with_logs(instance.logs()));
        }
        instance.find_external()?;
        allocator.map_or(Ok(()), |allocator| allocator::check(allocator, &instance))?;
        Ok(instance)
    }
}

/// The command of a server, without the environment of its workload.
fn server_command(
    server: &ServerDefinition,
    argv: Vec<String>,
    directories: &StartDirectories,
    tools: &Tools,
    options: &StartOptions,
) -> ServerCommand {
    let log = directories.private.join(SERVER_LOG);
    let mut command = ServerCommand::new(&server.name, argv, &tools.working_directory, &log);
    command.cpus = Some(options.cpus.clone());
    command.is_confined = options.has_own_cpus;
    command.descriptors = Some(descriptor_limit(options.connections));
    command.run_as = tools.run_as;
    let lowers_memory = server.knobs.iter().filter(|knob| knob.is_memory);
    command.memory_settings = lowers_memory.map(|knob| knob.name.clone()).collect();
    command.env.insert(layout::VARIABLE.to_owned(), options.layout.value());
    command.env.insert(TMPDIR.to_owned(), tools.temporary.to_string_lossy().into_owned());
    command
}

/// The variables of the address at which the server listens.
fn set_address(variables: &mut TemplateVariables, address: SocketAddr) {
    variables.set("host", address.ip().to_string());
    variables.set("port", address.port());
    // An IPv6 address stands in brackets before a port.
    variables.set("address", address.to_string());
    variables.set("remote", !address.ip().is_loopback());
}

/// The variables of what a server runs with: CPUs, users of its load, this program, and the user of its workers. It has no certificate yet.
fn set_means(variables: &mut TemplateVariables, options: &StartOptions, service_user: Option<&ServiceUser>) {
    variables.set("cpus", options.cpus.len());
    variables.set("cpu_list", options.cpus.to_string());
    variables.set(USERS, options.connections);
    variables.set("showdown", this_program());
    variables.set("https", ());
    variables.set("user", service_user.map(|service| service.user.clone()));
    variables.set("group", service_user.map(|service| service.group.clone()));
}

/// Runs programs as this program's user, in the private directory of the start.
fn private_tools(options: &StartOptions, directory: &Path) -> Tools {
    Tools {
        host: options.host.clone(),
        working_directory: directory.to_owned(),
        temporary: directory.to_owned(),
        private: directory.to_owned(),
        run_as: None,
    }
}

/// What stops a server.
fn set_stop(
    server: &ServerDefinition,
    variables: &TemplateVariables,
    command: &mut ServerCommand,
) -> Result<(), ConfigurationError> {
    match &server.stop {
        StopMethod::Signal(signal) => command.stop = *signal,
        StopMethod::Command(words) => {
            command.stop_command = Some(variables.render_argv(words)?);
            command.grace = STOP_COMMAND;
        }
    }
    Ok(())
}

/// The limit of descriptors of a server with this number of client connections. A server may need a second one for each
/// connection: a file, or a connection of its own. It is not the limit of this process, which may be a thousand million:
/// a server that closes all possible descriptors at its start would take minutes. With the usual 1,024 a benchmark
/// would measure that limit.
fn descriptor_limit(connections: u32) -> u64 {
    const USUAL: u64 = 65_536;
    USUAL.max(2 * u64::from(connections) + 1_024)
}

/// The path of this program, which has built-in runners.
fn this_program() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| "showdown".into());
    path.to_string_lossy().into_owned()
}

/// Creates the pipes to a runner, and opens this program's ends.
fn make_pipes(directory: &Path) -> Result<(Pipes, PipeEnds), InstanceError> {
    let failed = |source| InstanceError::Write { path: directory.to_owned(), source };
    let pipes = Pipes::make(directory).map_err(failed)?;
    let ends = pipes.open_ends().map_err(failed)?;
    Ok((pipes, ends))
}

/// Runs the commands of `prepare`; each must end with status 0.
fn prepare(
    server: &ServerDefinition,
    variables: &TemplateVariables,
    knobs: &BTreeMap<String, TypedValue>,
    tools: &Tools,
    directory: &Path,
) -> Result<(), InstanceError> {
    for words in &server.prepare {
        let argv = variables
            .render_argv(words)
            .map_err(|error| ConfigurationError::Template(error).of(&server.name))?;
        let argv = with_binary(argv, &server.start, knobs);
        let program = argv.first().cloned().unwrap_or_default();
        let output = tools.run(&argv, PREPARE_TIMEOUT).map_err(|error| match error {
            host::process::Error::NotReady { within, .. } => {
                let (server, command) = (server.name.clone(), by_hand(&argv, directory));
                InstanceError::SlowPrepare { server, command, seconds: within.as_secs() }
            }
            other => other.into(),
        })?;
        if output.ending != ProcessExit::Code(0) {
            let last_lines: Vec<&str> =
                output.text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
            return Err(InstanceError::Prepare {
                server: server.name.clone(),
                program,
                ending: match output.shortage {
                    Some(shortage) => format!("{}: {shortage}", output.ending),
                    None => output.ending.to_string(),
                },
                output: last_lines.into_iter().rev().collect::<Vec<_>>().join(" | "),
            });
        }
    }
    Ok(())
}

/// A command as a user runs it in a shell. The directory of the start is removed by then: a new one takes its place.
fn by_hand(argv: &[String], directory: &Path) -> String {
    argv.join(" ").replace(&*directory.to_string_lossy(), "$(mktemp -d)")
}

/// The socket on which a server listens instead of its port, if it does. It is in the server's own directory, and only clients
/// of this machine reach it.
fn socket_of(
    server: &ServerDefinition,
    variables: &TemplateVariables,
    directories: &StartDirectories,
    options: &StartOptions,
) -> Result<Option<UnixSocket>, ConfigurationError> {
    let Some(template) = &server.socket else { return Ok(None) };
    match variables.render(template)?.trim() {
        "" => Ok(None),
        _ if !options.address.is_loopback() => Err(ConfigurationError::RemoteSocket),
        path => Ok(Some(UnixSocket::of_server(path, &directories.server)?)),
    }
}

/// The folder of the definition; that of the start for a server that has none.
fn working_directory(workload: &Workload, directories: &StartDirectories) -> Result<PathBuf, InstanceError> {
    let Some(folder) = workload.server_folder.directory() else { return Ok(directories.server.clone()) };
    files::quotable(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()))
}

/// The address to listen on, with a free port.
fn listen_address(options: &StartOptions) -> Result<SocketAddr, InstanceError> {
    let ports = options.host.free_ports(options.address, 1)?;
    Ok((options.address, ports[0]).into())
}

/// The directory with the workload's files, which the server's workers must be able to enter.
fn data_directory(
    workload: &Workload,
    server: &ServerDefinition,
    service_user: Option<&ServiceUser>,
    options: &StartOptions,
) -> Result<PathBuf, InstanceError> {
    if workload.data.is_empty() {
        return Ok(options.cache.clone());
    }
    let data = data::prepare(&workload.data, &options.cache)?;
    let absolute = std::path::absolute(&data).unwrap_or(data);
    if let Some((service, path)) = service_user.zip(files::first_closed_directory(&absolute)) {
        return Err(InstanceError::Unreachable {
            server: server.name.clone(),
            user: service.user.clone(),
            path: path.to_owned(),
        });
    }
    Ok(absolute)
}

/// The value of every knob: the variant's, or the default.
fn knob_values(
    server: &ServerDefinition,
    variant: &ServerVariant,
    variables: &TemplateVariables,
) -> Result<BTreeMap<String, TypedValue>, ConfigurationError> {
    let value = |knob: &Knob| match variant.knobs.get(&knob.name) {
        Some(value) => Ok((knob.name.clone(), value.clone())),
        None => match knob.default_value(variables) {
            Ok(value) => Ok((knob.name.clone(), value)),
            Err(source) => Err(ConfigurationError::Knob { knob: knob.name.clone(), source }),
        },
    };
    server.knobs.iter().map(value).collect()
}

/// Writes the configuration files, and returns them with the password masked.
fn write_configuration(
    server: &ServerDefinition,
    variables: &TemplateVariables,
    password: Option<&Password>,
    directory: &Path,
    secrets: &mut SecretFiles,
) -> Result<Vec<EffectiveConfigFile>, InstanceError> {
    let real = with_password(variables, password.map(Password::reveal));
    let masked = with_password(variables, password.map(|_| MASKED));
    let mut shown = Vec::new();
    for template in &server.config {
        let wrong =
            |source| ConfigurationError::File { file: template.name.clone(), source }.of(&server.name);
        let path = directory.join(&template.name);
        let (real, text) = (real.render(&template.text), masked.render(&template.text).map_err(wrong)?);
        match real.map_err(wrong)? {
            real if real == text => files::write_private(&path, real)?,
            secret => secrets.write(path, secret)?,
        }
        shown.push(EffectiveConfigFile { name: template.name.clone(), text });
    }
    Ok(shown)
}

fn with_password(variables: &TemplateVariables, password: Option<&str>) -> TemplateVariables {
    let mut variables = variables.clone();
    if let Some(password) = password {
        variables.set("password", password);
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_command_is_named_so_that_a_user_can_run_it_when_its_directory_is_gone() {
        let argv = ["olio", "data", "--rows", "1000", "--database", "/tmp/showdown-a/server/data"];
        let argv = argv.map(str::to_owned);
        assert_eq!(
            by_hand(&argv, Path::new("/tmp/showdown-a/server")),
            "olio data --rows 1000 --database $(mktemp -d)/data"
        );
    }
}
