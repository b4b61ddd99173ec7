//! The status of a server, from the events of its supervisor. A thread reads the events and wakes waiting threads.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use super::protocol::SupervisorEvent;
use crate::process::{ProcessExit, StartError};

/// The state of the server, as reported by the events so far.
#[derive(Debug, Default)]
pub(super) struct SupervisorStatus {
    /// Why the supervisor cannot start the server.
    pub(super) refused: Option<StartError>,
    /// The process IDs of the server's first process and of its supervisor.
    pub(super) started: Option<(u32, u32)>,
    /// How the server exited, and whether it had to be killed.
    pub(super) exited: Option<(ProcessExit, bool)>,
    /// Why the server's log could not be limited. The server is killed then.
    pub(super) log_too_long: Option<String>,
    /// Whether supervisor and guard ended. No process of the server is left then.
    pub(super) is_over: bool,
}

/// The current status, and a condition variable that signals changes.
#[derive(Debug, Default)]
pub(super) struct SupervisorEvents {
    status: Mutex<SupervisorStatus>,
    changed: Condvar,
}

impl SupervisorEvents {
    /// Starts the thread that reads the events until the guard ends.
    pub(super) fn follow(mut guard: Child, pipe: ChildStdout, name: &str) -> io::Result<Arc<Self>> {
        let events = Arc::new(Self::default());
        let shared = Arc::clone(&events);
        thread::Builder::new().name(format!("events of {name}")).spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line) {
                    shared.change(|status| status.apply(event));
                }
            }
            // The pipe ends when both supervisor and guard have ended. This reaps the guard.
            let _ = guard.wait();
            shared.change(|status| status.is_over = true);
        })?;
        Ok(events)
    }

    pub(super) fn status(&self) -> MutexGuard<'_, SupervisorStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the status meets the condition or the timeout passes.
    pub(super) fn wait(
        &self,
        timeout: Duration,
        condition: impl Fn(&SupervisorStatus) -> bool,
    ) -> MutexGuard<'_, SupervisorStatus> {
        let result = self.changed.wait_timeout_while(self.status(), timeout, |status| !condition(status));
        result.unwrap_or_else(PoisonError::into_inner).0
    }

    fn change(&self, change: impl FnOnce(&mut SupervisorStatus)) {
        change(&mut self.status());
        self.changed.notify_all();
    }
}

impl SupervisorStatus {
    fn apply(&mut self, event: SupervisorEvent) {
        match event {
            SupervisorEvent::Refused { reason } => self.refused = Some(StartError::Refused(reason)),
            SupervisorEvent::Started { pid, supervisor } => self.started = Some((pid, supervisor)),
            SupervisorEvent::Daemonised { pid } => {
                self.started = self.started.map(|(_, supervisor)| (pid, supervisor));
            }
            SupervisorEvent::LogTooLong { reason } => self.log_too_long = Some(reason),
            SupervisorEvent::Exited { exit, killed } => self.exited = Some((exit, killed)),
        }
    }
}
