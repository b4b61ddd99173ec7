//! An agent on this machine: a child of this process.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::OpenError;
use super::link::Link;
use crate::frame::marker;

/// How long its start may take, on a machine that is busy.
const START: Duration = Duration::from_secs(30);

/// Starts `program` as the agent. After that, frames begin.
pub(super) fn open(program: &Path, nonce: &str, interrupted: Arc<AtomicBool>) -> Result<Link, OpenError> {
    let mut command = Command::new(program);
    // The name by which a user finds it among processes.
    command.arg0("showdown").args(["agent", "--stdio", "--marker", nonce]);
    let mut link = Link::spawn(&mut command, interrupted).map_err(OpenError::Start)?;
    link.line(&marker(nonce), START)?;
    Ok(link)
}
