//! The scheduling policy of this process and of those that it starts later. Which CPUs they have is left to `affinity`.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

/// chrt(1) lists the threads, and ends with an error at one that has ended since. Then it is asked again, at most so often.
const TRIES: u32 = 10;

/// Lets this process, and those that it starts from now on, end their turns on a CPU: one of them that wakes does not interrupt another
/// (`SCHED_BATCH`, sched(7)). Where a hundred processes share two CPUs, each has many events in a turn then, and not one.
///
/// # Errors
/// There is no chrt(1), of util-linux, or it fails.
pub fn schedule_as_batch() -> io::Result<()> {
    let mut status = set_batch()?;
    for _ in 1..TRIES {
        if status.success() {
            break;
        }
        status = set_batch()?;
    }
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("chrt: {status}"))) }
}

fn set_batch() -> io::Result<ExitStatus> {
    let own = std::process::id().to_string();
    // No library that we know has a safe call for it.
    Command::new("chrt")
        .args(["--all-tasks", "--batch", "--pid", "0", &own])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// `SCHED_BATCH` (sched(7)).
    const BATCH: &str = "3";

    #[test]
    fn processes_that_start_later_are_scheduled_as_batch() {
        // Some of these end while the others are set.
        let _threads: Vec<_> =
            (0..20).map(|at| thread::spawn(move || thread::sleep(Duration::from_millis(at)))).collect();
        schedule_as_batch().expect("chrt is of util-linux, which every Debian has");
        let stat = Command::new("cat").arg("/proc/self/stat").output().expect("cat").stdout;
        // The 41st field of proc_pid_stat(5); the name of the program, the second, has no space.
        let policy = String::from_utf8_lossy(&stat).split(' ').nth(40).map(str::to_owned);
        assert_eq!(policy.as_deref(), Some(BATCH));
    }
}
