//! The launcher: sets what must be set before exec, and becomes the server.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, Stdio};

use rustix::process::{Gid, Signal, Uid, set_parent_process_death_signal, setsid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use super::protocol::receive_order;
use crate::process::{RunAs, ServerCommand, open_log};

/// Never comes back when all went well. Otherwise the reason is written to the standard output, a pipe
/// that exec closes: its reader knows from an empty pipe that the server runs.
pub(super) fn run(keeper: u32) -> io::Result<()> {
    let order = receive_order(io::stdin().lock().by_ref())?;
    let mut report = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let reason = match become_server(&order, keeper) {
        Ok(never) => match never {},
        Err(reason) => reason,
    };
    report.write_all(reason.as_bytes())?;
    Err(io::ErrorKind::Other.into())
}

/// For good, and before anything else: a change of user takes the death signal away, and what is opened belongs
/// to the new one.
fn give_up_rights(who: RunAs) -> rustix::io::Result<()> {
    set_thread_groups(&[])?;
    set_thread_gid(Gid::from_raw(who.gid))?;
    set_thread_uid(Uid::from_raw(who.uid))
}

fn become_server(order: &ServerCommand, keeper: u32) -> Result<std::convert::Infallible, String> {
    if let Some(who) = order.run_as {
        give_up_rights(who).map_err(|e| format!("cannot become user {}: {e}", who.uid))?;
    }
    setsid().map_err(|e| format!("cannot make a session of its own: {e}"))?;
    // The last line of defence: the server's first process goes with the keeper. Set after a check would
    // race with the keeper's death, so check after.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| format!("cannot set its death signal: {e}"))?;
    if parent_id() != keeper {
        return Err("its keeper was killed".into());
    }
    if let Some(cpus) = &order.cpus {
        cpus.pin_this_thread().map_err(|e| e.to_string())?;
    }
    let log = open_log(&order.log)?;
    let (stdin, stdout) = match &order.pipes {
        None => (Stdio::null(), Stdio::from(log.try_clone().map_err(|e| e.to_string())?)),
        Some(pipes) => {
            let (stdin, stdout) = pipes.open().map_err(|e| format!("cannot open its pipes: {e}"))?;
            (Stdio::from(stdin), Stdio::from(stdout))
        }
    };
    std::env::set_current_dir(&order.dir)
        .map_err(|e| format!("cannot enter its directory {}: {e}", order.dir.display()))?;
    let [program, arguments @ ..] = order.argv.as_slice() else {
        return Err("its command line is empty: name at least the program".into());
    };
    let error = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&order.env)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(log)
        .exec();
    Err(match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no program {program}: install it, or give the path to it")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{program} may not be executed: check its mode (chmod +x)")
        }
        _ => format!("cannot execute {program}: {error}"),
    })
}
