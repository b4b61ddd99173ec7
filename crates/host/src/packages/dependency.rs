//! What a server needs of the system, and the packages that contain it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::name::PackageName;

/// A program, a shared library or another file, and the package that contains it on each distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// What it is, and with it where it is looked for.
    pub kind: DependencyKind,
    /// The name of a program (`nginx`) or of a library's file (`libjemalloc.so.2`), or the path of another file or directory.
    pub name: String,
    /// The package by the distribution's `ID` in os-release(5). The package of a related distribution (`ID_LIKE`,
    /// such as `debian` for Ubuntu) also applies.
    pub packages: BTreeMap<String, PackageName>,
    /// What to do where it is missing and no package has it; none for what is said of every program.
    #[serde(default)]
    pub remedy: Option<String>,
}

/// What a dependency is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DependencyKind {
    /// A program in the `PATH` of servers, which includes the `sbin` directories.
    Program,
    /// A shared library in a directory of the system's libraries.
    Library,
    /// A file or a directory.
    Path,
}

impl Dependency {
    /// A program of this name.
    pub fn program(name: &str, packages: BTreeMap<String, PackageName>) -> Self {
        Self { kind: DependencyKind::Program, name: name.to_owned(), packages, remedy: None }
    }

    /// A shared library with this name of its file.
    pub fn library(name: &str, packages: BTreeMap<String, PackageName>) -> Self {
        Self { kind: DependencyKind::Library, name: name.to_owned(), packages, remedy: None }
    }
}

impl DependencyKind {
    /// Where it is looked for, in words: `in a directory of PATH`.
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::Program => "in a directory of PATH",
            Self::Library => "in a directory of the system's libraries",
            Self::Path => "there",
        }
    }
}
