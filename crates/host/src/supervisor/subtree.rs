//! Signals to all descendants of this process.
//!
//! This process is a subreaper, so a descendant cannot escape by forking. `ECHILD` from wait(2) proves that no
//! descendant is left: an orphan would be a child of this process.

use std::thread;
use std::time::Duration;

use procfs::process::Stat;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getsid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, wait,
};

use crate::process::{ProcessId, Processes};

/// The outcome of waiting for a child.
pub(super) enum ReapOutcome {
    /// This child ended.
    Reaped(u32, WaitStatus),
    /// There are children, and none has ended.
    NoneEnded,
    /// There are no children.
    NoChildren,
}

pub(super) fn reap() -> ReapOutcome {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => return ReapOutcome::Reaped(pid.as_raw_pid().cast_unsigned(), status),
            Ok(None) => return ReapOutcome::NoneEnded,
            Err(Errno::INTR) => {}
            Err(_) => return ReapOutcome::NoChildren,
        }
    }
}

/// The direct children of this process that still run, oldest first.
pub(super) fn children() -> Vec<Stat> {
    let this = std::process::id();
    let is_running_child = |p: &&Stat| p.ppid.cast_unsigned() == this && p.state != 'Z';
    let mut children: Vec<Stat> =
        Processes::now().below(this).into_iter().filter(is_running_child).cloned().collect();
    children.sort_by_key(|p| (p.starttime, p.pid));
    children
}

/// Sends SIGKILL to all descendants and to their process groups. The kernel signals a group atomically, so no
/// member can escape by forking after the process list was read.
///
/// A process that this process may not signal (it changed its user) is tried again in the next round.
pub(super) fn kill_round() {
    let own_session = getsid(None).map(Pid::as_raw_pid);
    let all = Processes::now();
    for process in all.below(std::process::id()) {
        let id = ProcessId::from(process);
        // A group exists while it has a member, so its ID is not reused while this process runs.
        if Ok(process.session) != own_session
            && let Some(group) = Pid::from_raw(process.pgrp)
            && id.is_listed()
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        send(id, Signal::KILL);
    }
}

/// Sends a signal to this process, and never to another one that got its process ID meanwhile.
pub(super) fn send(process: ProcessId, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid.cast_signed()) else { return };
    let pidfd = pidfd_open(pid, PidfdFlags::empty());
    // If this process is listed now, the descriptor is that of this process: its ID was not free in between.
    if !process.is_listed() {
        return;
    }
    let _ = match pidfd {
        Ok(pidfd) => pidfd_send_signal(pidfd, signal),
        // Before Linux 5.3, or in a sandbox that forbids it.
        Err(Errno::NOSYS | Errno::PERM) => kill_process(pid, signal),
        Err(error) => Err(error),
    };
}

/// Kills and reaps until no descendant is left, without a time limit.
pub(super) fn kill_all() {
    let mut pause = FIRST_PAUSE;
    loop {
        match reap() {
            ReapOutcome::Reaped(..) => {}
            ReapOutcome::NoChildren => return,
            ReapOutcome::NoneEnded => {
                kill_round();
                thread::sleep(pause);
                pause = next_pause(pause);
            }
        }
    }
}

/// The pause after the first round of SIGKILL. It grows: a process that survives two rounds is in an
/// uninterruptible sleep or belongs to another user, and a busy loop would not help.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(2);

pub(super) fn next_pause(pause: Duration) -> Duration {
    (pause * 2).min(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reaches_the_process_and_no_other_with_its_process_id() -> std::io::Result<()> {
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        let id = ProcessId::of(child.id()).expect("the child runs");
        send(ProcessId { start_ticks: id.start_ticks + 1, ..id }, Signal::KILL);
        assert!(child.try_wait()?.is_none(), "another process had this ID before");
        send(id, Signal::TERM);
        let status = child.wait()?;
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::TERM.as_raw()));
        Ok(())
    }
}
