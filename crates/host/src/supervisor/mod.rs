//! The supervisor: processes that stop a server when showdown ends, also after SIGKILL.
//!
//! ```text
//!  showdown ──control──▶ guard ──▶ supervisor ──▶ launcher ═exec═▶ server ──▶ workers, daemons, …
//!           ◀──events───────────────┘
//! ```
//!
//! All of them are this program, started with the hidden first argument [`protocol::VERB`]:
//!
//! - The **supervisor** is a *child subreaper* (`PR_SET_CHILD_SUBREAPER`, prctl(2)): the kernel reparents every
//!   descendant of the server to the supervisor and not to init, also after a double fork or a change of session.
//!   The supervisor finds all of them by their parents, and `ECHILD` shows that none is left. It stops the server
//!   on request, and when the control pipe closes because showdown died. It limits the space of the server's log.
//! - The **guard** is a subreaper too. It only waits for the supervisor. If the supervisor is killed, the guard inherits
//!   the server's processes and kills them. If the guard is killed, the supervisor gets SIGTERM
//!   (`PR_SET_PDEATHSIG`) and stops the server. No single SIGKILL leaves processes behind.
//! - The **launcher** sets what must be set before exec (session, affinity, death signal, log) and becomes the
//!   server. It needs no `pre_exec` and so no unsafe code.
//!
//! A server that another program starts (a container's daemon, a service manager) has no parent here. The supervisor runs its stop command,
//! and signals what listens at the server's port and has started since.
//!
//! A fourth role, the **restorer**, waits for the end of a process that changed kernel settings and undoes the
//! changes ([`crate::knobs`]). A fifth, the **squeezer**, takes a resource beside a server ([`crate::squeeze`]).
//!
//! The supervisor's arguments contain nothing about the server. The order goes through the pipe, so no secret
//! appears in `ps`. The processes are named `sd-guard`, `sd-supervisor` and `sd-restorer`, so that
//! `pkill -9 showdown` does not kill the processes that clean up. `docs/decisions/0003-supervisor.md` has the
//! reasons and the alternatives.

mod external;
mod guard;
mod inputs;
mod launch;
mod launching;
mod log_limit;
pub(crate) mod protocol;
mod restore;
pub(crate) mod spawn;
mod subtree;
mod supervise;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use protocol::VERB;

use crate::process::descriptors;

/// Runs as a supervisor if the arguments ask for it. Returns `None` for all other arguments: continue as usual.
///
/// A program that starts servers calls this first, before it parses arguments, opens files or starts threads:
///
/// ```no_run
/// # fn parse_and_run() -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
/// fn main() -> std::process::ExitCode {
///     host::supervisor_main(std::env::args_os()).unwrap_or_else(parse_and_run)
/// }
/// ```
pub fn supervisor_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    // Before anything raises it. A supervisor gets the limit for its server with the order.
    descriptors::original();
    let mut args = args.into_iter().skip(1);
    if args.next()? != VERB {
        return None;
    }
    let args: Vec<OsString> = args.collect();
    let texts: Vec<_> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let result = match texts.as_slice() {
        ["guard"] => guard::run(),
        ["keep", guard] => parse_pid(guard).and_then(supervise::run),
        ["launch", supervisor] => parse_pid(supervisor).and_then(launch::run),
        ["squeeze"] => crate::squeeze::run(),
        ["restore", ..] if args.len() == 3 => restore::run(args[1].as_ref(), args[2].as_ref()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    // No message: the parent process reads only the exit code and the events.
    Some(if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse_pid(text: &str) -> io::Result<u32> {
    text.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}
