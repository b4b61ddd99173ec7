//! Which of N keys an operation uses: uniform, special, Zipf or sequential.

use std::{fmt, str::FromStr};

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Zipf};
use serde::{Deserialize, Serialize};

use super::units::UnitError;

/// The popularity of the keys: `uniform`, `special`, `zipf:0.99`, `sequential`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Popularity {
    /// Every key with the same probability.
    #[default]
    Uniform,
    /// The key of rank k with a probability in proportion to k^-s; YCSB and most cache studies use s = 0.99.
    Zipf(f64),
    /// sysbench's `special`: three quarters of the draws are uniform over the hundredth of the keys in the middle. The
    /// others are the mean of twelve uniform draws, which is near the middle too (`sb_rand_special`, sysbench 1.0).
    Special,
    /// One after the other, in a cycle; each worker begins at another part.
    Sequential,
}

impl FromStr for Popularity {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let zipf = |s: &str| s.parse::<f64>().ok().filter(|s| *s > 0.0 && *s <= 10.0);
        match (text, text.strip_prefix("zipf:").and_then(zipf)) {
            ("uniform", _) => Ok(Self::Uniform),
            ("sequential", _) => Ok(Self::Sequential),
            ("special", _) => Ok(Self::Special),
            (_, Some(s)) => Ok(Self::Zipf(s)),
            _ => Err(UnitError::new(
                text,
                "uniform, special, sequential or zipf:S with S above 0, such as zipf:0.99",
            )),
        }
    }
}

impl TryFrom<String> for Popularity {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<Popularity> for String {
    fn from(popularity: Popularity) -> Self {
        popularity.to_string()
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(s) => write!(f, "zipf:{s}"),
            Self::Sequential => f.write_str("sequential"),
            Self::Special => f.write_str("special"),
        }
    }
}

/// Draws key numbers from `0..count`.
#[derive(Clone, Debug)]
pub struct KeySampler {
    count: u64,
    draw: KeyDraw,
}

#[derive(Clone, Debug)]
enum KeyDraw {
    Uniform,
    Zipf(Zipf<f64>),
    Special,
    Sequential { next: u64 },
}

impl KeySampler {
    /// A sampler over `count` keys. A sequential one begins at `start`, so that workers begin at different keys.
    ///
    /// # Panics
    /// If `count` is 0; [`super::units::parse_count`] refuses that.
    pub fn new(popularity: Popularity, count: u64, start: u64) -> Self {
        assert!(count > 0, "at least one key");
        let draw = match popularity {
            Popularity::Uniform => KeyDraw::Uniform,
            Popularity::Special => KeyDraw::Special,
            Popularity::Sequential => KeyDraw::Sequential { next: start % count },
            Popularity::Zipf(s) => KeyDraw::Zipf(
                Zipf::new(count as f64, s).expect("count ≥ 1 and s > 0 were checked by the parser"),
            ),
        };
        Self { count, draw }
    }

    /// The same, where a sequential one begins at `start`.
    #[must_use]
    pub fn from(mut self, start: u64) -> Self {
        if let KeyDraw::Sequential { next } = &mut self.draw {
            *next = start % self.count;
        }
        self
    }

    /// How many keys there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The next key's number.
    #[inline]
    pub fn sample(&mut self, rng: &mut impl Rng) -> u64 {
        match &mut self.draw {
            KeyDraw::Uniform => rng.random_range(0..self.count),
            KeyDraw::Zipf(zipf) => {
                #[expect(clippy::cast_possible_truncation, reason = "a rank from 1 to the count of keys")]
                let rank = zipf.sample(rng) as u64;
                (rank - 1).min(self.count - 1)
            }
            KeyDraw::Special => special(self.count, rng),
            KeyDraw::Sequential { next } => {
                let key = *next;
                *next = if key + 1 == self.count { 0 } else { key + 1 };
                key
            }
        }
    }
}

/// See [`Popularity::Special`]; the constants are sysbench's defaults.
fn special(count: u64, rng: &mut impl Rng) -> u64 {
    const SPECIAL_SHARE: f64 = 0.75;
    const SPECIAL_PART: u64 = 100;
    const DRAWS: u64 = 12;
    if rng.random_bool(SPECIAL_SHARE) {
        let keys = (count / SPECIAL_PART).max(1);
        let first = (count / 2).saturating_sub(keys / 2);
        return first + rng.random_range(0..keys);
    }
    (0..DRAWS).map(|_| rng.random_range(0..count)).sum::<u64>() / DRAWS
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn counts(popularity: Popularity, keys: u64, draws: u64) -> Vec<f64> {
        let mut sampler = KeySampler::new(popularity, keys, 0);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let place = |key: u64| usize::try_from(key).expect("few keys");
        let mut counts = vec![0.0; place(keys)];
        for _ in 0..draws {
            counts[place(sampler.sample(&mut rng))] += 1.0;
        }
        counts
    }

    #[test]
    fn zipf_draws_rank_k_in_proportion() {
        let counts = counts(Popularity::Zipf(1.0), 100, 200_000);
        // p(1)/p(2) = 2, p(1)/p(10) = 10.
        assert!((counts[0] / counts[1] - 2.0).abs() < 0.1);
        assert!((counts[0] / counts[9] - 10.0).abs() < 0.8);
    }

    #[test]
    fn uniform_and_sequential_draw_all_keys_equally_often() {
        assert!(counts(Popularity::Uniform, 10, 100_000).iter().all(|c| (c - 1e4).abs() < 500.0));
        assert!(counts(Popularity::Sequential, 10, 1_000).iter().all(|c| (c - 100.0).abs() < 0.5));
    }

    #[test]
    fn special_draws_are_mostly_in_the_middle() {
        let counts = counts(Popularity::Special, 1_000, 100_000);
        let middle: f64 = counts[495..505].iter().sum();
        assert!((75_000.0..78_000.0).contains(&middle), "{middle}");
        assert!(counts[..100].iter().sum::<f64>() < 10.0);
    }

    #[test]
    fn parses_what_it_prints() {
        for text in ["uniform", "special", "sequential", "zipf:0.99"] {
            assert_eq!(text.parse::<Popularity>().expect("a popularity").to_string(), text);
        }
        assert!("zipf:0".parse::<Popularity>().is_err() && "zipf".parse::<Popularity>().is_err());
    }
}
