//! The restorer: a process that undoes changes of kernel settings if the process that made them is killed. Both ends are here; the
//! changes are in the journal.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;

use rustix::process::setsid;

use super::error::Error;
use super::journal::Journal;
use super::restoring;
use crate::process::role;
use crate::root::Root;

/// The byte that a restorer writes when it is ready.
const READY: u8 = b'r';

/// How often, and how many times, the restorer tries to lock the journal: a killed process keeps its locks until the
/// kernel has closed its files.
const LOCK_RETRY: Duration = Duration::from_millis(10);
const LOCK_RETRIES: u32 = 500;

/// A restorer process, from its owner's side. It waits until this is dropped or this process dies.
#[derive(Debug)]
pub(super) struct Restorer(Child);

impl Restorer {
    pub(super) fn start(program: &Path, root: &Root, journal_dir: &Path) -> io::Result<Self> {
        let arguments = ["restore".into(), root.path("/"), std::path::absolute(journal_dir)?];
        let mut child = role::spawn(program, "sd-restorer", arguments)?;
        let mut byte = [0];
        if let Some(mut stdout) = child.stdout.take() {
            let _ = stdout.read(&mut byte);
        }
        let restorer = Self(child);
        if byte == [READY] {
            Ok(restorer)
        } else {
            Err(io::Error::other("its main does not call host::supervisor_main"))
        }
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Waits for the end of the standard input, a pipe from the process that changes settings, and undoes the changes
/// that the journal contains then. After a normal end of that process, the journal is empty.
pub(crate) fn run_restorer(root: &Path, journal_dir: &Path) -> io::Result<()> {
    rustix::thread::set_name(c"sd-restorer")?;
    setsid()?;
    std::env::set_current_dir("/")?;
    // From here on the changes are safe: the owner waits for this byte before it changes a setting.
    io::stdout().write_all(&[READY])?;
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    recover_after_kill(&Root::new(root), journal_dir).map_err(io::Error::other)
}

/// Restores the settings of an owner that just died and may still have the journal locked. If another process locks
/// the journal first, that process restores the settings.
fn recover_after_kill(root: &Root, journal_dir: &Path) -> Result<(), Error> {
    for _ in 0..LOCK_RETRIES {
        match Journal::lock(journal_dir) {
            Ok(mut journal) => return restoring::restore(root, &mut journal, 0).map(drop),
            Err(Error::Busy { .. }) => thread::sleep(LOCK_RETRY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
