//! Starts this program once more, in a role: a process that supervises a server, restores settings or takes a resource. What goes
//! through the pipes to it is left to both ends.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The hidden first argument by which a program that embeds this crate takes a role.
pub(crate) const VERB: &str = "__keeper";

/// Starts a role, with its arguments; `name` is what `ps` shows. Its standard input and output are pipes.
pub(crate) fn spawn<A: AsRef<OsStr>>(
    program: &Path,
    name: &str,
    role: impl IntoIterator<Item = A>,
) -> io::Result<Child> {
    Command::new(program)
        .arg0(name)
        .arg(VERB)
        .args(role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}
