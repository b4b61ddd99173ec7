//! Signals to everything below this process.
//!
//! This process is a subreaper, so "below" cannot be left by forking. `ECHILD` from wait(2) is the proof
//! that nothing is left: an orphan would have become our child.

use std::thread;
use std::time::Duration;

use procfs::process::Stat;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getsid, kill_process, kill_process_group, wait};

use crate::process::Processes;

/// A child that ended, or that there are none (left).
pub(super) enum Reaped {
    One(u32, WaitStatus),
    NoneEnded,
    NoneLeft,
}

pub(super) fn reap() -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => return Reaped::One(pid.as_raw_pid().cast_unsigned(), status),
            Ok(None) => return Reaped::NoneEnded,
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::NoneLeft,
        }
    }
}

/// Our direct children that still run, eldest first.
pub(super) fn children() -> Vec<Stat> {
    let me = std::process::id();
    let ours = |p: &&Stat| p.ppid.cast_unsigned() == me && p.state != 'Z';
    let mut children: Vec<Stat> = Processes::now().below(me).into_iter().filter(ours).cloned().collect();
    children.sort_by_key(|p| (p.starttime, p.pid));
    children
}

/// One round of SIGKILL to all below us: to their process groups as well, because the kernel signals a
/// group as one, so that no member can fork itself out of the list that we have just read.
///
/// A process that we may not signal (it changed its user) is left to the next round.
pub(super) fn kill_round() {
    let our_session = getsid(None).map(Pid::as_raw_pid);
    let all = Processes::now();
    for process in all.below(std::process::id()) {
        if Ok(process.session) != our_session
            && let Some(group) = Pid::from_raw(process.pgrp)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        send(process.pid.cast_unsigned(), Signal::KILL);
    }
}

pub(super) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills and reaps until nothing is left, however long that takes.
pub(super) fn kill_until_none_is_left() {
    let mut pause = FIRST_PAUSE;
    loop {
        match reap() {
            Reaped::One(..) => {}
            Reaped::NoneLeft => return,
            Reaped::NoneEnded => {
                kill_round();
                thread::sleep(pause);
                pause = next_pause(pause);
            }
        }
    }
}

/// The pause after the first round of SIGKILL. It grows, because what two rounds did not kill is in an
/// uninterruptible sleep or belongs to another user, and is not worth a busy loop.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(2);

pub(super) fn next_pause(pause: Duration) -> Duration {
    (pause * 2).min(Duration::from_secs(1))
}
