//! The guard: waits for the keeper, and cleans up should the keeper be killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, setsid, wait};

use super::protocol::VERB;
use super::subtree;

pub(super) fn run() -> io::Result<()> {
    rustix::thread::set_name(c"sd-guard")?;
    // Out of our caller's session: neither Ctrl-C nor a signal to its process group is meant for us.
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    std::env::set_current_dir("/")?;
    let keeper = Command::new("/proc/self/exe")
        .arg0("sd-keeper")
        .args([VERB, "keep", &std::process::id().to_string()])
        .stderr(Stdio::null())
        .spawn()?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid.as_raw_pid().cast_unsigned() == keeper.id() => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // A keeper that ended in order has left nothing; one that was killed has left all to us.
    subtree::kill_until_none_is_left();
    Ok(())
}
