//! Keeps the services of packages from starting while we install them.
//!
//! Debian asks `/usr/sbin/policy-rc.d`, if there is one, before a package's service is started (invoke-rc.d(8)).
//! We put one there that says no to those that come from our own apt-get, which they know by a variable in
//! their environment, and that is as if it were not there for everybody else. So one that was left behind
//! because we were killed does no harm; the next installation takes it away.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::root::Root;

/// The variable that marks our own apt-get and all that it starts.
pub(super) const MARK: &str = "SHOWDOWN_INSTALLS";

const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Where the administrator's own policy waits meanwhile.
const ASIDE: &str = "/usr/sbin/policy-rc.d.before-showdown";

/// 101 is "forbidden by policy", and 0 is what no policy would say.
const SCRIPT: &str = "#!/bin/sh
# Written by showdown while it installs packages, so that their services do not start.
# It concerns nobody else, and may be removed at any time.
[ -n \"$SHOWDOWN_INSTALLS\" ] && exit 101
[ -x /usr/sbin/policy-rc.d.before-showdown ] && exec /usr/sbin/policy-rc.d.before-showdown \"$@\"
exit 0
";

/// Services do not start because of us as long as this lives.
#[derive(Debug)]
pub(super) struct ServicesHeld {
    policy: PathBuf,
    aside: PathBuf,
    /// Locked: one of us at a time installs, or the first to end would take away what the other needs.
    _lock: File,
}

impl ServicesHeld {
    /// Waits until no other showdown installs.
    pub(super) fn hold(root: &Root) -> io::Result<Self> {
        let lock_path = root.path("/run/showdown/packages.lock");
        fs::create_dir_all(root.path("/run/showdown"))?;
        let lock = File::options().append(true).create(true).open(lock_path)?;
        lock.lock()?;
        let held = Self { policy: root.path(POLICY), aside: root.path(ASIDE), _lock: lock };
        if held.policy.exists() && !held.is_ours() {
            fs::rename(&held.policy, &held.aside)?;
        }
        let script = held.policy.with_extension("d.showdown");
        fs::write(&script, SCRIPT)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        fs::rename(&script, &held.policy)?;
        Ok(held)
    }

    fn is_ours(&self) -> bool {
        fs::read(&self.policy).is_ok_and(|text| text == SCRIPT.as_bytes())
    }
}

impl Drop for ServicesHeld {
    fn drop(&mut self) {
        // What stays if this fails is harmless, see above.
        let _ = match self.is_ours() {
            true if self.aside.exists() => fs::rename(&self.aside, &self.policy),
            true => fs::remove_file(&self.policy),
            false => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::stand_in;
    use std::process::Command;

    /// What the policy would answer; none if there is none.
    fn answer(root: &Root, marked: bool) -> Option<i32> {
        let policy = root.path(POLICY);
        let mut shell = Command::new("sh");
        shell.env_remove(MARK).envs(marked.then_some((MARK, "1"))).arg(&policy).args(["nginx", "start"]);
        if policy.exists() { shell.status().ok()?.code() } else { None }
    }

    #[test]
    fn only_what_we_install_is_held_and_only_for_so_long() -> io::Result<()> {
        let (_dir, root) = stand_in(&[("/usr/sbin/x", "")]);
        let held = ServicesHeld::hold(&root)?;
        assert_eq!((answer(&root, true), answer(&root, false)), (Some(101), Some(0)));
        drop(held);
        assert_eq!(answer(&root, true), None);
        Ok(())
    }

    #[test]
    fn an_administrator_s_own_policy_is_put_back() -> io::Result<()> {
        let (_dir, root) = stand_in(&[(POLICY, "their own")]);
        drop(ServicesHeld::hold(&root)?);
        assert_eq!(root.read(POLICY).as_deref(), Some("their own"));
        Ok(())
    }

    #[test]
    fn what_a_killed_one_left_is_taken_away_by_the_next() -> io::Result<()> {
        let (_dir, root) = stand_in(&[(POLICY, SCRIPT), (ASIDE, "their own")]);
        drop(ServicesHeld::hold(&root)?);
        assert_eq!(root.read(POLICY).as_deref(), Some("their own"));
        assert!(!root.path(ASIDE).exists());
        Ok(())
    }
}
