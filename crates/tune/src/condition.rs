//! A condition on a figure that `explain` has of a server.

use archive::model::thousands;
use serde::{Deserialize, Serialize};

/// A condition on a figure. It has one bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The figure's name, such as `server.kernel`.
    pub figure: String,
    /// It holds from this value on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// It holds up to this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

impl Condition {
    /// Whether it holds for this value.
    pub fn holds(&self, value: f64) -> bool {
        self.at_least.is_none_or(|bound| value >= bound) && self.at_most.is_none_or(|bound| value <= bound)
    }

    /// It in words: `server.kernel is at least 0.4`.
    pub fn in_words(&self) -> String {
        match (self.at_least, self.at_most) {
            (Some(bound), _) => format!("{} is at least {}", self.figure, written(bound)),
            (None, Some(bound)) => format!("{} is at most {}", self.figure, written(bound)),
            (None, None) => self.figure.clone(),
        }
    }

    /// Whether it has one bound, which is a number.
    pub(crate) fn is_complete(&self) -> bool {
        let bounds = [self.at_least, self.at_most];
        bounds.iter().flatten().count() == 1 && bounds.iter().flatten().all(|bound| bound.is_finite())
    }
}

/// A value of a figure: with thousands separators where it is large, else with up to three decimals.
pub(crate) fn written(value: f64) -> String {
    if value.abs() >= 1000.0 { thousands(value) } else { ((value * 1000.0).round() / 1000.0).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_one_bound_and_includes_it() {
        let condition: Condition = toml::from_str("figure = \"x\"\nat_least = 0.5").unwrap();
        assert!(condition.is_complete() && condition.holds(0.5) && !condition.holds(0.4));
        assert_eq!(condition.in_words(), "x is at least 0.5");
        let most: Condition = toml::from_str("figure = \"x\"\nat_most = 0.5").unwrap();
        assert!(most.holds(0.5) && !most.holds(0.6));
        let large: Condition = toml::from_str("figure = \"network.bytes\"\nat_least = 1_000_000").unwrap();
        assert_eq!(large.in_words(), "network.bytes is at least 1,000,000");
        assert_eq!([0.0, 0.98749, 8_192.4].map(written), ["0", "0.987", "8,192"]);
        let both: Condition = toml::from_str("figure = \"x\"\nat_most = 0.5\nat_least = 0.1").unwrap();
        assert!(!both.is_complete());
    }
}
