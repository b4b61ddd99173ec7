//! Why the runner in Java cannot be started.

use std::io;
use std::path::PathBuf;

use super::version::JeVersion;

/// Why the runner in Java cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum JeError {
    /// A program is not installed.
    #[error("there is no program {program}: apt install {package}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// Debian's package with the program.
        package: &'static str,
    },
    /// A program cannot be run.
    #[error("cannot run {program}: {source}: apt install {package}")]
    Program {
        /// The program.
        program: &'static str,
        /// Debian's package with the program.
        package: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The version does not have the setting for latches.
    #[error(
        "Berkeley DB Java Edition {} ignores je.env.sharedLatches and always shares latches: use version={}",
        JeVersion::Last.name(), JeVersion::WithLatchSetting.name()
    )]
    LatchesAlwaysShared,
    /// The cache directory cannot be written.
    #[error("cannot write to {}: {source}", path.display())]
    Cache {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Maven failed.
    #[error("mvn cannot build the runner in {} (it needs Maven Central): {message}", directory.display())]
    Build {
        /// The directory with the sources.
        directory: PathBuf,
        /// Maven's first error message.
        message: String,
    },
}

impl JeError {
    pub(super) fn of_program(program: &'static str, package: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NoProgram { program, package },
            _ => Self::Program { program, package, source },
        }
    }
}
