//! `facts.json`: the host, the client and every variant, as found before the first trial.
//!
//! Facts are flat, name to text, so that any two sides can be compared fact by fact without knowing what one
//! means. Which differences matter is left to the fairness check, whose findings are in the verdict.

use super::KnobValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names with dots, such as `kernel.release` or `thp.enabled`, to their values as the system gives them.
pub type FlatFacts = BTreeMap<String, String>;

/// The whole of `facts.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which they were taken, milliseconds.
    pub taken_unix_ms: u64,
    /// The host: kernel, CPU, mitigations, transparent huge pages, governor, sysctls that matter.
    pub host: FlatFacts,
    /// The client: version, threads, CPUs.
    pub client: FlatFacts,
    /// The variants in the plan's order.
    pub variants: Vec<VariantFacts>,
}

/// One variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantFacts {
    /// Its name in the plan.
    pub name: String,
    /// What the server says of its version.
    pub version: String,
    /// How it was built: flags, compiler; empty where it does not say.
    pub build: String,
    /// The allocator in use, such as `glibc malloc` or `jemalloc 5.3.0`.
    pub allocator: String,
    /// The C library, such as `glibc 2.36`.
    pub libc: String,
    /// Every knob with its value, defaults included.
    pub knobs: BTreeMap<String, KnobValue>,
    /// The effective configuration files, in the run directory.
    pub config: Vec<ConfigFile>,
    /// Everything else: package, path and digest of the binary, limits, durability settings.
    pub facts: FlatFacts,
}

/// A configuration file as the server read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// What the server calls it, such as `nginx.conf`.
    pub name: String,
    /// Where the copy lies, relative to the run directory.
    pub file: String,
}
