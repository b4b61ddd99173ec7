//! Prevents the services of packages from starting during the installation.
//!
//! Debian runs `/usr/sbin/policy-rc.d`, if it exists, before it starts a package's service (invoke-rc.d(8)). This
//! module installs such a script for the duration of an installation. The script forbids the start if an environment
//! variable is set, which only apt-get started by this crate has. It has no effect on other processes, so a script
//! that a killed process left behind is harmless. The next installation removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::root::Root;

/// The environment variable of apt-get and its children when this crate started it.
pub(super) const INSTALL_VARIABLE: &str = "SHOWDOWN_INSTALLS";

const POLICY: &str = "/usr/sbin/policy-rc.d";

/// The administrator's own script is moved here meanwhile.
const ASIDE: &str = "/usr/sbin/policy-rc.d.before-showdown";

/// Exit status 101 means "forbidden by policy"; 0 is the same as no script.
const SCRIPT: &str = "#!/bin/sh
# Written by showdown while it installs packages, so that their services do not start.
# It has no effect on other programs and may be removed at any time.
[ -n \"$SHOWDOWN_INSTALLS\" ] && exit 101
[ -x /usr/sbin/policy-rc.d.before-showdown ] && exec /usr/sbin/policy-rc.d.before-showdown \"$@\"
exit 0
";

/// While this exists, services of packages that this crate installs do not start.
#[derive(Debug)]
pub(super) struct ServiceStartBlock {
    policy: PathBuf,
    aside: PathBuf,
    /// The lock that allows one installation at a time: the first to end would remove the script of the other.
    _lock: File,
}

impl ServiceStartBlock {
    /// Installs the script. Waits until no other showdown installs packages.
    pub(super) fn install(root: &Root) -> io::Result<Self> {
        let lock_path = root.path("/run/showdown/packages.lock");
        fs::create_dir_all(root.path("/run/showdown"))?;
        let lock = File::options().append(true).create(true).open(lock_path)?;
        lock.lock()?;
        let block = Self { policy: root.path(POLICY), aside: root.path(ASIDE), _lock: lock };
        if block.policy.exists() && !block.is_own_script() {
            fs::rename(&block.policy, &block.aside)?;
        }
        let script = block.policy.with_extension("d.showdown");
        fs::write(&script, SCRIPT)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        fs::rename(&script, &block.policy)?;
        Ok(block)
    }

    fn is_own_script(&self) -> bool {
        fs::read_to_string(&self.policy).is_ok_and(|text| text.contains(INSTALL_VARIABLE))
    }
}

impl Drop for ServiceStartBlock {
    fn drop(&mut self) {
        // If this fails, the remaining script is harmless, see above.
        let _ = match self.is_own_script() {
            true if self.aside.exists() => fs::rename(&self.aside, &self.policy),
            true => fs::remove_file(&self.policy),
            false => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;
    use std::process::Command;

    /// The exit status of the script; none if there is no script.
    fn exit_status(root: &Root, marked: bool) -> Option<i32> {
        let policy = root.path(POLICY);
        let mut shell = Command::new("sh");
        shell
            .env_remove(INSTALL_VARIABLE)
            .envs(marked.then_some((INSTALL_VARIABLE, "1")))
            .arg(&policy)
            .args(["nginx", "start"]);
        if policy.exists() { shell.status().ok()?.code() } else { None }
    }

    #[test]
    fn only_own_installations_are_blocked_and_only_meanwhile() -> io::Result<()> {
        let (_dir, root) = fake_root(&[("/usr/sbin/x", "")]);
        let block = ServiceStartBlock::install(&root)?;
        assert_eq!((exit_status(&root, true), exit_status(&root, false)), (Some(101), Some(0)));
        drop(block);
        assert_eq!(exit_status(&root, true), None);
        Ok(())
    }

    #[test]
    fn the_administrator_s_script_is_restored() -> io::Result<()> {
        let (_dir, root) = fake_root(&[(POLICY, "their own")]);
        drop(ServiceStartBlock::install(&root)?);
        assert_eq!(root.read(POLICY).as_deref(), Some("their own"));
        Ok(())
    }

    #[test]
    fn the_script_of_a_killed_process_is_removed_by_the_next() -> io::Result<()> {
        let (_dir, root) = fake_root(&[(POLICY, SCRIPT), (ASIDE, "their own")]);
        drop(ServiceStartBlock::install(&root)?);
        assert_eq!(root.read(POLICY).as_deref(), Some("their own"));
        assert!(!root.path(ASIDE).exists());
        Ok(())
    }
}
