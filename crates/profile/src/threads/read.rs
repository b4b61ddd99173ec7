//! What `/proc` says of a thread.

use std::fs::{self, File};
use std::io::Read;
use std::time::Duration;

use super::waits::Call;

/// The scheduler's account of a thread since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchedulerAccount {
    /// Time on a CPU.
    pub running: Duration,
    /// Time in which it waited for a CPU.
    pub runnable: Duration,
}

/// The state of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ThreadState {
    /// On a CPU or waiting for one.
    Runnable,
    /// Waiting for something else.
    Waits {
        /// The system call; None if this user may not see it.
        call: Option<Call>,
        /// The function of the kernel that waits; empty if this user may not see it.
        kernel_function: String,
        /// State D.
        is_uninterruptible: bool,
    },
}

/// The threads of a process now.
pub(crate) fn threads_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of processes now, each with its process.
pub(crate) fn threads_of_all(pids: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    pids.iter().flat_map(|pid| threads_of(*pid).into_iter().map(|tid| (*pid, tid)))
}

/// None if the thread has ended, or if the kernel has no accounts.
pub(crate) fn scheduler_account(pid: u32, tid: u32) -> Option<SchedulerAccount> {
    parse_schedstat(&read(pid, tid, "schedstat")?)
}

/// `RUNNING WAITING SLICES`, in ns (Documentation/scheduler/sched-stats.rst).
fn parse_schedstat(text: &str) -> Option<SchedulerAccount> {
    let mut words = text.split_ascii_whitespace();
    let mut time = || words.next()?.parse().ok().map(Duration::from_nanos);
    Some(SchedulerAccount { running: time()?, runnable: time()? })
}

/// The state of a thread now. None if it has ended.
pub(crate) fn state(pid: u32, tid: u32) -> Option<ThreadState> {
    match state_letter(&read(pid, tid, "stat")?)? {
        'R' => Some(ThreadState::Runnable),
        'Z' | 'X' | 'x' => None,
        letter => {
            let call = match read(pid, tid, "syscall") {
                Some(text) => match Call::parse(&text) {
                    Some(call) => Some(call),
                    // It runs again.
                    None => return Some(ThreadState::Runnable),
                },
                None => None,
            };
            let kernel_function = read(pid, tid, "wchan").filter(|name| name != "0").unwrap_or_default();
            Some(ThreadState::Waits { call, kernel_function, is_uninterruptible: letter == 'D' })
        }
    }
}

/// The third field of `proc_pid_stat(5)`. The name before it may contain anything.
fn state_letter(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// What a descriptor of a process is.
pub(crate) fn descriptor_target(pid: u32, descriptor: u64) -> Option<String> {
    let target = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

fn read(pid: u32, tid: u32, name: &str) -> Option<String> {
    // These files are short, and one read returns all of them.
    let mut bytes = [0; 1024];
    let mut file = File::open(format!("/proc/{pid}/task/{tid}/{name}")).ok()?;
    let length = file.read(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes[..length]).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_bracket_does_not_hide_the_state() {
        assert_eq!(state_letter("812 (a) R (b) D 1 812"), Some('D'));
        assert_eq!(state_letter("no stat"), None);
    }

    #[test]
    fn the_scheduler_counts_nanoseconds() {
        let account = parse_schedstat("2000000 3000000 17").expect("an account");
        assert_eq!(account.running, Duration::from_millis(2));
        assert_eq!(account.runnable, Duration::from_millis(3));
        assert_eq!(parse_schedstat("0"), None);
    }

    #[test]
    fn this_thread_runs() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        assert_eq!(state(std::process::id(), tid), Some(ThreadState::Runnable));
        assert_eq!(state(u32::MAX, u32::MAX), None);
    }
}
