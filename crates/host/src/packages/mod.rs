//! Programs, the packages that contain them, and their installation.
//!
//! A [`Program`] names its package on each distribution. A missing program is installed if the user is root and
//! the distribution uses apt; the services of the package do not start. In all other cases the error contains the
//! command to run. Names are validated and passed as arguments, not through a shell.

mod apt;
mod distribution;
mod error;
mod name;
mod program;
mod services;

use std::path::{Path, PathBuf};

pub use error::Error;
pub use name::{InvalidName, PackageName};
pub use program::Program;

use crate::root::Root;
use distribution::Distribution;

pub(crate) use apt::installed_version;

/// Finds a program in the `PATH` of servers, which includes the `sbin` directories.
pub(crate) fn find_program(root: &Root, name: &str) -> Option<PathBuf> {
    let path = crate::process::base_environment().remove("PATH")?;
    path.split(':').map(|dir| root.path(dir).join(name)).find(|file| file.is_file())
}

/// The directories of shared libraries, in which distributions have further ones, such as `x86_64-linux-gnu`.
const LIBRARIES: [&str; 4] = ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib"];

/// Finds a shared library by the name of its file.
fn find_library(root: &Root, name: &str) -> Option<PathBuf> {
    LIBRARIES.iter().find_map(|directory| {
        let directory = root.path(directory);
        let below = std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let below = below.filter(|path| path.extension().is_none()).collect::<Vec<_>>();
        std::iter::once(directory)
            .chain(below)
            .map(|directory| directory.join(name))
            .find(|file| file.is_file())
    })
}

/// Finds a program, and installs it if it is missing. The output of the installation goes to `log`.
pub(crate) fn ensure(root: &Root, program: &Program, log: &Path) -> Result<PathBuf, Error> {
    ensure_by(find_program, root, program, log)
}

/// Finds a shared library, and installs it if it is missing.
pub(crate) fn ensure_library(root: &Root, library: &Program, log: &Path) -> Result<PathBuf, Error> {
    ensure_by(find_library, root, library, log)
}

fn ensure_by(
    find: fn(&Root, &str) -> Option<PathBuf>,
    root: &Root,
    program: &Program,
    log: &Path,
) -> Result<PathBuf, Error> {
    if let Some(found) = find(root, &program.name) {
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
    find(root, &program.name).ok_or_else(not_in_package)
}
