//! Why something that a server needs is not available.

use std::io;

use super::name::PackageName;
use crate::process::LogTail;

/// Why a program, a library or a file is not available.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is missing, and this process cannot install it.
    #[error("{name} is not installed: run {command}")]
    Missing {
        /// What is missing.
        name: String,
        /// The command that installs it.
        command: String,
    },
    /// It is missing, and whoever needs it says what to do.
    #[error("{name} is not installed: {remedy}")]
    Remedy {
        /// What is missing.
        name: String,
        /// What to do.
        remedy: String,
    },
    /// It is missing, and its package on this distribution is not known.
    #[error("{name} is not installed, and its package on {distribution} is not known: install it {place}")]
    Unknown {
        /// What is missing.
        name: String,
        /// The distribution's name.
        distribution: String,
        /// Where it is looked for.
        place: &'static str,
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
    /// Its installation would remove another package, as one mail server replaces another.
    #[error(
        "{name} is not installed, because {package} would remove another package of this machine: unpack it with \
         dpkg-deb --extract, and put {name} {place}"
    )]
    WouldRemove {
        /// What is missing.
        name: String,
        /// The package.
        package: PackageName,
        /// Where it is looked for.
        place: &'static str,
    },
    /// The package is installed, but does not contain it.
    #[error("{package} is installed, but {name} is not {place}: correct the package name")]
    NotInPackage {
        /// What is missing.
        name: String,
        /// The package.
        package: PackageName,
        /// Where it is looked for.
        place: &'static str,
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
