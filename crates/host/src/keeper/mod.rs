//! The keeper: the small processes between us and a server that see to it that servers started are
//! servers stopped, also when we are killed with SIGKILL.
//!
//! ```text
//!  showdown ──control──▶ guard ──▶ keeper ──▶ launcher ═exec═▶ server ──▶ workers, daemons, …
//!           ◀──events───────────────┘
//! ```
//!
//! All are this same program under the hidden first argument [`protocol::VERB`]:
//!
//! - the **keeper** is a *child subreaper* (`PR_SET_CHILD_SUBREAPER`, prctl(2)): whatever the server forks,
//!   however often it double-forks or changes session, is reparented to the keeper and not to init. So the
//!   keeper can find all of it by walking parents, and knows from `ECHILD` that nothing is left. It begins
//!   to stop the server when it is told to, and when the control pipe ends because we died.
//! - the **guard** is a subreaper too and does nothing but wait for the keeper. Should the keeper itself be
//!   killed, the guard inherits the server's processes and kills them. Should the guard be killed, the
//!   keeper gets SIGTERM (`PR_SET_PDEATHSIG`) and stops the server. No single SIGKILL leaves anything.
//! - the **launcher** sets what must be set before exec (session, affinity, death signal, log) and becomes
//!   the server. It needs no `pre_exec` and so no unsafe code.
//!
//! A fourth role, the **restorer**, waits in the same way for the end of one who changed settings of the
//! kernel, and puts them back ([`crate::knobs`]).
//!
//! Nothing about the server is in the keeper's arguments: the order comes down the pipe, so no secret
//! shows in `ps`. They call themselves `sd-guard`, `sd-keeper`, `sd-restorer`, so a `pkill -9 showdown` that is meant
//! for us does not take away those who clean up after us. `docs/decisions/0003-keeper.md` has the reasons
//! and what was tried.

mod guard;
mod keep;
mod launch;
mod news;
pub(crate) mod protocol;
mod restore;
mod subtree;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use protocol::VERB;

/// Becomes a keeper if the arguments ask for it: `None` means "go on as the program that you are".
///
/// A program that starts servers calls this first of all, before it parses arguments, opens files or
/// starts threads:
///
/// ```no_run
/// # fn parse_and_run() -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
/// fn main() -> std::process::ExitCode {
///     host::keeper_main(std::env::args_os()).unwrap_or_else(parse_and_run)
/// }
/// ```
pub fn keeper_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != VERB {
        return None;
    }
    let args: Vec<OsString> = args.collect();
    let words: Vec<_> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let result = match words.as_slice() {
        ["guard"] => guard::run(),
        ["keep", guard] => number(guard).and_then(keep::run),
        ["launch", keeper] => number(keeper).and_then(launch::run),
        ["restore", ..] if args.len() == 3 => restore::run(args[1].as_ref(), args[2].as_ref()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    // Nobody reads a message from here: those who started us see the code, or the event that came before.
    Some(if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn number(pid: &str) -> io::Result<u32> {
    pid.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}
