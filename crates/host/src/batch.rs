//! The scheduling policy of this process and of those that it starts later. Which CPUs they have is left to `affinity`.

use std::io;
use std::process::{Command, Stdio};

/// Lets this process, and those that it starts from now on, end their turns on a CPU: one of them that wakes does not interrupt another
/// (`SCHED_BATCH`, sched(7)). Where a hundred processes share two CPUs, each has many events in a turn then, and not one.
///
/// # Errors
/// There is no chrt(1), of util-linux, or it fails.
pub fn schedule_as_batch() -> io::Result<()> {
    let own = std::process::id().to_string();
    // Its name for the policies is one of the kernel's headers, and setting one needs a system call that no safe library has.
    let status = Command::new("chrt")
        .args(["--all-tasks", "--batch", "--pid", "0", &own])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("chrt: {status}"))) }
}
