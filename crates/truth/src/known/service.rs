//! How long a known server takes: distributions whose values follow from their parameters.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use super::words::{WordError, parse_share, parse_time, share, time};

/// From a request's arrival to its reply, as the server means it to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// Always the same; zero answers at once.
    Fixed(Duration),
    /// Each time between the two is as likely as any other.
    Uniform(Duration, Duration),
    /// Exponential, with this mean.
    Exponential(Duration),
    /// Mostly the first, and the second for this share of the requests (0 to 1).
    Bimodal(Duration, Duration, f64),
}

const EXPECTED: &str =
    "a service time: write fixed:1ms, uniform:1ms..3ms, exponential:2ms or bimodal:1ms,10ms,5%";

impl Service {
    /// One request's time.
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

    /// The mean that follows from the parameters.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(time) | Self::Exponential(time) => time,
            Self::Uniform(least, most) => (least + most) / 2,
            Self::Bimodal(usual, other, share) => usual.mul_f64(1.0 - share) + other.mul_f64(share),
        }
    }
}

impl FromStr for Service {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        parse(text).ok_or_else(|| WordError::new(text, EXPECTED))
    }
}

fn parse(text: &str) -> Option<Service> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "fixed" => Some(Service::Fixed(parse_time(rest)?)),
        "exponential" => Some(Service::Exponential(parse_time(rest)?)),
        "uniform" => {
            let (least, most) = rest.split_once("..")?;
            let (least, most) = (parse_time(least)?, parse_time(most)?);
            (least <= most).then_some(Service::Uniform(least, most))
        }
        "bimodal" => {
            let [usual, other, share] = rest.split(',').collect::<Vec<_>>()[..] else { return None };
            Some(Service::Bimodal(parse_time(usual)?, parse_time(other)?, parse_share(share)?))
        }
        _ => None,
    }
}

impl fmt::Display for Service {
    /// As it is written.
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
    fn what_is_written_is_what_is_drawn() {
        for text in ["fixed:1ms", "uniform:1ms..3ms", "exponential:2ms", "bimodal:1ms,10ms,5%"] {
            let service: Service = text.parse().expect("a service time");
            assert_eq!(service.to_string(), text);
            let rng = &mut Pcg64Mcg::seed_from_u64(1);
            let draws = 200_000;
            let sum: Duration = (0..draws).map(|_| service.draw(rng)).sum();
            let (mean, meant) = ((sum / draws).as_secs_f64(), service.mean().as_secs_f64());
            assert!((mean / meant - 1.0).abs() < 0.02, "{text}: {mean} s instead of {meant} s");
        }
    }

    #[test]
    fn what_is_no_service_time_is_refused() {
        for text in ["", "fixed", "fixed:1", "uniform:3ms..1ms", "bimodal:1ms,2ms", "bimodal:1ms,2ms,150%"] {
            assert!(text.parse::<Service>().is_err(), "{text:?}");
        }
    }
}
