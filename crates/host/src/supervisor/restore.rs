//! The restorer process: undoes changes of kernel settings when the process that made them dies.

use std::io::{self, Write};
use std::path::Path;

use rustix::process::setsid;

use super::protocol::READY;
use crate::knobs;
use crate::root::Root;

/// Waits for the end of the standard input, a pipe from the process that changes settings, and undoes the changes
/// that the journal contains then. After a normal end of that process, the journal is empty.
pub(super) fn run(root: &Path, journal_dir: &Path) -> io::Result<()> {
    rustix::thread::set_name(c"sd-restorer")?;
    setsid()?;
    std::env::set_current_dir("/")?;
    // From here on the changes are safe: the owner waits for this byte before it changes a setting.
    io::stdout().write_all(&[READY])?;
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    knobs::recover_after_kill(&Root::new(root), journal_dir).map_err(io::Error::other)
}
