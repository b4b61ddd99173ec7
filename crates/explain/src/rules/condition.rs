//! A condition on a figure.

use serde::Deserialize;

/// A condition on a figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Condition {
    pub(super) figure: String,
    #[serde(default)]
    at_least: Option<f64>,
    #[serde(default)]
    at_most: Option<f64>,
    #[serde(default)]
    above: Option<f64>,
    #[serde(default)]
    certain: Option<f64>,
}

/// The strength of evidence that just holds.
const WEAKEST: f64 = 0.5;

impl Condition {
    /// How strong the evidence of this value is, 0.5 to 1; none where the condition is not met.
    pub(super) fn strength(&self, value: f64) -> Option<f64> {
        let holds = self.at_least.is_none_or(|bound| value >= bound)
            && self.at_most.is_none_or(|bound| value <= bound)
            && self.above.is_none_or(|bound| value > bound);
        let bound = self.at_least.or(self.above).or(self.at_most);
        let strength = bound.zip(self.certain).map_or(1.0, |(bound, certain)| {
            WEAKEST + (1.0 - WEAKEST) * ((value - bound) / (certain - bound)).clamp(0.0, 1.0)
        });
        holds.then_some(strength)
    }

    /// Whether it has one bound, and its strength grows away from it.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let bounds = [self.at_least, self.at_most, self.above];
        let grows = match (self.at_least.or(self.above), self.at_most, self.certain) {
            (Some(bound), None, Some(certain)) => certain > bound,
            (None, Some(bound), Some(certain)) => certain < bound,
            _ => true,
        };
        bounds.iter().flatten().count() == 1 && grows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strength_grows_from_the_bound_to_the_certain_value() {
        let condition: Condition =
            toml::from_str("figure = \"x\"\nat_least = 0.8\ncertain = 1.0").expect("a condition");
        assert_eq!(condition.strength(0.79), None);
        assert_eq!(condition.strength(0.8), Some(0.5));
        assert!((condition.strength(0.9).unwrap() - 0.75).abs() < 1e-9);
        assert_eq!(condition.strength(1.2), Some(1.0));
        let falling: Condition =
            toml::from_str("figure = \"x\"\nat_most = 0.8\ncertain = 0.4").expect("a condition");
        assert_eq!((falling.strength(0.9), falling.strength(0.4)), (None, Some(1.0)));
        let above: Condition = toml::from_str("figure = \"x\"\nabove = 0.0").expect("a condition");
        assert_eq!((above.strength(0.0), above.strength(0.1)), (None, Some(1.0)));
        assert!(condition.is_consistent() && falling.is_consistent() && above.is_consistent());
    }
}
