//! The controller that a server has started: a program of its own, so that a server that dies costs no measurement.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::folder::{HarnessFolder, this_host};
use crate::http::site::Shared;
use crate::store::address::SECRET_VARIABLES;

/// How long the controller has to end its run.
const MOST_ENDING: Duration = Duration::from_mins(1);

/// The pause before a controller that has ended is started again.
const BEFORE_RESTART: Duration = Duration::from_secs(1);

/// Prints a line on standard error. A closed one is ignored.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The controller of this server.
pub(super) struct ControllerProcess {
    pub(super) runs: PathBuf,
    pub(super) folder: HarnessFolder,
    pub(super) site: Shared,
    pub(super) child: Option<Child>,
}

impl ControllerProcess {
    /// Starts it if it does not run, and tells the queue when it has ended.
    pub(super) async fn step(&mut self) {
        if let Some(child) = &mut self.child {
            if let Ok(None) = child.try_wait() {
                return sleep(Duration::from_millis(200)).await;
            }
            self.child = None;
            if let Ok(id) = std::fs::read_to_string(self.folder.controller_id()) {
                // Its leases end by themselves later, if they cannot now.
                let _ = self.site.harness.controller_ended(id.trim().to_owned(), this_host()).await;
            }
            return sleep(BEFORE_RESTART).await;
        }
        // One that an earlier server has started goes on, perhaps with a run.
        if matches!(self.folder.lock("controller.lock"), Ok(None)) {
            return sleep(BEFORE_RESTART).await;
        }
        match self.start() {
            Ok(child) => self.child = Some(child),
            Err(error) => {
                say(&format!("showdown: cannot start the controller: {error:#}"));
                sleep(BEFORE_RESTART).await;
            }
        }
    }

    fn start(&self) -> anyhow::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("controller").arg("--runs").arg(&self.runs).stdin(Stdio::null());
        // It runs the plans of others: the password of the database is not for them.
        for name in SECRET_VARIABLES {
            command.env_remove(name);
        }
        // Ctrl-C reaches this process, which lets the controller end its run first.
        Ok(command.process_group(0).spawn()?)
    }

    /// Ends it: its run is interrupted, and tells how it ended.
    pub(super) async fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let mut left = MOST_ENDING;
        while matches!(child.try_wait(), Ok(None)) && !left.is_zero() {
            let pause = Duration::from_millis(50);
            sleep(pause).await;
            left = left.saturating_sub(pause);
        }
    }
}
