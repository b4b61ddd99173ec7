//! Starts the restorer process, which restores settings if this process is killed.

use std::io::{self, Read};
use std::path::Path;
use std::process::Child;

use crate::root::Root;
use crate::supervisor::protocol::READY;
use crate::supervisor::spawn::spawn;

/// A restorer process. It waits until this is dropped or this process dies.
#[derive(Debug)]
pub(super) struct Restorer(Child);

impl Restorer {
    pub(super) fn start(program: &Path, root: &Root, journal_dir: &Path) -> io::Result<Self> {
        let role = ["restore".into(), root.path("/"), std::path::absolute(journal_dir)?];
        let mut child = spawn(program, "sd-restorer", role)?;
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
