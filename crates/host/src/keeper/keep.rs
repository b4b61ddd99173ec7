//! The keeper: starts the server, watches it, stops it, and ends when nothing of it is left.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, set_child_subreaper, set_parent_process_death_signal};

use super::news::{Ask, News};
use super::protocol::VERB;
use super::protocol::{Event, receive_order, send_order, tell};
use super::subtree::{FIRST_PAUSE, Reaped, children, kill_round, next_pause, reap, send};
use crate::process::{Ending, ServerCommand};

/// How long a server may take to stop when nobody waits for it any more.
const ABANDONED_GRACE: Duration = Duration::from_secs(1);

/// How often to look for processes that became ours while the server stops: that is no news to wait for.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long it may take at all; a clock can hold this.
const LONGEST_GRACE: Duration = Duration::from_hours(24);

pub(super) fn run(guard: u32) -> io::Result<()> {
    rustix::thread::set_name(c"sd-keeper")?;
    set_child_subreaper(Some(getpid()))?;
    let mut news = News::watch()?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if parent_id() != guard {
        return Ok(()); // the guard died before the line above; nothing is started yet
    }
    let order = receive_order(io::stdin().lock())?;
    match launch(&order) {
        Ok(pid) => {
            tell(&Event::Started { pid, keeper: std::process::id() });
            Keeper { order, main: Some(pid), ending: None, phase: Phase::Up, overdue: false }.keep(&mut news)
        }
        Err(reason) => {
            tell(&Event::Refused { reason });
            Ok(())
        }
    }
}

/// Starts the launcher and waits until it has become the server; its process number is the server's.
fn launch(order: &ServerCommand) -> Result<u32, String> {
    let mut launcher = Command::new("/proc/self/exe")
        .arg0("sd-launcher")
        .args([VERB, "launch", &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start its launcher: {e}"))?;
    let mut reason = String::new();
    if let (Some(stdin), Some(mut stdout)) = (launcher.stdin.take(), launcher.stdout.take()) {
        send_order(stdin, order).map_err(|e| format!("cannot instruct its launcher: {e}"))?;
        stdout.read_to_string(&mut reason).map_err(|e| format!("cannot hear its launcher: {e}"))?;
    }
    if reason.is_empty() { Ok(launcher.id()) } else { Err(reason) }
}

enum Phase {
    /// The server may run as long as it likes.
    Up,
    /// It was asked to stop, and is killed at the deadline. `asked` holds who has had the signal.
    Stopping { deadline: Instant, asked: Vec<u32> },
    /// It is being killed; the pause until the next round.
    Killing { pause: Duration },
}

struct Keeper {
    order: ServerCommand,
    /// The server's first process, or the eldest that it left when it daemonised; none while we look for it.
    main: Option<u32>,
    /// How `main` ended.
    ending: Option<Ending>,
    phase: Phase,
    /// Whether its time to stop was over before it had.
    overdue: bool,
}

impl Keeper {
    fn keep(mut self, news: &mut News) -> io::Result<()> {
        while !self.reap_all() {
            let timeout = self.act();
            match news.wait(timeout)? {
                Some(Ask::Stop) => self.begin_to_stop(self.order.grace),
                Some(Ask::Abandoned) => self.begin_to_stop(self.order.grace.min(ABANDONED_GRACE)),
                None => {}
            }
        }
        tell(&Event::Exited { ending: self.ending.unwrap_or(Ending::Unknown), killed: self.overdue });
        Ok(())
    }

    /// Reaps what ended; true when nothing is left.
    fn reap_all(&mut self) -> bool {
        loop {
            match reap() {
                Reaped::One(pid, status) if Some(pid) == self.main => self.main_ended(Ending::from(status)),
                Reaped::One(..) => {}
                Reaped::NoneEnded => return false,
                Reaped::NoneLeft => return true,
            }
        }
    }

    fn main_ended(&mut self, ending: Ending) {
        self.ending = Some(ending);
        self.main = None;
        // A server that died: what it left serves nobody. One that exited with 0 may have gone into the
        // background, which shows when there is something left to reap.
        if matches!(self.phase, Phase::Up) && ending != Ending::Code(0) {
            self.phase = Phase::Killing { pause: FIRST_PAUSE };
        }
    }

    /// Makes the eldest that a server left when it went into the background the server. While a daemon
    /// forks, a list of processes may show none of them at the right place: then look again.
    fn adopt(&mut self) -> Option<Duration> {
        let Some(eldest) = children().first().map(|stat| stat.pid.cast_unsigned()) else {
            return Some(FIRST_PAUSE);
        };
        self.main = Some(eldest);
        tell(&Event::Daemonised { pid: eldest });
        None
    }

    fn begin_to_stop(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace.min(LONGEST_GRACE);
        match &mut self.phase {
            Phase::Up => self.phase = Phase::Stopping { deadline, asked: Vec::new() },
            Phase::Stopping { deadline: current, .. } => *current = deadline.min(*current),
            Phase::Killing { .. } => {}
        }
    }

    /// Sends the signals that are due; says when to do so again, if nothing happens before.
    fn act(&mut self) -> Option<Duration> {
        match &mut self.phase {
            Phase::Up if self.main.is_none() => self.adopt(),
            Phase::Up => None,
            Phase::Stopping { deadline, asked } => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    self.overdue = true;
                    self.phase = Phase::Killing { pause: FIRST_PAUSE };
                    return self.act();
                }
                // The top of the tree is asked, and passes it on as it sees fit. Those below it are asked
                // when they become ours because their parent has gone.
                for child in children() {
                    let pid = child.pid.cast_unsigned();
                    if !asked.contains(&pid) {
                        send(pid, self.order.stop.into());
                        asked.push(pid);
                    }
                }
                Some(left.min(LOOK_AGAIN))
            }
            Phase::Killing { pause } => {
                kill_round();
                let now = *pause;
                *pause = next_pause(now);
                Some(now)
            }
        }
    }
}
