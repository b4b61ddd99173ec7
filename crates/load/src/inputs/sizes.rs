//! Sizes of values and bodies.
//!
//! | text | size |
//! |---|---|
//! | `1k` | fixed |
//! | `4..100` | uniform within a range |
//! | `4..100:60,1k..2k:30,5k..20k:10` | weighted classes of either |

use std::{fmt, str::FromStr};

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::units::{self, UnitError};

#[derive(Clone, Copy, Debug, PartialEq)]
struct SizeClass {
    from: u64,
    to: u64,
    /// Sum of the weights of this class and those before it.
    weight_so_far: f64,
}

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SizeDistribution {
    text: String,
    classes: Vec<SizeClass>,
}

impl SizeDistribution {
    /// Always the same size in bytes.
    pub fn fixed(bytes: u64) -> Self {
        Self {
            text: bytes.to_string(),
            classes: vec![SizeClass { from: bytes, to: bytes, weight_so_far: 1.0 }],
        }
    }

    /// Draws a size in bytes.
    pub fn sample(&self, rng: &mut impl Rng) -> u64 {
        let total = self.classes[self.classes.len() - 1].weight_so_far;
        let class = if self.classes.len() == 1 {
            self.classes[0]
        } else {
            let at = rng.random::<f64>() * total;
            let index = self.classes.partition_point(|c| c.weight_so_far <= at);
            self.classes[index.min(self.classes.len() - 1)]
        };
        if class.from == class.to { class.from } else { rng.random_range(class.from..=class.to) }
    }

    /// The smallest possible size.
    pub fn min(&self) -> u64 {
        self.classes.iter().map(|c| c.from).min().unwrap_or(0)
    }

    /// The largest possible size.
    pub fn max(&self) -> u64 {
        self.classes.iter().map(|c| c.to).max().unwrap_or(0)
    }
}

impl FromStr for SizeDistribution {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut classes = Vec::new();
        let mut weight_so_far = 0.0;
        for item in text.split(',') {
            let (sizes, weight) = match item.split_once(':') {
                Some((sizes, weight)) => {
                    let weight = weight.trim().parse::<f64>().ok().filter(|w| *w > 0.0 && w.is_finite());
                    (sizes, weight.ok_or_else(|| UnitError::new(item, "SIZE:WEIGHT with a weight above 0"))?)
                }
                None => (item, 1.0),
            };
            let (from, to) = match sizes.split_once("..") {
                Some((from, to)) => (units::parse_size(from)?, units::parse_size(to)?),
                None => (units::parse_size(sizes)?, units::parse_size(sizes)?),
            };
            if from > to {
                return Err(UnitError::new(item, "a range from the smaller size to the larger"));
            }
            weight_so_far += weight;
            classes.push(SizeClass { from, to, weight_so_far });
        }
        Ok(Self { text: text.to_owned(), classes })
    }
}

impl TryFrom<String> for SizeDistribution {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<SizeDistribution> for String {
    fn from(sizes: SizeDistribution) -> Self {
        sizes.text
    }
}

impl fmt::Display for SizeDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn classes_are_drawn_in_proportion_to_their_weights() {
        let sizes: SizeDistribution = "4..100:60,1k..2k:30,5k..20k:10".parse().expect("sizes");
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let drawn: Vec<u64> = (0..100_000).map(|_| sizes.sample(&mut rng)).collect();
        let share = |low, high| drawn.iter().filter(|s| (low..=high).contains(*s)).count() as f64 / 1e5;
        assert!((share(4, 100) - 0.6).abs() < 0.01);
        assert!((share(1_024, 2_048) - 0.3).abs() < 0.01);
        assert!((share(5_120, 20_480) - 0.1).abs() < 0.01);
        assert_eq!((sizes.min(), sizes.max()), (4, 20_480));
    }

    #[test]
    fn text_that_is_not_a_size_is_refused() {
        for text in ["", "x", "9..1", "1k:0", "1k:-1", "1k:nan", "2g", "1.5"] {
            assert!(text.parse::<SizeDistribution>().is_err(), "{text:?}");
        }
    }
}
