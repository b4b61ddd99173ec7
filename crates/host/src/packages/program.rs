//! A program and its packages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::name::PackageName;

/// A program, and the package that contains it on each distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The name of the program: `nginx`.
    pub name: String,
    /// The package by the distribution's `ID` in os-release(5). The package of a related distribution (`ID_LIKE`,
    /// such as `debian` for Ubuntu) also applies.
    pub packages: BTreeMap<String, PackageName>,
}
