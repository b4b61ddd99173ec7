//! Debian's way: apt-get to install, dpkg-query to ask.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::services::{MARK, ServicesHeld};
use super::{Error, PackageName};
use crate::process::{LogTail, open_log};
use crate::root::Root;

/// How long to wait for another one that installs packages, in seconds.
const LOCK_TIMEOUT: &str = "DPkg::Lock::Timeout=300";

/// Installs a package as root. The lists of packages are brought up to date only if it cannot be had
/// without: a fresh container has none, and old ones name versions that are gone.
pub(super) fn install(root: &Root, package: &PackageName, log: &Path) -> Result<(), Error> {
    let failed = |what, source| Error::Io { package: package.clone(), what, source };
    let _held =
        ServicesHeld::hold(root).map_err(|e| failed("its service cannot be kept from starting", e))?;
    let run = |arguments: &[&str]| {
        apt_get(arguments, log).map_err(|e| failed("apt-get cannot be run", e)).map(|ok| {
            let command = format!("apt-get {}", arguments.join(" "));
            let log = LogTail::read(log);
            if ok { Ok(()) } else { Err(Error::Failed { package: package.clone(), command, log }) }
        })
    };
    // What is here is not ours to take away: a mail server makes way for another, if apt-get may decide.
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
    if run(&install)?.is_ok() {
        return Ok(());
    }
    run(&["update", "-o", LOCK_TIMEOUT])??;
    run(&install)?
}

/// Whether it went well. It is not killed when we are: half an installation is worse than none.
fn apt_get(arguments: &[&str], log: &Path) -> io::Result<bool> {
    let log = open_log(log).map_err(io::Error::other)?;
    let status = Command::new("apt-get")
        .args(arguments)
        .envs([("DEBIAN_FRONTEND", "noninteractive"), ("LC_ALL", "C.UTF-8"), (MARK, "1")])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()?;
    Ok(status.success())
}

/// The version of a package with the distribution's revision; none if it is not installed, or dpkg is not.
pub(crate) fn installed_version(package: &PackageName) -> Option<String> {
    let output = Command::new("dpkg-query")
        .args(["-W", "-f", "${db:Status-Status} ${Version}", "--", package.as_str()])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.strip_prefix("installed ").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpkg_knows_itself_and_not_what_is_not_installed() -> Result<(), super::super::InvalidName> {
        if Command::new("dpkg-query").arg("--version").output().is_err() {
            return Ok(()); // another family of distributions
        }
        assert!(installed_version(&"dpkg".parse()?).is_some_and(|version| version.starts_with('1')));
        assert_eq!(installed_version(&"no-such-package".parse()?), None);
        Ok(())
    }
}
