//! The end of a server that another program has started: its stop command, and the processes at its port.
//!
//! No parent leads to them. What is signalled listens at the address that the order names, where nobody did before, and has started
//! after the supervisor; see [`External`](crate::process::External).

use std::net::{SocketAddr, TcpListener};

use rustix::process::{Signal, WaitStatus};

use super::launch::launch;
use super::subtree::send;
use crate::process::{Listener, ProcessExit, ProcessId, ServerCommand};
use crate::root::Root;

/// How the stop command is doing.
enum StopCommand {
    /// It was not run: there is none, or the server is not to stop yet.
    NotRun,
    /// It runs as this process.
    Running(u32),
    /// It ended with status 0.
    Succeeded,
    /// It did not.
    Failed,
}

/// What the supervisor knows of the server's processes that are not its descendants.
pub(super) struct ExternalEnd {
    /// Whether there are such processes.
    is_known: bool,
    address: Option<SocketAddr>,
    order: Option<ServerCommand>,
    command: StopCommand,
    /// Whether the stop command runs once more at the end: it ran beside the command of the start, and may have come first.
    is_repeated: bool,
    /// Those that were found since the stop began.
    found: Vec<ProcessId>,
}

impl ExternalEnd {
    /// That of the server of this order.
    pub fn of(order: &ServerCommand) -> Self {
        let stop =
            order.stop_command.clone().map(|argv| ServerCommand { argv, pipes: None, ..order.clone() });
        Self {
            is_known: false,
            address: order.listens,
            order: stop,
            command: StopCommand::NotRun,
            is_repeated: false,
            found: Vec::new(),
        }
    }

    /// Says that there are such processes.
    pub fn expect(&mut self) {
        self.is_known = true;
    }

    /// Whether there are such processes, or may be.
    pub fn is_expected(&self) -> bool {
        self.is_known || self.has_command()
    }

    /// Whether the server may run although no descendant does. One that has daemonised was a descendant, whatever stops it.
    pub fn may_run(&self, has_daemonised: bool) -> bool {
        self.is_known || (self.has_command() && !has_daemonised)
    }

    /// Whether there is a command to stop it.
    pub fn has_command(&self) -> bool {
        self.order.is_some()
    }

    /// Begins to stop it, once. `is_starting`: the command of the start still runs.
    pub fn begin(&mut self, is_starting: bool) {
        self.find();
        if matches!(self.command, StopCommand::NotRun) {
            self.is_repeated = is_starting && !self.is_known && self.has_command();
            self.run_command();
        }
    }

    /// Runs the stop command once more if it may have come too early. Returns whether it does.
    pub fn repeat(&mut self) -> bool {
        let repeats = std::mem::take(&mut self.is_repeated);
        if repeats {
            self.run_command();
        }
        repeats
    }

    fn run_command(&mut self) {
        if let Some(order) = &self.order {
            self.command = launch(order, None).map_or(StopCommand::Failed, StopCommand::Running);
        }
    }

    /// A child has ended. Returns whether that was the stop command.
    pub fn reaped(&mut self, pid: u32, status: WaitStatus) -> bool {
        let is_command = matches!(self.command, StopCommand::Running(command) if command == pid);
        if is_command {
            let is_done = ProcessExit::from(status) == ProcessExit::Code(0);
            self.command = if is_done { StopCommand::Succeeded } else { StopCommand::Failed };
        }
        is_command
    }

    /// Whether signals stop the server: there is no command for that, or it has failed.
    pub fn needs_signals(&self) -> bool {
        matches!(self.command, StopCommand::NotRun | StopCommand::Failed)
    }

    /// Its processes that still run.
    pub fn left(&mut self) -> &[ProcessId] {
        self.find();
        self.found.retain(|process| process.is_alive());
        &self.found
    }

    /// Kills what is left of it.
    pub fn kill(&mut self) {
        for process in self.left() {
            send(*process, Signal::KILL);
        }
    }

    fn find(&mut self) {
        if !self.is_expected() {
            return;
        }
        let Some(address) = self.address else { return };
        // A process list takes long, and mostly nobody listens any more.
        if TcpListener::bind(address).is_ok() {
            return;
        }
        if let Listener::External(external) = Listener::at(&Root::new("/"), address, std::process::id()) {
            let new: Vec<ProcessId> =
                external.processes().into_iter().filter(|process| !self.found.contains(process)).collect();
            self.found.extend(new);
        }
    }
}
