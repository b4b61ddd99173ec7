//! The launcher: a process that sets what must be set before exec, and becomes the program of an order: the server, or the command
//! that stops it. The supervisor starts it with [`launch`], and its own end is [`run`].

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Gid, Signal, Uid, set_parent_process_death_signal, setsid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use super::protocol::{receive_order, send_order};
use crate::control_groups::zone::Zone;
use crate::process::{OpenLogError, RunAs, ServerCommand, descriptors, give_to, open_log, role};

/// Why a program does not start, from the supervisor's side.
#[derive(Debug, thiserror::Error)]
pub(super) enum LauncherError {
    #[error("cannot start the launcher: {0}")]
    Start(io::Error),
    #[error("cannot confine it to its CPUs: {0}: leave out isolation=cpus, or check /sys/fs/cgroup")]
    Zone(io::Error),
    #[error("cannot send the order to the launcher: {0}")]
    Send(io::Error),
    #[error("cannot read from the launcher: {0}")]
    Read(io::Error),
    /// The launcher's own message.
    #[error("{0}")]
    Reported(String),
}

/// Starts the launcher and waits until it has become the program. Returns its process ID, which is the launcher's.
pub(super) fn launch(order: &ServerCommand, zone: Option<&Zone>) -> Result<u32, LauncherError> {
    let arguments = ["launch", &std::process::id().to_string()];
    let mut launcher =
        role::spawn(Path::new("/proc/self/exe"), "sd-launcher", arguments).map_err(LauncherError::Start)?;
    if let Some(zone) = zone {
        zone.add(launcher.id()).map_err(LauncherError::Zone)?;
    }
    let mut message = String::new();
    if let (Some(stdin), Some(mut stdout)) = (launcher.stdin.take(), launcher.stdout.take()) {
        send_order(stdin, order).map_err(LauncherError::Send)?;
        stdout.read_to_string(&mut message).map_err(LauncherError::Read)?;
    }
    if message.is_empty() { Ok(launcher.id()) } else { Err(LauncherError::Reported(message)) }
}

/// Why the launcher cannot become the server.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("cannot run as user {uid}: {source}")]
    User { uid: u32, source: Errno },
    #[error("cannot start a new session: {0}")]
    Session(Errno),
    #[error("cannot set its death signal: {0}")]
    DeathSignal(Errno),
    #[error("another process killed its supervisor")]
    SupervisorKilled,
    /// The message of [`crate::CpuSet::pin_this_thread`].
    #[error(transparent)]
    Cpus(io::Error),
    #[error("cannot limit its descriptors: {0}")]
    Descriptors(Errno),
    #[error(transparent)]
    Log(#[from] OpenLogError),
    #[error("cannot duplicate the descriptor of its log: {0}")]
    DuplicateLog(io::Error),
    #[error("cannot open its pipes: {0}")]
    Pipes(io::Error),
    #[error("cannot enter its directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("its command line is empty: give at least the program")]
    EmptyCommandLine,
    #[error("there is no program {program}: install it, or give the path to it")]
    NoProgram { program: String },
    #[error("no permission to execute {program}: make it executable (chmod +x)")]
    NotExecutable { program: String },
    #[error("cannot execute {program}: {source}")]
    Execute { program: String, source: io::Error },
}

/// Does not return on success. Otherwise it writes the error message to the standard output, a pipe that exec
/// closes: when its reader gets no text, the server runs.
pub(crate) fn run(supervisor: u32) -> io::Result<()> {
    let order = receive_order(io::stdin().lock().by_ref())?;
    let mut report = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let error = match become_server(&order, supervisor) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    report.write_all(error.to_string().as_bytes())?;
    Err(io::ErrorKind::Other.into())
}

/// Changes the user for good. This comes before the death signal, which a change of user clears. Log and pipes are opened
/// earlier: they are in a directory that the new user cannot enter.
fn change_user(user: RunAs) -> rustix::io::Result<()> {
    set_thread_groups(&[])?;
    set_thread_gid(Gid::from_raw(user.gid))?;
    set_thread_uid(Uid::from_raw(user.uid))
}

fn become_server(order: &ServerCommand, supervisor: u32) -> Result<Infallible, LaunchError> {
    let log = open_log(&order.log, order.run_as)?;
    let (stdin, stdout) = match &order.pipes {
        None => (Stdio::null(), Stdio::from(log.try_clone().map_err(LaunchError::DuplicateLog)?)),
        Some(pipes) => {
            let (stdin, stdout) = pipes.open().map_err(LaunchError::Pipes)?;
            for pipe in [&stdin, &stdout] {
                give_to(pipe, order.run_as).map_err(LaunchError::Pipes)?;
            }
            (Stdio::from(stdin), Stdio::from(stdout))
        }
    };
    if let Some(user) = order.run_as {
        change_user(user).map_err(|source| LaunchError::User { uid: user.uid, source })?;
    }
    setsid().map_err(LaunchError::Session)?;
    // If everything else fails, the kernel kills the server's first process when the supervisor dies. The check
    // comes after, because the supervisor may die between a check and this call.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(LaunchError::DeathSignal)?;
    if parent_id() != supervisor {
        return Err(LaunchError::SupervisorKilled);
    }
    if let Some(cpus) = &order.cpus {
        cpus.pin_this_thread().map_err(LaunchError::Cpus)?;
    }
    if let Some(wanted) = order.descriptors {
        descriptors::limit(wanted).map_err(LaunchError::Descriptors)?;
    }
    std::env::set_current_dir(&order.dir)
        .map_err(|source| LaunchError::Directory { path: order.dir.clone(), source })?;
    let [program, arguments @ ..] = order.argv.as_slice() else {
        return Err(LaunchError::EmptyCommandLine);
    };
    let source = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&order.env)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(log)
        .exec();
    let program = program.clone();
    Err(match source.kind() {
        io::ErrorKind::NotFound => LaunchError::NoProgram { program },
        io::ErrorKind::PermissionDenied => LaunchError::NotExecutable { program },
        _ => LaunchError::Execute { program, source },
    })
}
