//! How the kernel shares CPUs: the policy of this process, and threads that yield to the load. Which CPUs a process has is left to
//! [`affinity`](crate::affinity).

use std::cell::Cell;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::sched_yield;

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

/// The longest time that another thread waits: about the latency of a wake-up.
const INTERVAL: Duration = Duration::from_micros(50);

/// Yields the CPU when [`INTERVAL`] has passed since the last yield: during long work, for threads that share a CPU with the load
/// generator.
///
/// A thread that wakes up does not preempt the running one at once (EEVDF, since Linux 6.6, with `RUN_TO_PARITY`):
/// it waits for up to 3 ms. Reading all values of a server with 250 processes takes 4 ms. Apache's prefork at
/// 8,000 requests/s, with the sampler on the client's CPU (medians of 12 interleaved trials each):
///
/// | the sampler | send lateness, p99 | response time, p99 |
/// |---|---|---|
/// | does not yield | 2.0 ms | 3.0 ms |
/// | yields every 50 µs | 0.06 ms | 0.4 ms |
///
/// `SCHED_IDLE` has the same effect, but gets no CPU time on saturated CPUs, which is when telemetry is needed.
pub(crate) struct PeriodicYield(Cell<Instant>);

impl PeriodicYield {
    /// Starts the first interval.
    pub(crate) fn new() -> Self {
        Self(Cell::new(Instant::now()))
    }

    /// Call this often, for example once in each iteration.
    pub(crate) fn yield_if_due(&self) {
        if self.0.get().elapsed() >= INTERVAL {
            sched_yield();
            self.0.set(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

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
