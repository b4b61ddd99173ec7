//! Programs, the packages that contain them, and their installation.
//!
//! A [`Program`] names its package on each distribution. A missing program is installed if the user is root and
//! the distribution uses apt; the services of the package do not start. In all other cases the error contains the
//! command to run. Names are validated and passed as arguments, not through a shell.

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

/// A program, and the package that contains it on each distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The name of the program: `nginx`.
    pub name: String,
    /// The package by the distribution's `ID` in os-release(5). The package of a related distribution (`ID_LIKE`,
    /// such as `debian` for Ubuntu) also applies.
    pub packages: BTreeMap<String, PackageName>,
}

/// Why a program is not available.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is missing, and this process cannot install it.
    #[error("{program} is not installed: run {command}")]
    Missing {
        /// The program.
        program: String,
        /// The command that installs it.
        command: String,
    },
    /// The program is missing, and its package on this distribution is not known.
    #[error(
        "{program} is not installed, and its package on {distribution} is not known: install it in a directory of PATH"
    )]
    Unknown {
        /// The program.
        program: String,
        /// The distribution's name.
        distribution: String,
    },
    /// The installation failed.
    #[error("cannot install {package} with {command}{log}")]
    Failed {
        /// The package.
        package: PackageName,
        /// The command that failed.
        command: String,
        /// The end of its output.
        log: LogTail,
    },
    /// The package is installed, but does not contain the program.
    #[error("{package} is installed, but there is no program {program} in PATH: correct the package name")]
    NotInPackage {
        /// The program.
        program: String,
        /// The package.
        package: PackageName,
    },
    /// A step of the installation failed.
    #[error("cannot install {package}: {what}: {source}")]
    Io {
        /// The package.
        package: PackageName,
        /// What failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// Finds a program in the `PATH` of servers, which includes the `sbin` directories.
pub(crate) fn find_program(root: &Root, name: &str) -> Option<PathBuf> {
    let path = crate::process::base_environment().remove("PATH")?;
    path.split(':').map(|dir| root.path(dir).join(name)).find(|file| file.is_file())
}

/// Finds a program, and installs it if it is missing. The output of the installation goes to `log`.
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
    let not_in_package = || Error::NotInPackage { program: program.name.clone(), package: package.clone() };
    find_program(root, &program.name).ok_or_else(not_in_package)
}
