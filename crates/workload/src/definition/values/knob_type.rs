//! The values that a knob accepts, the value that it is set to, and what another value changes.

use std::fmt;

use serde::Deserialize;

use super::text_form::TextRule;

/// A knob's value, read according to the knob's type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedValue {
    /// `on` or `off`.
    Switch(bool),
    /// A whole number.
    Integer(i64),
    /// Any number.
    Number(f64),
    /// A word.
    Text(String),
}

impl fmt::Display for TypedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(value) => f.write_str(if *value { "on" } else { "off" }),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<&TypedValue> for minijinja::Value {
    fn from(value: &TypedValue) -> Self {
        match value {
            TypedValue::Switch(on) => Self::from(*on),
            TypedValue::Integer(number) => Self::from(*number),
            TypedValue::Number(number) => Self::from(*number),
            TypedValue::Text(text) => Self::from(text),
        }
    }
}

/// The values that a knob accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum KnobType {
    /// On or off.
    Switch,
    /// Whole numbers, both ends included.
    Integer {
        /// The smallest.
        from: i64,
        /// The largest.
        to: i64,
    },
    /// Numbers, both ends included.
    Number {
        /// The smallest.
        from: f64,
        /// The largest.
        to: f64,
    },
    /// One of these words.
    Choice(Vec<String>),
    /// A text of this form.
    Text(TextRule),
}

/// A value that a knob does not accept. A message about it begins with the knob's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {accepted}")]
pub struct InvalidValue {
    /// The value as written.
    pub value: String,
    /// What the knob accepts.
    pub accepted: String,
}

/// A range that cannot be used. A message about it begins with the word "range".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// It is not of the form `1..64`.
    #[error("{0:?} is not two numbers: write it as 1..64")]
    Malformed(String),
    /// Its first number is the larger one.
    #[error("{range:?} goes down: write it as {to}..{from}")]
    Descending {
        /// The range as written.
        range: String,
        /// Its first number.
        from: String,
        /// Its second number.
        to: String,
    },
}

impl KnobType {
    /// Reads a range of whole numbers, or of any numbers: `1..64`.
    pub(in crate::definition) fn from_range(text: &str, is_whole: bool) -> Result<Self, RangeError> {
        let malformed = || RangeError::Malformed(text.to_owned());
        let (from, to) = text.split_once("..").ok_or_else(malformed)?;
        let (from, to) = (from.trim(), to.trim());
        let range = if is_whole {
            let (from, to): (i64, i64) = from.parse().ok().zip(to.parse().ok()).ok_or_else(malformed)?;
            (from <= to).then_some(Self::Integer { from, to })
        } else {
            let (from, to): (f64, f64) = from.parse().ok().zip(to.parse().ok()).ok_or_else(malformed)?;
            (from <= to).then_some(Self::Number { from, to })
        };
        range.ok_or_else(|| RangeError::Descending {
            range: text.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    /// Reads a value; `unit` is for the error.
    pub(in crate::definition) fn parse(&self, text: &str, unit: &str) -> Result<TypedValue, InvalidValue> {
        let value = match self {
            Self::Switch => match text {
                "on" | "true" | "yes" => Some(TypedValue::Switch(true)),
                "off" | "false" | "no" => Some(TypedValue::Switch(false)),
                _ => None,
            },
            Self::Integer { from, to } => {
                text.parse().ok().filter(|n| (from..=to).contains(&n)).map(TypedValue::Integer)
            }
            Self::Number { from, to } => {
                text.parse().ok().filter(|n| (from..=to).contains(&n)).map(TypedValue::Number)
            }
            Self::Choice(words) => words.iter().find(|word| *word == text).cloned().map(TypedValue::Text),
            Self::Text(rule) => rule.accepts(text).then(|| TypedValue::Text(text.to_owned())),
        };
        value.ok_or_else(|| InvalidValue { value: text.to_owned(), accepted: self.accepted(unit) })
    }

    /// Checks a value that was read on this machine: a path must exist.
    pub(in crate::definition) fn check_here(&self, value: &TypedValue) -> Result<(), InvalidValue> {
        match (self, value) {
            (Self::Text(rule), TypedValue::Text(text)) => {
                rule.check_here(text).map_err(|accepted| InvalidValue { value: text.clone(), accepted })
            }
            _ => Ok(()),
        }
    }

    /// The accepted values in words: `a whole number from 1 to 64 (MB)`.
    fn accepted(&self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        match self {
            Self::Switch => "on or off".to_owned(),
            Self::Integer { from, to } => format!("a whole number from {from} to {to}{unit}"),
            Self::Number { from, to } => format!("a number from {from} to {to}{unit}"),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Text(rule) => rule.accepted(),
        }
    }
}

/// What another value of a knob changes beside the speed of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnobEffect {
    /// The work: with other data, two values cannot be compared.
    Work,
    /// What a crash loses.
    Durability,
}
