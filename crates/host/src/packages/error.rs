//! Why a program is not available.

use std::io;

use super::name::PackageName;
use crate::process::LogTail;

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
    #[error(
        "{package} is installed, but {program} is neither in PATH nor among the libraries: correct the package name"
    )]
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
