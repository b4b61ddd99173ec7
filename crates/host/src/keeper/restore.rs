//! The restorer: puts settings back when the one who changed them dies.

use std::io::{self, Write};
use std::path::Path;

use rustix::process::setsid;

use super::protocol::READY;
use crate::knobs;
use crate::root::Root;

/// Waits for the end of the standard input, a pipe from the owner of the settings, and puts back what is
/// in the journal by then. An owner that ended in order has left nothing there.
pub(super) fn run(root: &Path, journal_dir: &Path) -> io::Result<()> {
    rustix::thread::set_name(c"sd-restorer")?;
    setsid()?;
    std::env::set_current_dir("/")?;
    // Tells the owner that nothing can go wrong any more, and that it may change settings.
    io::stdout().write_all(&[READY])?;
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    knobs::recover_from_the_dead(&Root::new(root), journal_dir).map_err(io::Error::other)
}
