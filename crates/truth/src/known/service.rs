//! Service times of a known server: distributions with known parameters.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use super::option_values::{OptionValueError, parse_share, parse_time, share, time};

/// The intended time from a request's arrival to its reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// Constant; zero answers at once.
    Fixed(Duration),
    /// Uniform between the two.
    Uniform(Duration, Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// The second for this share of the requests (0 to 1), the first for all others.
    Bimodal(Duration, Duration, f64),
}

const EXPECTED: &str =
    "a service time: give fixed:1ms, uniform:1ms..3ms, exponential:2ms or bimodal:1ms,10ms,5%";

impl ServiceTime {
    /// Draws the time of one request.
    pub fn draw(&self, rng: &mut Pcg64Mcg) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Uniform(least, most) => least + most.saturating_sub(least).mul_f64(rng.random()),
            Self::Exponential(mean) => {
                let unit: f64 = Exp1.sample(rng);
                mean.mul_f64(unit)
            }
            Self::Bimodal(usual, other, share) => {
                if rng.random::<f64>() < share {
                    other
                } else {
                    usual
                }
            }
        }
    }

    /// The mean of the distribution.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(time) | Self::Exponential(time) => time,
            Self::Uniform(least, most) => (least + most) / 2,
            Self::Bimodal(usual, other, share) => usual.mul_f64(1.0 - share) + other.mul_f64(share),
        }
    }
}

impl FromStr for ServiceTime {
    type Err = OptionValueError;

    fn from_str(text: &str) -> Result<Self, OptionValueError> {
        parse(text).ok_or_else(|| OptionValueError::new(text, EXPECTED))
    }
}

fn parse(text: &str) -> Option<ServiceTime> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "fixed" => Some(ServiceTime::Fixed(parse_time(rest)?)),
        "exponential" => Some(ServiceTime::Exponential(parse_time(rest)?)),
        "uniform" => {
            let (least, most) = rest.split_once("..")?;
            let (least, most) = (parse_time(least)?, parse_time(most)?);
            (least <= most).then_some(ServiceTime::Uniform(least, most))
        }
        "bimodal" => {
            let [usual, other, share] = rest.split(',').collect::<Vec<_>>()[..] else { return None };
            Some(ServiceTime::Bimodal(parse_time(usual)?, parse_time(other)?, parse_share(share)?))
        }
        _ => None,
    }
}

impl fmt::Display for ServiceTime {
    /// In the syntax of the option.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(always) => write!(f, "fixed:{}", time(always)),
            Self::Uniform(least, most) => write!(f, "uniform:{}..{}", time(least), time(most)),
            Self::Exponential(mean) => write!(f, "exponential:{}", time(mean)),
            Self::Bimodal(usual, other, often) => {
                write!(f, "bimodal:{},{},{}", time(usual), time(other), share(often))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn draws_have_the_mean_of_the_distribution() {
        for text in ["fixed:1ms", "uniform:1ms..3ms", "exponential:2ms", "bimodal:1ms,10ms,5%"] {
            let service: ServiceTime = text.parse().expect("a service time");
            assert_eq!(service.to_string(), text);
            let rng = &mut Pcg64Mcg::seed_from_u64(1);
            let draws = 200_000;
            let sum: Duration = (0..draws).map(|_| service.draw(rng)).sum();
            let (mean, expected) = ((sum / draws).as_secs_f64(), service.mean().as_secs_f64());
            assert!((mean / expected - 1.0).abs() < 0.02, "{text}: {mean} s instead of {expected} s");
        }
    }

    #[test]
    fn a_malformed_service_time_is_refused() {
        for text in
            ["", "fixed", "fixed:1parsec", "uniform:3ms..1ms", "bimodal:1ms,2ms", "bimodal:1ms,2ms,150%"]
        {
            assert!(text.parse::<ServiceTime>().is_err(), "{text:?}");
        }
    }
}
