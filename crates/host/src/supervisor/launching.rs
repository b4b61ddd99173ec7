//! Starts a launcher and waits until it has become the program of an order: the server, or the command that stops it.

use std::io::{self, Read};
use std::path::Path;

use super::protocol::send_order;
use crate::control_groups::zone::Zone;
use crate::process::{ServerCommand, role};

/// Why a program does not start, from the supervisor's side.
#[derive(Debug, thiserror::Error)]
pub(super) enum LauncherError {
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

/// Starts the launcher and waits until it has become the program. Returns its process ID, which is the launcher's.
pub(super) fn launch(order: &ServerCommand, zone: Option<&Zone>) -> Result<u32, LauncherError> {
    let role = ["launch", &std::process::id().to_string()];
    let mut launcher =
        role::spawn(Path::new("/proc/self/exe"), "sd-launcher", role).map_err(LauncherError::Start)?;
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
