//! The supervisor process: starts the server, waits for its processes, stops it, and ends when none of them is left.

use std::io::{self, Read};
use std::os::unix::process::parent_id;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, set_child_subreaper, set_parent_process_death_signal};

use super::inputs::{StopReason, SupervisorInputs};
use super::log_limit::LogLimit;
use super::protocol::{SupervisorEvent, receive_order, send_event, send_order};
use super::spawn::spawn;
use super::subtree::{FIRST_PAUSE, ReapOutcome, children, kill_round, next_pause, reap, send};
use crate::control_groups::zone::Zone;
use crate::process::{ProcessExit, ProcessId, ServerCommand};
use crate::root::Root;

/// The grace period of a server whose owner died.
const ABANDONED_GRACE: Duration = Duration::from_secs(1);

/// How often to look for newly reparented processes while the server stops: no signal announces them.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The longest grace period. A clock can represent its end.
const LONGEST_GRACE: Duration = Duration::from_hours(24);

pub(super) fn run(guard: u32) -> io::Result<()> {
    rustix::thread::set_name(c"sd-keeper")?;
    set_child_subreaper(Some(getpid()))?;
    let mut inputs = SupervisorInputs::open()?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if parent_id() != guard {
        return Ok(()); // The guard died before the line above. Nothing is started yet.
    }
    let order = receive_order(io::stdin().lock())?;
    // Before the server runs, which may give its log a second name.
    let log_limit = LogLimit::open(&order);
    let confined_to = if order.is_confined { order.cpus.as_ref() } else { None };
    // Removed at the end, when no process is left.
    let zone = confined_to.and_then(|cpus| Zone::create(&Root::new("/"), cpus));
    match launch(&order, zone.as_ref()) {
        Ok(pid) => {
            send_event(&SupervisorEvent::Started { pid, supervisor: std::process::id() });
            let phase = SupervisorPhase::Up;
            Supervisor { order, log_limit, main: Some(pid), exit: None, phase, grace_expired: false }
                .run(&mut inputs)
        }
        Err(error) => {
            send_event(&SupervisorEvent::Refused { reason: error.to_string() });
            Ok(())
        }
    }
}

/// Why the server does not start, from the supervisor's side.
#[derive(Debug, thiserror::Error)]
enum LauncherError {
    #[error("cannot start the launcher: {0}")]
    Start(io::Error),
    #[error("cannot confine it to its CPUs: {0}: leave out isolation=cpus, or check /sys/fs/cgroup")]
    Zone(io::Error),
    #[error("cannot send the order to the launcher: {0}")]
    Send(io::Error),
    #[error("cannot read from the launcher: {0}")]
    Read(io::Error),
    /// The launcher's own message.
    #[error("{0}")]
    Reported(String),
}

/// Starts the launcher and waits until it has become the server. Returns the server's process ID, which is the
/// launcher's.
fn launch(order: &ServerCommand, zone: Option<&Zone>) -> Result<u32, LauncherError> {
    let role = ["launch", &std::process::id().to_string()];
    let mut launcher =
        spawn(Path::new("/proc/self/exe"), "sd-launcher", role).map_err(LauncherError::Start)?;
    if let Some(zone) = zone {
        zone.add(launcher.id()).map_err(LauncherError::Zone)?;
    }
    let mut message = String::new();
    if let (Some(stdin), Some(mut stdout)) = (launcher.stdin.take(), launcher.stdout.take()) {
        send_order(stdin, order).map_err(LauncherError::Send)?;
        stdout.read_to_string(&mut message).map_err(LauncherError::Read)?;
    }
    if message.is_empty() { Ok(launcher.id()) } else { Err(LauncherError::Reported(message)) }
}

enum SupervisorPhase {
    /// The server runs.
    Up,
    /// The server was asked to stop, and is killed at the deadline. `signalled` lists the processes that got the
    /// stop signal.
    Stopping { deadline: Instant, signalled: Vec<ProcessId> },
    /// The server is being killed. `pause` is the time until the next round of SIGKILL.
    Killing { pause: Duration },
}

struct Supervisor {
    order: ServerCommand,
    /// None if the log cannot be limited.
    log_limit: Option<LogLimit>,
    /// The server's first process, or the oldest remaining one after it daemonised. None while that one is
    /// being searched for.
    main: Option<u32>,
    /// How `main` exited.
    exit: Option<ProcessExit>,
    phase: SupervisorPhase,
    /// Whether the grace period passed before the server stopped.
    grace_expired: bool,
}

impl Supervisor {
    fn run(mut self, inputs: &mut SupervisorInputs) -> io::Result<()> {
        while !self.reap_all() {
            let check = self.limit_log();
            let timeout = [self.act(), check].into_iter().flatten().min();
            match inputs.wait(timeout)? {
                Some(StopReason::Requested) => self.begin_to_stop(self.order.grace),
                Some(StopReason::Abandoned) => self.begin_to_stop(self.order.grace.min(ABANDONED_GRACE)),
                None => {}
            }
        }
        let exit = self.exit.unwrap_or(ProcessExit::Unknown);
        send_event(&SupervisorEvent::Exited { exit, killed: self.grace_expired });
        Ok(())
    }

    /// Limits the space of the log. Returns when to do that again. Where it is not possible, the server is killed.
    fn limit_log(&mut self) -> Option<Duration> {
        match self.log_limit.as_ref()?.check() {
            Ok(pause) => Some(pause),
            Err(error) => {
                send_event(&SupervisorEvent::LogTooLong { reason: error.to_string() });
                self.log_limit = None;
                self.phase = SupervisorPhase::Killing { pause: FIRST_PAUSE };
                None
            }
        }
    }

    /// Reaps all ended children. Returns true when no process is left.
    fn reap_all(&mut self) -> bool {
        loop {
            match reap() {
                ReapOutcome::Reaped(pid, status) if Some(pid) == self.main => {
                    self.main_exited(ProcessExit::from(status));
                }
                ReapOutcome::Reaped(..) => {}
                ReapOutcome::NoneEnded => return false,
                ReapOutcome::NoChildren => return true,
            }
        }
    }

    fn main_exited(&mut self, exit: ProcessExit) {
        self.exit = Some(exit);
        self.main = None;
        // After a failure the remaining processes are useless. After exit status 0 the server may have
        // daemonised; that is the case if processes remain.
        if matches!(self.phase, SupervisorPhase::Up) && exit != ProcessExit::Code(0) {
            self.phase = SupervisorPhase::Killing { pause: FIRST_PAUSE };
        }
    }

    /// After the server daemonised, makes its oldest process the main process. Returns a pause before the next
    /// attempt if there is none: while a daemon forks, a process list can miss it.
    fn adopt(&mut self) -> Option<Duration> {
        let Some(oldest) = children().first().map(|stat| stat.pid.cast_unsigned()) else {
            return Some(FIRST_PAUSE);
        };
        self.main = Some(oldest);
        send_event(&SupervisorEvent::Daemonised { pid: oldest });
        None
    }

    fn begin_to_stop(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace.min(LONGEST_GRACE);
        match &mut self.phase {
            SupervisorPhase::Up => self.phase = SupervisorPhase::Stopping { deadline, signalled: Vec::new() },
            SupervisorPhase::Stopping { deadline: current, .. } => *current = deadline.min(*current),
            SupervisorPhase::Killing { .. } => {}
        }
    }

    /// Sends the signals that are due. Returns when to call this again if there is no input before.
    fn act(&mut self) -> Option<Duration> {
        match &mut self.phase {
            SupervisorPhase::Up if self.main.is_none() => self.adopt(),
            SupervisorPhase::Up => None,
            SupervisorPhase::Stopping { deadline, signalled } => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    self.grace_expired = true;
                    self.phase = SupervisorPhase::Killing { pause: FIRST_PAUSE };
                    return self.act();
                }
                // Only direct children get the signal; the server stops its own workers. Workers get it when
                // they are reparented to the supervisor because their parent exited.
                for child in children() {
                    let id = ProcessId::from(&child);
                    if !signalled.contains(&id) {
                        send(id, self.order.stop.into());
                        signalled.push(id);
                    }
                }
                Some(left.min(POLL_INTERVAL))
            }
            SupervisorPhase::Killing { pause } => {
                kill_round();
                let now = *pause;
                *pause = next_pause(now);
                Some(now)
            }
        }
    }
}
