//! Figures of a scenario that must reach a bound: how many counted steps there are for each operation.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::inputs::units::UnitError;

/// A bound on the ratio of two counts, such as `bought / buy >= 6%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RatioRule {
    text: String,
    /// The counter, or the operation, that is counted.
    pub part: String,
    /// Of which.
    pub of: String,
    /// The least ratio, or the largest.
    pub is_at_least: bool,
    /// The bound.
    pub bound: f64,
}

impl FromStr for RatioRule {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, "a ratio such as bought / buy >= 6% or images / home <= 10.5");
        let (ratio, is_at_least, bound) = match (text.split_once(">="), text.split_once("<=")) {
            (Some((ratio, bound)), None) => (ratio, true, bound.trim()),
            (None, Some((ratio, bound))) => (ratio, false, bound.trim()),
            _ => return Err(wrong()),
        };
        let (part, of) = ratio.split_once('/').ok_or_else(wrong)?;
        let (number, unit) = match bound.strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (bound, 1.0),
        };
        let bound = number.parse::<f64>().ok().filter(|bound| bound.is_finite() && *bound >= 0.0);
        let [part, of] = [part, of].map(|name| name.trim().to_owned());
        if part.is_empty() || of.is_empty() {
            return Err(wrong());
        }
        Ok(Self { text: text.to_owned(), part, of, is_at_least, bound: bound.ok_or_else(wrong)? / unit })
    }
}

impl TryFrom<String> for RatioRule {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<RatioRule> for String {
    fn from(rule: RatioRule) -> Self {
        rule.text
    }
}

impl RatioRule {
    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `part` of `of` is beyond the bound by more than this many standard errors of a share. Of nothing it is not.
    pub fn is_broken(&self, part: u64, of: u64, standard_errors: f64) -> bool {
        if of == 0 {
            return false;
        }
        let ratio = part as f64 / of as f64;
        // For a ratio above 1 the error of a count is taken.
        let variance = if self.bound <= 1.0 { self.bound * (1.0 - self.bound) } else { self.bound };
        let by_chance = standard_errors * (variance / of as f64).sqrt();
        if self.is_at_least { ratio < self.bound - by_chance } else { ratio > self.bound + by_chance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_read_and_has_the_tolerance_of_chance() {
        let rule: RatioRule = "bought / buy >= 6%".parse().expect("a ratio");
        assert_eq!((rule.part.as_str(), rule.of.as_str(), rule.bound), ("bought", "buy", 0.06));
        assert!(rule.is_broken(500, 10_000, 3.5), "5 % of many");
        assert!(!rule.is_broken(5, 100, 3.5), "5 % of few");
        assert!(!rule.is_broken(0, 0, 3.5));
        let most: RatioRule = "images / home<=10.5".parse().expect("a ratio");
        assert!(most.is_broken(12_000, 1_000, 3.5) && !most.is_broken(10_000, 1_000, 3.5));
        for text in ["bought >= 6%", "a / b", "a / b > 1", "/ b >= 1", "a / b >= x", "a / b >= 1 <= 2"] {
            assert!(text.parse::<RatioRule>().is_err(), "{text}");
        }
    }
}
