//! A mix of commands as a workload and the command line describe it. Every protocol of a key-value store uses it.

use serde::Deserialize;

use super::spec::{KeyCommand, KeyspaceSpec, default_prefix};
use crate::drivers::mix::{Mix, MixSection};
use crate::drivers::mix_file;
use crate::drivers::options::{
    DriverOption, GivenOptions, KEY_SKEW, OptionError, POPULATE, any_text, check_count, parses,
};
use crate::inputs::keys::Popularity;
use crate::inputs::sizes::SizeDistribution;
use crate::inputs::units::parse_count;

/// Keys and the size of their values by default.
const DEFAULT_KEYS: u64 = 10_000;
const DEFAULT_VALUE_BYTES: u64 = 1_024;

/// `[load.keyspace]` of a workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyspaceSection {
    /// Number of keys.
    pub keys: u64,
    /// The prefix of all keys.
    #[serde(default = "default_prefix")]
    pub key_prefix: String,
    /// How often each key is used.
    #[serde(default)]
    pub popularity: Popularity,
    /// Sizes of values.
    pub value_size: SizeDistribution,
    /// Whether every hit is compared with the stored value.
    #[serde(default = "yes")]
    pub verify: bool,
}

fn yes() -> bool {
    true
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyOperation {
    /// The command.
    pub command: KeyCommand,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

const HEADING: &str = "Key-value";
const GET: DriverOption = DriverOption::with_value(
    "get",
    "WEIGHT",
    parses::<f64>,
    HEADING,
    "Give the operation get this weight [default: 1 if no other weight is given]",
);
const SET: DriverOption =
    DriverOption::with_value("set", "WEIGHT", parses::<f64>, HEADING, "Give the operation set this weight");
const DELETE: DriverOption = DriverOption::with_value(
    "delete",
    "WEIGHT",
    parses::<f64>,
    HEADING,
    "Give the operation delete this weight",
);
const KEYS: DriverOption =
    DriverOption::with_value("keys", "KEYS", check_count, HEADING, "Use this number of keys [default: 10k]");
const KEY_PREFIX: DriverOption = DriverOption::with_value(
    "key-prefix",
    "PREFIX",
    any_text,
    HEADING,
    "Start every key with this prefix [default: key-]",
);
const VALUE_SIZE: DriverOption = DriverOption::with_value(
    "value-size",
    "SIZE",
    parses::<SizeDistribution>,
    HEADING,
    "Store values of these sizes: 1k, a range (4..100), or weighted classes (4..100:60,1k..2k:30) [default: 1k]",
);

impl Mix for KeyspaceSpec {
    type Operation = KeyOperation;
    type Section = KeyspaceSection;
    const SECTION: Option<MixSection> = Some(MixSection {
        name: "keyspace",
        missing: "a store needs [load.keyspace] with keys and value_size",
    });
    const OPTIONS: &'static [DriverOption] =
        &[GET, SET, DELETE, KEYS, KEY_SKEW, KEY_PREFIX, VALUE_SIZE, POPULATE];

    fn of_workload(section: KeyspaceSection, operations: Vec<KeyOperation>) -> Self {
        let KeyspaceSection { keys, key_prefix, popularity, value_size, verify } = section;
        Self { mix: commands(operations), keys, key_prefix, popularity, value_size, verify, seed: 0 }
    }

    fn of_options(given: &GivenOptions) -> Result<Self, OptionError> {
        let mut mix = Vec::new();
        for (command, option) in
            [(KeyCommand::Get, &GET), (KeyCommand::Set, &SET), (KeyCommand::Delete, &DELETE)]
        {
            mix.extend(given.value(option)?.map(|weight| (command, weight)));
        }
        match (&given.mix_file, mix.is_empty()) {
            (Some(_), false) => return Err(OptionError::TwoMixes("--get, --set and --delete")),
            (Some(path), true) => mix = commands(mix_file::read(path, Self::check_operation)?),
            (None, true) => mix.push((KeyCommand::Get, 1.0)),
            (None, false) => {}
        }
        Ok(Self {
            mix,
            keys: given.value_by(&KEYS, parse_count)?.unwrap_or(DEFAULT_KEYS),
            key_prefix: given.text(&KEY_PREFIX).map_or_else(default_prefix, str::to_owned),
            popularity: given.value(&KEY_SKEW)?.unwrap_or_default(),
            value_size: given
                .value(&VALUE_SIZE)?
                .unwrap_or_else(|| SizeDistribution::fixed(DEFAULT_VALUE_BYTES)),
            verify: given.has(&POPULATE),
            seed: 0,
        })
    }

    fn only(&self, at: usize) -> Self {
        Self { mix: vec![(self.mix[at].0, 1.0)], ..self.clone() }
    }
}

fn commands(operations: Vec<KeyOperation>) -> Vec<(KeyCommand, f64)> {
    operations.into_iter().map(|operation| (operation.command, operation.weight)).collect()
}
