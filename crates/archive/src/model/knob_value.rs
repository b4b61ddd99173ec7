//! The value of a knob or of a point on an axis: a number, a word or a switch, as TOML and JSON write it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of a knob, or of one axis at a point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KnobValue {
    /// A switch.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// A word, such as `event`.
    Text(String),
}

impl KnobValue {
    /// The value as a number, where it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Flag(_) | Self::Text(_) => None,
        }
    }

    /// The value as a command line has it: a switch is `on` or `off`.
    pub fn written(&self) -> String {
        match self {
            Self::Flag(on) => if *on { "on" } else { "off" }.to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<&str> for KnobValue {
    /// Parses a value from a command line: a number or a switch where the text is one, a word otherwise.
    fn from(text: &str) -> Self {
        if let Ok(value) = text.parse::<i64>() {
            Self::Integer(value)
        } else if let Some(value) = text.parse::<f64>().ok().filter(|value| value.is_finite()) {
            Self::Number(value)
        } else if let Ok(value) = text.parse::<bool>() {
            Self::Flag(value)
        } else {
            Self::Text(text.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn typed_values_get_the_type_that_they_look_like() {
        assert_eq!(KnobValue::from("64"), KnobValue::Integer(64));
        assert_eq!(KnobValue::from("0.5"), KnobValue::Number(0.5));
        assert_eq!(KnobValue::from("true"), KnobValue::Flag(true));
        assert_eq!(KnobValue::from("event"), KnobValue::Text("event".into()));
        // JSON has no infinite numbers.
        assert_eq!(KnobValue::from("inf"), KnobValue::Text("inf".into()));
    }

    proptest! {
        #[test]
        fn any_text_survives_json(text in ".*") {
            let value = KnobValue::from(text.as_str());
            let json = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(serde_json::from_str::<KnobValue>(&json).unwrap(), value);
        }
    }
}
