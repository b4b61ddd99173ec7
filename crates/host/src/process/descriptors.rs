//! The limit of open files that this process was started with. The load engine raises its own limit for connections; the
//! programs that this process starts get the original one: some daemons close every possible descriptor, which takes
//! minutes with a high limit.

use std::process::Child;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

static ORIGINAL: OnceLock<Option<u64>> = OnceLock::new();

/// The soft limit of this process when this was first called: at its start, by [`crate::supervisor_main`].
pub(crate) fn original() -> Option<u64> {
    *ORIGINAL.get_or_init(|| getrlimit(Resource::Nofile).current)
}

/// Sets the soft limit of this process, at most to the hard limit, which stays: a server may raise its limit itself.
pub(crate) fn limit(wanted: u64) -> rustix::io::Result<()> {
    setrlimit(Resource::Nofile, lowered(wanted))
}

/// Gives a child process the original limit.
pub(crate) fn limit_child(child: &Child) {
    if let Some(soft) = original() {
        // A child that has ended needs no limit.
        let _ = prlimit(Some(Pid::from_child(child)), Resource::Nofile, lowered(soft));
    }
}

fn lowered(wanted: u64) -> Rlimit {
    let limit = getrlimit(Resource::Nofile);
    Rlimit { current: Some(limit.maximum.map_or(wanted, |most| wanted.min(most))), ..limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_gets_the_original_limit() -> std::io::Result<()> {
        let Some(soft) = original() else { return Ok(()) };
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let pid = Some(Pid::from_child(&child));
        prlimit(pid, Resource::Nofile, Rlimit { current: Some(soft / 2), ..getrlimit(Resource::Nofile) })?;
        limit_child(&child);
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id()));
        child.kill()?;
        child.wait()?;
        let line = limits?.lines().find(|line| line.starts_with("Max open files")).map(str::to_owned);
        assert!(line.is_some_and(|line| line.split_whitespace().nth(3) == Some(&soft.to_string())));
        Ok(())
    }
}
