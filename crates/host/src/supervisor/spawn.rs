//! Starts a program in a role of the supervisor's, with pipes to it. What goes through them is left to both ends.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::protocol::VERB;

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
