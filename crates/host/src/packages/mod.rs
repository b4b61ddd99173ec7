//! Programs, the packages that provide them, and how they get onto this machine.
//!
//! A [`Program`] names its package on each distribution. When it is missing, root on a distribution with apt
//! gets it installed, without the service that such packages like to start; everybody else gets an error
//! with the command to run. Names are validated and passed as arguments: no shell sees them.

mod apt;
mod distribution;
mod name;
mod services;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use name::{InvalidName, PackageName};

use crate::process::LogTail;
use crate::root::Root;
use distribution::Distribution;

pub(crate) use apt::installed_version;

/// A program, and the package that provides it on each distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program, as one would call it: `nginx`.
    pub name: String,
    /// The package by the distribution's `ID` in os-release(5); that of a distribution that it is like
    /// (`debian` for Ubuntu) will do.
    pub packages: BTreeMap<String, PackageName>,
}

/// Why a program cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is missing, and only root may install it.
    #[error("{program} is not installed: run {command}")]
    Missing {
        /// The program.
        program: String,
        /// The command that installs it.
        command: String,
    },
    /// It is missing, and nobody has said which package it is in on this distribution.
    #[error(
        "{program} is not installed, and its package on {distribution} is not known: install it so that it is in PATH"
    )]
    Unknown {
        /// The program.
        program: String,
        /// The distribution's name.
        distribution: String,
    },
    /// The installation went wrong.
    #[error("cannot install {package} with {command}{log}")]
    Failed {
        /// The package.
        package: PackageName,
        /// The command that failed.
        command: String,
        /// The end of what it printed.
        log: LogTail,
    },
    /// The package was installed and the program is still not there.
    #[error("{package} is installed but there is no program {program} in PATH: name another package")]
    NotInPackage {
        /// The program.
        program: String,
        /// The package.
        package: PackageName,
    },
    /// Something around the installation went wrong.
    #[error("cannot install {package}: {what}: {source}")]
    Io {
        /// The package.
        package: PackageName,
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Where a program is, as a server of ours would find it: in `PATH` and the `sbin` directories.
pub(crate) fn find_program(root: &Root, name: &str) -> Option<PathBuf> {
    let path = crate::process::base_environment().remove("PATH")?;
    path.split(':').map(|dir| root.path(dir).join(name)).find(|file| file.is_file())
}

/// Where a program is, after it was installed if it had to be. What the installation prints goes to `log`.
pub(crate) fn ensure(root: &Root, program: &Program, log: &Path) -> Result<PathBuf, Error> {
    if let Some(found) = find_program(root, &program.name) {
        return Ok(found);
    }
    let distribution = Distribution::read(root);
    let Some((package, manager)) = distribution.package(program).zip(distribution.manager()) else {
        return Err(Error::Unknown { program: program.name.clone(), distribution: distribution.name });
    };
    if !manager.is_apt() || !rustix::process::geteuid().is_root() {
        return Err(Error::Missing { program: program.name.clone(), command: manager.command(package) });
    }
    apt::install(root, package, log)?;
    let missing = || Error::NotInPackage { program: program.name.clone(), package: package.clone() };
    find_program(root, &program.name).ok_or_else(missing)
}
