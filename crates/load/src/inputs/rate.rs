//! Offered load over time: constant, ramps and steps, as a piecewise linear rate.
//!
//! | text | rate |
//! |---|---|
//! | `50k` | constant |
//! | `10k..100k/60s` | rises linearly for a minute |
//! | `10k,20k,40k/10s` | three steps of ten seconds each |
//! | `1k..50k/30s,50k/60s` | pieces of both kinds |
//! | `50k/s`, `50k req/s` | the unit may be there |
//!
//! A piece without a length has the length of the next piece that has one. After the last piece its final rate continues.
//!
//! A schedule of arrivals is the image of a unit-rate process under the inverse of the cumulative rate (the time-rescaling
//! of an inhomogeneous Poisson process: Çinlar 1975, chapter 4). So one formula is enough for constant and Poisson
//! arrivals, and errors do not add up from one arrival to the next.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::units::{self, UnitError};

/// Gaps between the operations of an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Independent, with exponential gaps: the requests of many users.
    #[default]
    Poisson,
    /// Even gaps.
    Constant,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Poisson => "Poisson",
            Self::Constant => "constant",
        })
    }
}

/// A rate that changes linearly `from` one value `to` another; both in operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RatePiece {
    from: f64,
    to: f64,
    /// Seconds; infinite for the last piece.
    length: f64,
}

impl RatePiece {
    /// Arrivals in the whole piece.
    fn area(&self) -> f64 {
        if self.length.is_infinite() { f64::INFINITY } else { self.from.midpoint(self.to) * self.length }
    }

    /// Seconds into the piece at which the cumulative count reaches `count`.
    fn invert(&self, count: f64) -> f64 {
        if count <= 0.0 {
            // Where a rate begins at 0, the formula is 0/0.
            return 0.0;
        }
        let slope = if self.length.is_infinite() { 0.0 } else { (self.to - self.from) / self.length };
        // Of the two forms of the root, this one has no cancellation as slope → 0.
        let root = (self.from * self.from + 2.0 * slope * count).max(0.0).sqrt();
        2.0 * count / (self.from + root)
    }
}

/// An offered load: operations a second as a function of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RateProfile {
    text: String,
    pieces: Vec<RatePiece>,
}

impl RateProfile {
    /// The same rate all the time.
    pub fn constant(rate: f64) -> Self {
        Self {
            text: format!("{rate}"),
            pieces: vec![RatePiece { from: rate, to: rate, length: f64::INFINITY }],
        }
    }

    /// The length of all pieces, if the profile has an end.
    pub fn length(&self) -> Option<Duration> {
        let seconds: f64 = self.pieces.iter().map(|p| p.length).filter(|l| l.is_finite()).sum();
        (seconds > 0.0).then(|| Duration::from_secs_f64(seconds))
    }

    /// The highest rate reached.
    pub fn peak(&self) -> f64 {
        self.pieces.iter().map(|p| p.from.max(p.to)).fold(0.0, f64::max)
    }

    /// The longest interval up to `longest` whose multiples are the lengths of all pieces, so that no interval is in two
    /// pieces. `longest` itself where that interval is shorter than a tenth of it.
    pub fn interval(&self, longest: Duration) -> Duration {
        let common = self.steps().iter().map(|(length, ..)| length.as_nanos()).fold(0, gcd);
        if common == 0 {
            return longest;
        }
        let parts = common.div_ceil(longest.as_nanos());
        let interval = Duration::from_nanos(u64::try_from(common / parts).unwrap_or(u64::MAX));
        if interval < longest / 10 { longest } else { interval }
    }

    /// The pieces that have an end: length, first rate, last rate.
    pub fn steps(&self) -> Vec<(Duration, f64, f64)> {
        let finite = self.pieces.iter().filter(|p| p.length.is_finite());
        finite.map(|p| (Duration::from_secs_f64(p.length), p.from, p.to)).collect()
    }

    /// Expected number of arrivals in the first `span` of the profile.
    pub fn expected_arrivals(&self, span: Duration) -> f64 {
        let mut left = span.as_secs_f64();
        let mut count = 0.0;
        for piece in &self.pieces {
            let take = left.min(piece.length);
            let end = if piece.length.is_infinite() {
                piece.from
            } else {
                piece.from + (piece.to - piece.from) * take / piece.length
            };
            count += piece.from.midpoint(end) * take;
            left -= take;
            if left <= 0.0 {
                break;
            }
        }
        count
    }

    /// The text, of a lone rate without its unit: `500` of `500rps` and of `500 req/s`.
    pub fn without_unit(&self) -> &str {
        units::without_unit_of_rate(&self.text)
    }

    /// The share (0 to 1) of one worker in the profile, after `warmup` at its first rate.
    pub(crate) fn clock(&self, warmup: Duration, share: f64) -> RateClock {
        let first = self.pieces[0].from.max(self.pieces[0].to * 0.01);
        let lead = RatePiece { from: first, to: first, length: warmup.as_secs_f64() };
        let pieces = std::iter::once(lead).filter(|p| p.length > 0.0).chain(self.pieces.iter().copied());
        let pieces = pieces.map(|p| RatePiece { from: p.from * share, to: p.to * share, ..p }).collect();
        RateClock { pieces, at: 0, begun_s: 0.0, begun_count: 0.0 }
    }
}

/// Greatest common divisor (Euclid); 0 is a multiple of everything.
fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Converts counts of a unit-rate process to instants, in rising order.
#[derive(Clone, Debug)]
pub(crate) struct RateClock {
    pieces: Vec<RatePiece>,
    at: usize,
    begun_s: f64,
    begun_count: f64,
}

impl RateClock {
    /// Seconds from the start at which the cumulative count is `count`. The counts of successive calls must not decrease.
    pub(crate) fn instant_of(&mut self, count: f64) -> f64 {
        while self.at + 1 < self.pieces.len() && count - self.begun_count >= self.pieces[self.at].area() {
            self.begun_count += self.pieces[self.at].area();
            self.begun_s += self.pieces[self.at].length;
            self.at += 1;
        }
        self.begun_s + self.pieces[self.at].invert(count - self.begun_count)
    }
}

impl FromStr for RateProfile {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a rate (50k), a ramp (10k..100k/60s) or steps (10k,20k,40k/10s)";
        let mut pieces = Vec::new();
        let mut length = f64::INFINITY;
        // From the last to the first: a piece without a length has the length of the next piece that has one.
        for item in text.split(',').rev() {
            let (rates, span) = match item.rsplit_once('/') {
                // Not a length, but the unit of the rate.
                Some((_, "s")) | None => (item, None),
                Some((_, "m" | "min" | "h" | "d")) => {
                    return Err(UnitError::new(text, "a rate a second: write 0.5 for 30 a minute"));
                }
                Some((rates, span)) => (rates, Some(units::parse_duration(span.trim())?)),
            };
            if let Some(span) = span {
                length = span.as_secs_f64();
            }
            let (from, to) = match rates.split_once("..") {
                Some((from, to)) => (units::parse_rate_or_zero(from)?, units::parse_rate_or_zero(to)?),
                None => [units::parse_rate(rates)?; 2].into(),
            };
            let is_lone_rate = !text.contains("..") && !text.contains(',');
            if (length.is_infinite() && !is_lone_rate) || from.max(to) <= 0.0 {
                return Err(UnitError::new(text, expected));
            }
            pieces.push(RatePiece { from, to, length });
        }
        pieces.reverse();
        let last = pieces[pieces.len() - 1];
        if last.length.is_finite() {
            // After a ramp down to 0 the rate stays above 0, or the schedule would have no next arrival.
            let rest = last.to.max(1e-3);
            pieces.push(RatePiece { from: rest, to: rest, length: f64::INFINITY });
        }
        Ok(Self { text: text.to_owned(), pieces })
    }
}

impl TryFrom<String> for RateProfile {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<RateProfile> for String {
    fn from(profile: RateProfile) -> Self {
        profile.text
    }
}

impl fmt::Display for RateProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals_until(text: &str, end_s: f64) -> usize {
        let mut clock = text.parse::<RateProfile>().expect("a profile").clock(Duration::ZERO, 1.0);
        (1..1_000_000).take_while(|&n| clock.instant_of(f64::from(n)) <= end_s).count()
    }

    #[test]
    fn a_constant_rate_arrives_evenly() {
        let mut clock = RateProfile::constant(4.0).clock(Duration::ZERO, 0.5);
        let instants = [1.0, 2.0, 3.0].map(|n| clock.instant_of(n));
        assert!(
            instants.iter().zip([0.5, 1.0, 1.5]).all(|(at, due)| (at - due).abs() < 1e-9),
            "{instants:?}"
        );
    }

    #[test]
    fn a_ramp_offers_the_area_under_it() {
        // (0 + 100) / 2 × 10 s.
        assert_eq!(arrivals_until("0..100/10s", 10.0 + 1e-9), 500);
        let profile: RateProfile = "0..100/10s".parse().expect("a ramp");
        assert!(
            profile.clock(Duration::ZERO, 1.0).instant_of(0.0).abs() < 1e-9,
            "the first arrival is due at once"
        );
        assert!((profile.expected_arrivals(Duration::from_secs(10)) - 500.0).abs() < 1e-9);
        assert!((profile.expected_arrivals(Duration::from_secs(5)) - 125.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_may_have_its_unit() {
        let pieces = |text: &str| text.parse::<RateProfile>().expect("a profile").pieces;
        for text in ["500/s", "500 req/s", "500rps", "0.5k/s"] {
            assert_eq!(pieces(text), pieces("500"), "{text}");
        }
        for text in ["500/s", "500 req/s", "500rps", "500"] {
            assert_eq!(text.parse::<RateProfile>().expect("a rate").without_unit(), "500", "{text}");
        }
    }

    #[test]
    fn steps_without_a_length_have_that_of_the_next_one() {
        assert_eq!(arrivals_until("10,20,40/10s", 10.0 + 1e-9), 100);
        assert_eq!(arrivals_until("10,20,40/10s", 30.0 + 1e-9), 700);
        assert_eq!(
            "10,20,40/10s".parse::<RateProfile>().expect("steps").length(),
            Some(Duration::from_secs(30))
        );
    }

    #[test]
    fn intervals_do_not_cross_steps() {
        let interval = |text: &str| {
            text.parse::<RateProfile>().expect("a profile").interval(Duration::from_secs(1)).as_millis()
        };
        assert_eq!(["10k", "1,2/10s", "1,2/500ms"].map(interval), [1_000, 1_000, 500]);
        assert_eq!(["1,2/2500ms", "1/2s,2/3s", "1..9/1s,9/1300ms"].map(interval), [833, 1_000, 100]);
        assert_eq!(interval("1/1s,2/1001ms"), 1_000, "a thousandth of a second is too short for an interval");
    }

    #[test]
    fn a_schedule_of_two_thousand_seconds_does_not_drift() {
        let mut clock = RateProfile::constant(50_000.0).clock(Duration::ZERO, 1.0);
        let last = clock.instant_of(50_000.0 * 2_000.0);
        assert!((last - 2_000.0).abs() < 1e-9, "{last}");
    }

    #[test]
    fn text_that_is_not_a_rate_is_refused() {
        for text in ["30/m", "30 req/min", "10/h"] {
            let refused = text.parse::<RateProfile>().expect_err(text).to_string();
            assert!(refused.ends_with("write 0.5 for 30 a minute"), "{refused}");
        }
        for text in
            ["0", "-5", "10x", "1e99", "", "10k..", "..10k", "10k..20k", "1,2", "5/0s", "0..0/1s", ","]
        {
            assert!(text.parse::<RateProfile>().is_err(), "{text:?}");
        }
    }
}
