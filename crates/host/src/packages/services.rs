//! Prevents the services of packages from starting during the installation.
//!
//! Debian runs `/usr/sbin/policy-rc.d`, if it exists, before it starts a package's service (invoke-rc.d(8)). This
//! module installs such a script for the duration of an installation. The script forbids the start if an environment
//! variable is set, which only apt-get started by this crate has. It has no effect on other processes, so a script
//! that a killed process left behind is harmless. The next installation removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::root::Root;

/// The environment variable of apt-get and its children when this crate started it.
pub(super) const INSTALL_VARIABLE: &str = "SHOWDOWN_INSTALLS";

const POLICY: &str = "/usr/sbin/policy-rc.d";

/// The administrator's own script is moved here meanwhile.
const ASIDE: &str = "/usr/sbin/policy-rc.d.before-showdown";

/// How the comment of every own script goes on after "Written by".
const OWN_COMMENTS: [&str; 2] = ["showdown while it installs packages", "scripts/install-packages"];

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
        block.set_aside()?;
        let script = block.policy.with_extension("d.showdown");
        fs::write(&script, SCRIPT)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        fs::rename(&script, &block.policy)?;
        Ok(block)
    }

    /// Keeps the administrator's script aside, too, so that it can be replaced. An older one that a killed process
    /// left there is never replaced.
    fn set_aside(&self) -> io::Result<()> {
        if !is_there(&self.policy) || self.is_own_script() {
            return Ok(());
        }
        if is_there(&self.aside) {
            if is_same_file(&self.policy, &self.aside) {
                return Ok(()); // A process was killed between the two steps.
            }
            let (policy, aside) = (self.policy.display(), self.aside.display());
            let reason = format!("both {policy} and {aside} exist: keep one of them, as {policy}");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
        }
        // A second name: there is no moment without the script. A symbolic link is not followed.
        fs::hard_link(&self.policy, &self.aside)
    }

    /// Whether the script is this module's, and not the administrator's that mentions it.
    fn is_own_script(&self) -> bool {
        let is_link = fs::symlink_metadata(&self.policy).is_ok_and(|metadata| metadata.is_symlink());
        !is_link && fs::read(&self.policy).is_ok_and(|text| is_own(&text))
    }
}

impl Drop for ServiceStartBlock {
    fn drop(&mut self) {
        // If this fails, the remaining script is harmless, see above.
        let _ = match self.is_own_script() {
            true if is_there(&self.aside) => fs::rename(&self.aside, &self.policy),
            true => fs::remove_file(&self.policy),
            false => Ok(()),
        };
    }
}

/// Whether a text is a script of this module, of this version or another, or of `scripts/install-packages`.
fn is_own(text: &[u8]) -> bool {
    OWN_COMMENTS
        .iter()
        .any(|comment| text.starts_with(format!("#!/bin/sh\n# Written by {comment}").as_bytes()))
}

fn is_same_file(one: &Path, two: &Path) -> bool {
    let id = |path| fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
    id(one).is_ok_and(|one| id(two).is_ok_and(|two| one == two))
}

/// Whether there is a file or a link, also one to nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
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
    fn the_administrator_s_script_is_never_replaced() -> io::Result<()> {
        // It mentions this module, and an older one is still aside.
        let own = "#!/bin/sh\n[ -n \"$SHOWDOWN_INSTALLS\" ] || exit 101\n";
        let (_dir, root) = fake_root(&[(POLICY, own), (ASIDE, "an older one")]);
        let error = ServiceStartBlock::install(&root).expect_err("two scripts").to_string();
        assert!(error.contains("keep one of them"), "{error}");
        assert_eq!(root.read(POLICY).as_deref(), Some(own.trim()));
        assert_eq!(root.read(ASIDE).as_deref(), Some("an older one"));

        fs::remove_file(root.path(ASIDE))?;
        drop(ServiceStartBlock::install(&root)?);
        assert_eq!(root.read(POLICY).as_deref(), Some(own.trim()));

        // A process was killed after the first step.
        fs::hard_link(root.path(POLICY), root.path(ASIDE))?;
        drop(ServiceStartBlock::install(&root)?);
        assert_eq!(root.read(POLICY).as_deref(), Some(own.trim()));
        assert!(!root.path(ASIDE).exists());

        // A link is kept as a link, also one to nowhere.
        fs::remove_file(root.path(POLICY))?;
        std::os::unix::fs::symlink("/etc/no-such-policy", root.path(POLICY))?;
        drop(ServiceStartBlock::install(&root)?);
        assert_eq!(fs::read_link(root.path(POLICY))?.to_str(), Some("/etc/no-such-policy"));
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
