//! Programs, libraries and files, the packages that contain them, and their installation.
//!
//! A [`Dependency`] names its package on each distribution. A missing one is installed if the user is root and
//! the distribution uses apt; the services of the package do not start. In all other cases the error contains the
//! command to run. Names are validated and passed as arguments, not through a shell.

mod apt;
mod dependency;
mod distribution;
mod error;
mod name;
mod services;

use std::path::{Path, PathBuf};

pub use dependency::{Dependency, DependencyKind};
pub use error::Error;
pub use name::{InvalidName, PackageName};

use crate::root::Root;
use distribution::Distribution;

pub(crate) use apt::installed_version;

/// Finds a program in the `PATH` of servers, which includes the `sbin` directories.
fn find_program(root: &Root, name: &str) -> Option<PathBuf> {
    let path = crate::process::base_environment().remove("PATH")?;
    path.split(':').map(|dir| root.path(dir).join(name)).find(|file| file.is_file())
}

/// The directories of shared libraries, in which distributions have further ones, such as `x86_64-linux-gnu`.
const LIBRARIES: [&str; 4] = ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib"];

/// Files with further directories of shared libraries, a line each (`ldconfig(8)`).
const MORE_LIBRARIES: [&str; 2] = ["/etc/ld.so.conf", "/etc/ld.so.conf.d"];

/// The directories that the administrator has added.
fn added_directories(root: &Root) -> Vec<String> {
    let files = MORE_LIBRARIES.iter().map(|path| root.path(path)).flat_map(|path| {
        let below = std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
        below.chain([path]).collect::<Vec<_>>()
    });
    let lines = files.filter_map(|file| std::fs::read_to_string(file).ok());
    let lines = lines.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with('/')).collect()
}

/// Finds a shared library by the name of its file.
fn find_library(root: &Root, name: &str) -> Option<PathBuf> {
    let directories = LIBRARIES.iter().map(|directory| (*directory).to_owned());
    directories.chain(added_directories(root)).find_map(|directory| {
        let directory = root.path(&directory);
        let below = std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let below = below.filter(|path| path.extension().is_none()).collect::<Vec<_>>();
        std::iter::once(directory)
            .chain(below)
            .map(|directory| directory.join(name))
            .find(|file| file.is_file())
    })
}

/// Finds it; none where it is missing.
pub(crate) fn find(root: &Root, dependency: &Dependency) -> Option<PathBuf> {
    match dependency.kind {
        DependencyKind::Program => find_program(root, &dependency.name),
        DependencyKind::Library => find_library(root, &dependency.name),
        DependencyKind::Path => Some(root.path(&dependency.name)).filter(|path| path.exists()),
    }
}

/// Whether a program, a library or a file is on this machine.
pub fn is_installed(dependency: &Dependency) -> bool {
    find(&Root::new("/"), dependency).is_some()
}

/// Finds it, and installs it if it is missing. The output of the installation goes to `log`.
pub(crate) fn ensure(root: &Root, dependency: &Dependency, log: &Path) -> Result<PathBuf, Error> {
    if let Some(found) = find(root, dependency) {
        return Ok(found);
    }
    let (name, place) = (dependency.name.clone(), dependency.kind.place());
    let distribution = Distribution::read(root);
    let Some((package, manager)) = distribution.package(dependency).zip(distribution.manager()) else {
        if let Some(remedy) = dependency.remedy.clone() {
            return Err(Error::Remedy { name, remedy });
        }
        return Err(Error::Unknown { name, distribution: distribution.name, place });
    };
    if !manager.is_apt() || !rustix::process::geteuid().is_root() {
        return Err(Error::Missing { name, command: manager.command(package) });
    }
    apt::install(root, dependency, package, log)?;
    find(root, dependency).ok_or_else(|| Error::NotInPackage { name, package: package.clone(), place })
}
