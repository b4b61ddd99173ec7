//! The guard process: waits for the supervisor, and kills the server's processes if the supervisor is killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, setsid, wait};

use super::subtree;
use crate::process::role;

pub(crate) fn run() -> io::Result<()> {
    rustix::thread::set_name(c"sd-guard")?;
    // A new session: neither Ctrl-C nor a signal to the caller's process group reaches the guard.
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    std::env::set_current_dir("/")?;
    let supervisor = Command::new("/proc/self/exe")
        .arg0("sd-keeper")
        .args([role::VERB, "keep", &std::process::id().to_string()])
        .stderr(Stdio::null())
        .spawn()?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid.as_raw_pid().cast_unsigned() == supervisor.id() => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // A supervisor that ended normally leaves no process. If it was killed, the server's processes are children of
    // this process now.
    subtree::kill_all();
    Ok(())
}
