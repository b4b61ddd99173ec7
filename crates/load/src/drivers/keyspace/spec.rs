//! A mix of commands over a key space, as plain data.

use serde::{Deserialize, Serialize};

use crate::inputs::keys::Popularity;
use crate::inputs::sizes::SizeDistribution;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyCommand {
    /// Reads a key. A miss is counted and is no error.
    Get,
    /// Writes a key.
    Set,
    /// Deletes a key. A miss is counted and is no error.
    Delete,
}

/// A mix of commands over a key space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyspaceSpec {
    /// Commands and their weights.
    pub mix: Vec<(KeyCommand, f64)>,
    /// Number of keys.
    pub keys: u64,
    /// The prefix of all keys.
    #[serde(default = "default_prefix")]
    pub key_prefix: String,
    /// How often each key is used.
    #[serde(default)]
    pub popularity: Popularity,
    /// Sizes of values; the size of each key's value is fixed.
    pub value_size: SizeDistribution,
    /// Compare every hit with the value that a populate run with the same seed has stored.
    #[serde(default)]
    pub verify: bool,
    /// Keys and values follow from it.
    #[serde(default)]
    pub seed: u64,
}

/// The default prefix.
pub fn default_prefix() -> String {
    "key-".to_owned()
}

impl KeyspaceSpec {
    /// The mix that stores every key once in [`Self::keys`] operations.
    #[must_use]
    pub fn populate(&self) -> Self {
        Self { mix: vec![(KeyCommand::Set, 1.0)], popularity: Popularity::Sequential, ..self.clone() }
    }

    /// Names of the operations in the order of their ids.
    pub(in crate::drivers) fn operations(&self) -> Vec<String> {
        self.mix.iter().map(|(command, _)| format!("{command:?}").to_lowercase()).collect()
    }
}
