//! What this program is: itself, or one of the processes that clean up after it or work for it. What each of them does is left to
//! [`crate::supervisor`], [`crate::knobs`] and [`crate::squeeze`].

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::process::{descriptors, role};
use crate::supervisor::{guard, launch, supervise};
use crate::{knobs, squeeze};

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
    if args.next()? != role::VERB {
        return None;
    }
    let args: Vec<OsString> = args.collect();
    let texts: Vec<_> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let result = match texts.as_slice() {
        ["guard"] => guard::run(),
        ["keep", guard] => parse_pid(guard).and_then(supervise::run),
        ["launch", supervisor] => parse_pid(supervisor).and_then(launch::run),
        ["squeeze"] => squeeze::run(),
        ["restore", ..] if args.len() == 3 => knobs::run_restorer(args[1].as_ref(), args[2].as_ref()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    // No message: the parent process reads only the exit code and the events.
    Some(if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse_pid(text: &str) -> io::Result<u32> {
    text.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}
