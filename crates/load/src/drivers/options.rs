//! The command-line options of a protocol as plain data. Each protocol and each kind of mix lists its own. The program
//! that has the command line adds them to it and passes back what the user wrote; this file knows no argument parser.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use super::mix_file::MixFileError;
use crate::inputs::keys::Popularity;
use crate::inputs::units::parse_count;

/// Why a text is no value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionValueError(String);

impl OptionValueError {
    /// With the reason that the user reads.
    pub fn new(reason: impl Display) -> Self {
        Self(reason.to_string())
    }
}

/// Parses nothing, only checks whether a text is a value of an option.
pub type OptionCheck = fn(&str) -> Result<(), OptionValueError>;

/// One option of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct DriverOption {
    /// Its name without the dashes.
    pub name: &'static str,
    /// Its one-letter form, if it has one.
    pub short: Option<char>,
    /// The placeholder of its value in the help text; none for a switch.
    pub value: Option<&'static str>,
    /// Its values, where there is a fixed list of them.
    pub choices: &'static [&'static str],
    /// Checks a value.
    pub check: OptionCheck,
    /// Whether it may be repeated.
    pub is_repeated: bool,
    /// Whether it describes an operation, so that it conflicts with a mix from a file.
    pub is_operation: bool,
    /// The section of the help text.
    pub heading: &'static str,
    /// The line of the help text.
    pub help: &'static str,
}

impl DriverOption {
    /// An option with a value.
    pub const fn with_value(
        name: &'static str,
        value: &'static str,
        check: OptionCheck,
        heading: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            short: None,
            value: Some(value),
            choices: &[],
            check,
            is_repeated: false,
            is_operation: false,
            heading,
            help,
        }
    }

    /// An option without a value.
    pub const fn switch(name: &'static str, heading: &'static str, help: &'static str) -> Self {
        Self { value: None, ..Self::with_value(name, "", any_text, heading, help) }
    }

    /// The same, with a fixed list of values.
    #[must_use]
    pub const fn choices(self, choices: &'static [&'static str]) -> Self {
        Self { choices, ..self }
    }

    /// The same, in conflict with a mix from a file.
    #[must_use]
    pub const fn of_operation(self) -> Self {
        Self { is_operation: true, ..self }
    }

    /// The same, with a one-letter form.
    #[must_use]
    pub const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    /// The same, which may be repeated.
    #[must_use]
    pub const fn repeated(self) -> Self {
        Self { is_repeated: true, ..self }
    }
}

/// Accepts every text.
pub fn any_text(_text: &str) -> Result<(), OptionValueError> {
    Ok(())
}

/// Accepts what a type can be parsed from.
pub fn parses<T: FromStr<Err: Display>>(text: &str) -> Result<(), OptionValueError> {
    text.parse::<T>().map(drop).map_err(OptionValueError::new)
}

/// Accepts numbers such as `10k`.
pub fn check_count(text: &str) -> Result<(), OptionValueError> {
    parse_count(text).map(drop).map_err(OptionValueError::new)
}

/// Which keys or rows are used how often.
pub const KEY_SKEW: DriverOption = DriverOption::with_value(
    "key-skew",
    "SKEW",
    parses::<Popularity>,
    KEYS_AND_ROWS,
    "Choose how often each key or row is used: uniform, zipf:S such as zipf:0.99, special (as sysbench has it) or \
     sequential [default: uniform]",
);

/// Whether the data is loaded first.
pub const POPULATE: DriverOption = DriverOption::switch(
    "populate",
    KEYS_AND_ROWS,
    "Store every key before the load, and check every hit against it; for a database, create the tables",
);

const KEYS_AND_ROWS: &str = "Key-value and SQL";

/// Why options do not describe a load.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// The value of an option.
    #[error("--{option} {value:?}: {reason}")]
    Value {
        /// The option's name.
        option: &'static str,
        /// As written.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file of `--ops`.
    #[error(transparent)]
    MixFile(#[from] MixFileError),
    /// The mix is given twice.
    #[error("weights come from --ops or from {0}: give one of the two")]
    TwoMixes(&'static str),
}

/// What the user wrote about the operations.
#[derive(Clone, Debug, Default)]
pub struct GivenOptions {
    /// The values of the options by name; a switch that is set has no value.
    pub values: BTreeMap<&'static str, Vec<String>>,
    /// Path and query of the target's URL.
    pub path_and_query: String,
    /// The file with the mix.
    pub mix_file: Option<PathBuf>,
    /// Operations before a connection is closed.
    pub requests_per_connection: Option<u32>,
}

impl GivenOptions {
    /// Whether an option is given.
    pub fn has(&self, option: &DriverOption) -> bool {
        self.values.contains_key(option.name)
    }

    /// All values of an option.
    pub fn all(&self, option: &DriverOption) -> &[String] {
        self.values.get(option.name).map_or(&[], Vec::as_slice)
    }

    /// The value of an option as it is written.
    pub fn text(&self, option: &DriverOption) -> Option<&str> {
        self.all(option).first().map(String::as_str)
    }

    /// The value of an option.
    pub fn value<T: FromStr<Err: Display>>(&self, option: &DriverOption) -> Result<Option<T>, OptionError> {
        self.value_by(option, T::from_str)
    }

    /// The value of an option, parsed by a function.
    pub fn value_by<T, E: Display>(
        &self,
        option: &DriverOption,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, OptionError> {
        let Some(text) = self.text(option) else { return Ok(None) };
        let wrong =
            |e: E| OptionError::Value { option: option.name, value: text.to_owned(), reason: e.to_string() };
        parse(text).map(Some).map_err(wrong)
    }
}
