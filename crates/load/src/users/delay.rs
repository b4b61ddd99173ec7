//! Delays between the operations of a user: from start to start (a cycle) or from end to start (a think time), and how long.

use std::fmt;
use std::time::Duration;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};
use serde::{Deserialize, Serialize};

use crate::inputs::units::{UnitError, parse_duration_or_zero};

/// An exponential delay is cut at this many times its mean.
const CUT: f64 = 5.0;

/// How long delays are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayLength {
    /// Always the same, seconds.
    Fixed(f64),
    /// Any in a range, all equally likely; seconds.
    Uniform {
        /// The shortest.
        from: f64,
        /// The longest.
        to: f64,
    },
    /// Exponential above the shortest, with this mean before it is cut at five times the mean; seconds.
    Exponential {
        /// Its mean, with the shortest.
        mean: f64,
    },
}

/// From where a delay counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayKind {
    /// From the due time of an operation to that of the next.
    Cycle,
    /// From the end of an operation to the due time of the next.
    Think,
}

/// The delay after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// From where it counts.
    pub kind: DelayKind,
    /// How long it is.
    pub length: DelayLength,
    /// The shortest, seconds.
    pub min: f64,
}

impl Delay {
    /// None: the next operation is due at once.
    pub const NONE: Self = Self { kind: DelayKind::Think, length: DelayLength::Fixed(0.0), min: 0.0 };

    /// A delay as it is written: `5s`, `uniform:2s..8s`, `exp:5s`.
    pub fn parse(kind: DelayKind, length: &str, min: Option<&str>) -> Result<Self, UnitError> {
        let expected = "a delay such as 5s, uniform:2s..8s or exp:5s";
        let seconds = |text: &str| parse_duration_or_zero(text.trim()).map(|length| length.as_secs_f64());
        let wrong = || UnitError::new(length, expected);
        let min = min.map_or(Ok(0.0), seconds)?;
        let parsed = if let Some(mean) = length.strip_prefix("exp:") {
            DelayLength::Exponential { mean: seconds(mean).map_err(|_| wrong())? }
        } else if let Some(range) = length.strip_prefix("uniform:") {
            let (from, to) = range.split_once("..").ok_or_else(wrong)?;
            DelayLength::Uniform {
                from: seconds(from).map_err(|_| wrong())?,
                to: seconds(to).map_err(|_| wrong())?,
            }
        } else {
            DelayLength::Fixed(seconds(length).map_err(|_| wrong())?)
        };
        let refuse = |what: &str| Err(UnitError::new(length, what));
        match parsed {
            DelayLength::Uniform { from, to } if from >= to => refuse("a range that rises: uniform:2s..8s"),
            DelayLength::Exponential { mean } if mean <= min => {
                refuse("an exponential delay whose mean is above its min")
            }
            DelayLength::Uniform { to: longest, .. } | DelayLength::Fixed(longest) if longest < min => {
                refuse("a delay that its min leaves possible")
            }
            length => Ok(Self { kind, length, min }),
        }
    }

    /// Draws one.
    pub fn draw(&self, rng: &mut impl Rng) -> Duration {
        let seconds = match self.length {
            DelayLength::Fixed(seconds) => seconds,
            DelayLength::Uniform { from, to } => from + (to - from) * rng.random::<f64>(),
            DelayLength::Exponential { mean } => {
                let drawn: f64 = Exp1.sample(rng);
                (self.min + (mean - self.min) * drawn).min(CUT * mean)
            }
        };
        Duration::from_secs_f64(seconds.max(self.min))
    }

    /// The share of delays that are at most this long, in seconds.
    pub fn share_up_to(&self, seconds: f64) -> f64 {
        if seconds < self.min {
            return 0.0;
        }
        match self.length {
            DelayLength::Fixed(fixed) => f64::from(u8::from(seconds >= fixed)),
            DelayLength::Uniform { from, to } => ((seconds - from) / (to - from)).clamp(0.0, 1.0),
            DelayLength::Exponential { mean } if seconds >= CUT * mean => 1.0,
            DelayLength::Exponential { mean } => 1.0 - ((self.min - seconds) / (mean - self.min)).exp(),
        }
    }

    /// The mean of what is drawn, seconds.
    pub fn mean(&self) -> f64 {
        match self.length {
            DelayLength::Fixed(seconds) => seconds,
            DelayLength::Uniform { from, to } if from >= self.min => f64::midpoint(from, to),
            // What is below the shortest is raised to it.
            DelayLength::Uniform { from, to } => {
                let below = (self.min - from) / (to - from);
                below * self.min + (1.0 - below) * f64::midpoint(self.min, to)
            }
            DelayLength::Exponential { mean } => {
                let scale = mean - self.min;
                self.min + scale * (1.0 - (-(CUT * mean - self.min) / scale).exp())
            }
        }
    }

    /// How long a user who was there before still waits at a moment that does not depend on it: the delay that this share, 0 to 1,
    /// of such users exceed the least by; seconds. The residual life of a renewal process (Cox, *Renewal Theory*, 1962, chapter 5).
    pub fn residual(&self, share: f64) -> f64 {
        // The integral of the share that is longer reaches `area` at the time in question, and the mean at the longest delay.
        let area = share.clamp(0.0, 1.0) * self.mean();
        let shortest = match self.length {
            DelayLength::Uniform { from, .. } => from.max(self.min),
            DelayLength::Fixed(seconds) => seconds,
            DelayLength::Exponential { .. } => self.min,
        };
        if area <= shortest {
            return area;
        }
        let beyond = area - shortest;
        match self.length {
            DelayLength::Fixed(seconds) => seconds,
            DelayLength::Uniform { from, to } => {
                let square = (to - shortest).powi(2) - 2.0 * (to - from) * beyond;
                to - square.max(0.0).sqrt()
            }
            DelayLength::Exponential { mean } => {
                let scale = mean - self.min;
                let longer = (1.0 - beyond / scale).max(f64::MIN_POSITIVE);
                (shortest - scale * longer.ln()).min(CUT * mean)
            }
        }
    }

    /// The standard deviation of what is drawn, or a little more; seconds.
    pub fn deviation(&self) -> f64 {
        match self.length {
            DelayLength::Fixed(_) => 0.0,
            DelayLength::Uniform { from, to } => (to - from) / 12_f64.sqrt(),
            DelayLength::Exponential { mean } => mean - self.min,
        }
    }
}

/// As it is written.
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |seconds: f64| humantime::format_duration(Duration::from_secs_f64(seconds)).to_string();
        let kind = match self.kind {
            DelayKind::Cycle => "cycle",
            DelayKind::Think => "think",
        };
        match self.length {
            DelayLength::Fixed(seconds) => write!(f, "{kind} {}", text(seconds))?,
            DelayLength::Uniform { from, to } => write!(f, "{kind} uniform:{}..{}", text(from), text(to))?,
            DelayLength::Exponential { mean } => write!(f, "{kind} exp:{}", text(mean))?,
        }
        if self.min > 0.0 { write!(f, ", min {}", text(self.min)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn cycle(text: &str, min: Option<&str>) -> Delay {
        Delay::parse(DelayKind::Cycle, text, min).expect("a delay")
    }

    /// The largest distance between the shares of 10,000 draws of one delay and those of another, below the cut.
    fn kolmogorov_smirnov(actual: Delay, declared: Delay) -> f64 {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut samples: Vec<f64> = (0..10_000).map(|_| actual.draw(&mut rng).as_secs_f64()).collect();
        samples.sort_by(f64::total_cmp);
        let count = samples.len() as f64;
        let below_the_cut = samples.iter().enumerate().filter(|(_, seconds)| **seconds < 25.0);
        let distances = below_the_cut.map(|(at, seconds)| {
            let share = declared.share_up_to(*seconds);
            ((at + 1) as f64 / count - share).max(share - at as f64 / count)
        });
        distances.fold(0.0, f64::max)
    }

    #[test]
    fn ten_thousand_draws_have_the_declared_distribution() {
        // The 99.9 % point of Kolmogorov's distribution is 1.95 ÷ √n.
        let most = 1.95 / 100.0;
        for delay in [cycle("exp:5s", None), cycle("exp:5s", Some("3s")), cycle("uniform:2s..8s", None)] {
            let distance = kolmogorov_smirnov(delay, delay);
            assert!(distance < most, "{delay}: {distance}");
        }
        let distance = kolmogorov_smirnov(cycle("exp:5s", None), cycle("exp:5500ms", None));
        assert!(distance > most, "the test tells a mean of 5.5 s from one of 5 s: {distance}");
    }

    #[test]
    fn the_mean_is_that_of_the_draws() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        for delay in [
            cycle("5s", None),
            cycle("exp:5s", None),
            cycle("exp:5s", Some("3s")),
            cycle("uniform:2s..8s", None),
            cycle("uniform:2s..8s", Some("4s")),
        ] {
            let sum: f64 = (0..100_000).map(|_| delay.draw(&mut rng).as_secs_f64()).sum();
            let mean = sum / 100_000.0;
            assert!((mean / delay.mean() - 1.0).abs() < 0.01, "{delay}: {mean} of {}", delay.mean());
        }
        assert!((cycle("exp:5s", None).mean() - 4.9663).abs() < 1e-4, "cut at 25 s");
    }

    #[test]
    fn what_is_left_of_a_delay_has_the_distribution_of_residual_life() {
        assert!((cycle("4s", None).residual(0.25) - 1.0).abs() < 1e-9, "any part of a fixed delay");
        assert!((cycle("exp:5s", None).residual(0.5) - 5.0 * 0.5_f64.ln().abs()).abs() < 0.05, "no memory");
        for delay in
            [cycle("exp:5s", Some("3s")), cycle("uniform:2s..8s", None), cycle("uniform:2s..8s", Some("4s"))]
        {
            // By a walk over a long time, at moments that do not depend on it.
            let mut rng = Pcg64Mcg::seed_from_u64(3);
            let (mut at, mut next, mut left) = (0.0, 0.0, Vec::new());
            while left.len() < 20_000 {
                while next <= at {
                    next += delay.draw(&mut rng).as_secs_f64();
                }
                left.push(next - at);
                at += 3.7;
            }
            left.sort_by(f64::total_cmp);
            for share in [0.1, 0.5, 0.9] {
                let seen = left[(share * left.len() as f64) as usize];
                let found = delay.residual(share);
                assert!((found / seen - 1.0).abs() < 0.06, "{delay} at {share}: {found} of {seen}");
            }
        }
        assert!(cycle("0s", None).residual(0.7).abs() < 1e-12);
    }

    #[test]
    fn a_delay_is_read_as_it_is_written() {
        assert_eq!(cycle("exp:5s", Some("1s")).to_string(), "cycle exp:5s, min 1s");
        assert_eq!(cycle("uniform:500ms..2s", None).to_string(), "cycle uniform:500ms..2s");
        for (text, min, why) in [
            ("exp:x", None, "a delay such as"),
            ("uniform:5s..2s", None, "a range that rises"),
            ("exp:1s", Some("2s"), "mean is above its min"),
            ("1s", Some("2s"), "leaves possible"),
        ] {
            let error = Delay::parse(DelayKind::Think, text, min).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
