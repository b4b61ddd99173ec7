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
    // No library that we know has a safe call for it.
    let status = Command::new("chrt")
        .args(["--all-tasks", "--batch", "--pid", "0", &own])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("chrt: {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SCHED_BATCH` (sched(7)).
    const BATCH: &str = "3";

    #[test]
    fn processes_that_start_later_are_scheduled_as_batch() {
        schedule_as_batch().expect("chrt is of util-linux, which every Debian has");
        let stat = Command::new("cat").arg("/proc/self/stat").output().expect("cat").stdout;
        // The 41st field of proc_pid_stat(5); the name of the program, the second, has no space.
        let policy = String::from_utf8_lossy(&stat).split(' ').nth(40).map(str::to_owned);
        assert_eq!(policy.as_deref(), Some(BATCH));
    }
}
