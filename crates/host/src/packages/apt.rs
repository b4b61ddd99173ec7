//! Debian packages: installs with apt-get, reads versions with dpkg-query.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::dependency::Dependency;
use super::error::Error;
use super::name::PackageName;
use super::services::{INSTALL_VARIABLE, ServiceStartBlock};
use crate::process::{LogTail, descriptors, open_log};
use crate::root::Root;

/// What apt-get says where `--no-remove` forbids an installation.
const REMOVE_DISABLED: &str = "remove is disabled";

/// How long apt-get waits for the lock of another installation, in seconds.
const LOCK_TIMEOUT: &str = "DPkg::Lock::Timeout=300";

/// Installs a package as root. If that fails, it updates the package lists and tries again: a fresh container has no
/// lists, and old lists name versions that no longer exist.
pub(super) fn install(
    root: &Root,
    dependency: &Dependency,
    package: &PackageName,
    log: &Path,
) -> Result<(), Error> {
    let failed = |what, source| Error::Io { package: package.clone(), what, source };
    let _block = ServiceStartBlock::install(root)
        .map_err(|e| failed("cannot prevent its service from starting", e))?;
    let run = |arguments: &[&str]| {
        apt_get(arguments, log).map_err(|e| failed("cannot run apt-get", e)).map(|ok| {
            let command = format!("apt-get {}", arguments.join(" "));
            if ok { Ok(()) } else { Err(why_failed(dependency, package, command, LogTail::read(log))) }
        })
    };
    // apt-get must not remove other packages: by default it replaces one mail server with another.
    let install = [
        "install",
        "-y",
        "--no-remove",
        "--no-install-recommends",
        "-o",
        LOCK_TIMEOUT,
        "--",
        package.as_str(),
    ];
    let done = run(&install)?;
    // Newer package lists would not change a refusal to remove.
    if matches!(done, Ok(()) | Err(Error::WouldRemove { .. })) {
        return done;
    }
    run(&["update", "-o", LOCK_TIMEOUT])??;
    run(&install)?
}

/// Why this command failed, by its log.
fn why_failed(dependency: &Dependency, package: &PackageName, command: String, log: LogTail) -> Error {
    let package = package.clone();
    if log.lines().iter().any(|line| line.contains(REMOVE_DISABLED)) {
        let Dependency { name, kind, .. } = dependency;
        return Error::WouldRemove { name: name.clone(), package, place: kind.place() };
    }
    Error::Failed { package, command, log }
}

/// Runs apt-get and returns whether it succeeded. It continues if this process is killed: an incomplete installation
/// is worse than none.
fn apt_get(arguments: &[&str], log: &Path) -> io::Result<bool> {
    let log = open_log(log, None).map_err(io::Error::other)?;
    let mut child = Command::new("apt-get")
        .args(arguments)
        .envs([("DEBIAN_FRONTEND", "noninteractive"), ("LC_ALL", "C.UTF-8"), (INSTALL_VARIABLE, "1")])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    descriptors::limit_child(&child);
    Ok(child.wait()?.success())
}

/// The version of a package with the distribution's revision. None if the package or dpkg is not installed.
pub(crate) fn installed_version(package: &PackageName) -> Option<String> {
    let child = Command::new("dpkg-query")
        .args(["-W", "-f", "${db:Status-Status} ${Version}", "--", package.as_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    descriptors::limit_child(&child);
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.strip_prefix("installed ").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_would_remove_another_one_is_said_to_do_so() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("log");
        let why = |printed: &str| {
            std::fs::write(&path, printed).map(|()| {
                let package: PackageName = "exim4-daemon-light".parse().expect("a package name");
                let exim = Dependency::program("exim4", [].into());
                why_failed(&exim, &package, "apt-get install".to_owned(), LogTail::read(&path)).to_string()
            })
        };
        let refused = why(
            "The following packages will be REMOVED:\n  postfix\nE: Packages need to be removed but remove is disabled.\n",
        )?;
        assert_eq!(
            refused,
            "exim4 is not installed, because exim4-daemon-light would remove another package of this machine: unpack it with \
             dpkg-deb --extract, and put exim4 in a directory of PATH"
        );
        assert!(
            why("E: Unable to locate package exim4-daemon-light\n")?.contains("Unable to locate package")
        );
        Ok(())
    }

    #[test]
    fn dpkg_is_installed_and_a_made_up_package_is_not() -> Result<(), super::super::InvalidName> {
        if Command::new("dpkg-query").arg("--version").output().is_err() {
            return Ok(()); // another family of distributions
        }
        assert!(installed_version(&"dpkg".parse()?).is_some_and(|version| version.starts_with('1')));
        assert_eq!(installed_version(&"no-such-package".parse()?), None);
        Ok(())
    }
}
