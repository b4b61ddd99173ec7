//! `facts.json`: the host, the client and every variant, recorded before the first trial.
//!
//! Facts are a flat map from name to text, so that two sides can be compared without knowing what a fact means. The
//! fairness check decides which differences matter; its findings are in the verdict.

use super::KnobValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts by name. Names have dots, such as `kernel.release` or `thp.enabled`; values are as the system reports them.
pub type FlatFacts = BTreeMap<String, String>;

/// The content of `facts.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which the facts were recorded, milliseconds.
    pub taken_unix_ms: u64,
    /// The host: kernel, CPU, mitigations, transparent huge pages, governor, sysctls.
    pub host: FlatFacts,
    /// The client: version, threads, CPUs.
    pub client: FlatFacts,
    /// The variants in the order of the plan.
    pub variants: Vec<VariantFacts>,
}

/// One variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantFacts {
    /// Its name in the plan.
    pub name: String,
    /// The version that the server reports.
    pub version: String,
    /// Compiler and flags; empty where the server does not report them.
    pub build: String,
    /// The allocator in use, such as `glibc malloc` or `jemalloc 5.3.0`.
    pub allocator: String,
    /// The C library, such as `glibc 2.36`.
    pub libc: String,
    /// Every knob with its value, defaults included.
    pub knobs: BTreeMap<String, KnobValue>,
    /// Copies of the effective configuration files.
    pub config: Vec<ConfigFile>,
    /// Everything else: package, path and digest of the binary, limits, durability settings.
    pub facts: FlatFacts,
}

/// A configuration file as the server read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// Its name, such as `nginx.conf`.
    pub name: String,
    /// The copy, relative to the run directory.
    pub file: String,
}
