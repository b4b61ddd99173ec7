//! The supervisor process: starts the server, waits for its processes, stops it, and ends when none of them is left.

use std::io;
use std::os::unix::process::parent_id;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, set_child_subreaper, set_parent_process_death_signal};

use super::external::ExternalEnd;
use super::inputs::{SupervisorInputs, SupervisorOrder};
use super::launch::launch;
use super::log_limit::LogLimit;
use super::protocol::{SupervisorEvent, receive_order, send_event};
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

pub(crate) fn run(guard: u32) -> io::Result<()> {
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
            let (phase, external) = (SupervisorPhase::Up, ExternalEnd::of(&order));
            Supervisor {
                order,
                log_limit,
                main: Some(pid),
                exit: None,
                has_daemonised: false,
                has_children: true,
                phase,
                external,
                grace_expired: false,
            }
            .run(&mut inputs)
        }
        Err(error) => {
            send_event(&SupervisorEvent::Refused { reason: error.to_string() });
            Ok(())
        }
    }
}

/// How long processes may stay after the stop command.
const AFTER_COMMAND: Duration = Duration::from_secs(5);

/// How long processes that another program has started are killed: those of another user stay.
const KILL_EXTERNAL: Duration = Duration::from_secs(5);

enum SupervisorPhase {
    /// The server runs.
    Up,
    /// The server was asked to stop, and is killed at the deadline. `signalled` lists the processes that got the
    /// stop signal.
    Stopping { deadline: Instant, signalled: Vec<ProcessId> },
    /// The server is being killed. `pause` is the time until the next round of SIGKILL. Processes that another program has started, and
    /// that this user may not kill, are given up at a time.
    Killing { pause: Duration, external_until: Instant },
}

fn stopping_until(deadline: Instant) -> SupervisorPhase {
    SupervisorPhase::Stopping { deadline, signalled: Vec::new() }
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
    /// Whether the server daemonised.
    has_daemonised: bool,
    has_children: bool,
    phase: SupervisorPhase,
    /// The server's processes that another program has started.
    external: ExternalEnd,
    /// Whether the grace period passed before the server stopped.
    grace_expired: bool,
}

impl Supervisor {
    fn run(mut self, inputs: &mut SupervisorInputs) -> io::Result<()> {
        loop {
            self.has_children = !self.reap_all();
            if !self.has_children && self.has_ended_elsewhere() {
                if !self.external.repeat() {
                    break;
                }
                self.phase = stopping_until(Instant::now() + self.order.grace.min(LONGEST_GRACE));
            }
            let check = self.limit_log();
            let timeout = [self.act(), check].into_iter().flatten().min();
            match inputs.wait(timeout)? {
                Some(SupervisorOrder::Stop) => self.begin_to_stop(self.order.grace),
                Some(SupervisorOrder::StopAbandoned) if self.external.has_command() => {
                    self.begin_to_stop(self.order.grace);
                }
                Some(SupervisorOrder::StopAbandoned) => {
                    self.begin_to_stop(self.order.grace.min(ABANDONED_GRACE));
                }
                Some(SupervisorOrder::IsExternal) => self.external.expect(),
                None => {}
            }
        }
        let exit = self.exit.unwrap_or(ProcessExit::Unknown);
        send_event(&SupervisorEvent::Exited { exit, killed: self.grace_expired });
        Ok(())
    }

    /// Whether nothing is left of a server that another program has started, once none of its processes is a descendant.
    fn has_ended_elsewhere(&mut self) -> bool {
        match self.phase {
            // The command that asked for the server has ended, and the server runs.
            SupervisorPhase::Up => {
                self.exit != Some(ProcessExit::Code(0)) || !self.external.may_run(self.has_daemonised)
            }
            SupervisorPhase::Killing { external_until, .. } if Instant::now() >= external_until => true,
            _ => self.external.left().is_empty(),
        }
    }

    /// Limits the space of the log. Returns when to do that again. Where it is not possible, the server is killed.
    fn limit_log(&mut self) -> Option<Duration> {
        match self.log_limit.as_ref()?.check() {
            Ok(pause) => Some(pause),
            Err(error) => {
                send_event(&SupervisorEvent::LogTooLong { reason: error.to_string() });
                self.log_limit = None;
                self.begin_to_kill();
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
                ReapOutcome::Reaped(pid, status) => {
                    if self.external.reaped(pid, status)
                        && let SupervisorPhase::Stopping { deadline, .. } = &mut self.phase
                    {
                        *deadline = (Instant::now() + AFTER_COMMAND).min(*deadline);
                    }
                }
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
            if self.external.is_expected() {
                self.begin_to_stop(self.order.grace);
            } else {
                self.begin_to_kill();
            }
        }
    }

    /// After the server daemonised, makes its oldest process the main process. Returns a pause before the next
    /// attempt if there is none: while a daemon forks, a process list can miss it.
    fn adopt(&mut self) -> Option<Duration> {
        let Some(oldest) = children().first().map(|stat| stat.pid.cast_unsigned()) else {
            return Some(FIRST_PAUSE);
        };
        self.main = Some(oldest);
        self.has_daemonised = true;
        send_event(&SupervisorEvent::Daemonised { pid: oldest });
        None
    }

    fn begin_to_kill(&mut self) {
        self.phase =
            SupervisorPhase::Killing { pause: FIRST_PAUSE, external_until: Instant::now() + KILL_EXTERNAL };
    }

    fn begin_to_stop(&mut self, grace: Duration) {
        self.external.begin(self.main.is_some());
        let deadline = Instant::now() + grace.min(LONGEST_GRACE);
        match &mut self.phase {
            SupervisorPhase::Up => self.phase = stopping_until(deadline),
            SupervisorPhase::Stopping { deadline: current, .. } => *current = deadline.min(*current),
            SupervisorPhase::Killing { .. } => {}
        }
    }

    /// Sends the signals that are due. Returns when to call this again if there is no input before.
    fn act(&mut self) -> Option<Duration> {
        match &mut self.phase {
            SupervisorPhase::Up if self.main.is_none() && self.has_children => self.adopt(),
            SupervisorPhase::Up => None,
            SupervisorPhase::Stopping { deadline, signalled } => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    self.grace_expired = true;
                    self.begin_to_kill();
                    return self.act();
                }
                if !self.external.needs_signals() {
                    return Some(left.min(POLL_INTERVAL));
                }
                // Only direct children get the signal; the server stops its own workers. Workers get it when
                // they are reparented to the supervisor because their parent exited.
                let children = children();
                let children = children.iter().map(ProcessId::from);
                for id in children.chain(self.external.left().iter().copied()) {
                    if !signalled.contains(&id) {
                        send(id, self.order.stop.into());
                        signalled.push(id);
                    }
                }
                Some(left.min(POLL_INTERVAL))
            }
            SupervisorPhase::Killing { pause, .. } => {
                kill_round();
                self.external.kill();
                let now = *pause;
                *pause = next_pause(now);
                Some(now)
            }
        }
    }
}
