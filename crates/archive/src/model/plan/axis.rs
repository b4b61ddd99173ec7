//! The axes of a sweep.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::KnobValue;

/// One axis of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What varies.
    pub vary: Vary,
    /// Its values, in the order of the axis.
    pub values: Vec<KnobValue>,
}

/// What an axis varies. In text, `connections`, `users` and `rate` are properties of the load; any other name is a knob.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Vary {
    /// Connections of the client.
    Connections,
    /// Users, of whom each has a connection.
    Users,
    /// Offered operations per second.
    Rate,
    /// A knob of the workload.
    Knob(String),
}

impl From<String> for Vary {
    fn from(name: String) -> Self {
        match name.as_str() {
            "connections" => Self::Connections,
            "users" => Self::Users,
            "rate" => Self::Rate,
            _ => Self::Knob(name),
        }
    }
}

impl From<Vary> for String {
    fn from(vary: Vary) -> Self {
        vary.to_string()
    }
}

impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "connections",
            Self::Users => "users",
            Self::Rate => "rate",
            Self::Knob(name) => name,
        })
    }
}
