//! Service level objectives (SLO): `p99<5ms`, `p99.9<20ms,errors<0.1%`. Every bound must be met.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::units::{self, UnitError};

/// What a bound limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// A percentile of response time, 0 to 100.
    Percentile(f64),
    /// The mean response time.
    Mean,
    /// The longest response time.
    Max,
    /// The share of operations that failed, 0 to 1.
    Errors,
}

/// One bound: the quantity is below the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// What it limits.
    pub quantity: Quantity,
    /// Microseconds for times, a share from 0 to 1 for errors.
    pub limit: f64,
}

/// All bounds of an objective. Without a bound on errors there is one at 1 %: a server must not meet an objective by
/// refusing requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slo {
    text: String,
    bounds: Vec<Bound>,
}

const DEFAULT_ERROR_SHARE: f64 = 0.01;

impl Slo {
    /// The bounds, the default one on errors included.
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    /// The tightest bound on a percentile, mean or maximum, in microseconds; for a chart's line.
    pub fn latency_limit_us(&self) -> Option<f64> {
        let times = self.bounds.iter().filter(|b| b.quantity != Quantity::Errors);
        times.map(|b| b.limit).min_by(f64::total_cmp)
    }

    /// Is it met by the values that `value_of` returns for each quantity, in the units of [`Bound::limit`]?
    pub fn is_met(&self, value_of: impl Fn(Quantity) -> f64) -> bool {
        self.bounds.iter().all(|b| value_of(b.quantity) < b.limit)
    }
}

/// A bound such as `p99<5ms`; `p99<=5ms` is the same one.
fn parse_bound(text: &str) -> Option<Bound> {
    let (name, limit) = split_bound(text)?;
    let quantity = match name.trim() {
        "mean" => Quantity::Mean,
        "max" => Quantity::Max,
        "errors" => Quantity::Errors,
        name => {
            let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
            (percent > 0.0 && percent <= 100.0).then_some(Quantity::Percentile(percent))?
        }
    };
    let limit = match quantity {
        Quantity::Errors => units::share_of(limit.trim().strip_suffix('%')?)?,
        // Here a number alone is no number of seconds: most objectives are in milliseconds.
        _ if is_number(limit) => return None,
        _ => units::parse_duration(limit.trim()).ok()?.as_secs_f64() * 1e6,
    };
    Some(Bound { quantity, limit })
}

fn split_bound(text: &str) -> Option<(&str, &str)> {
    let (name, limit) = text.split_once('<')?;
    Some((name, limit.strip_prefix('=').unwrap_or(limit)))
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// What to write for a bound whose limit has no unit.
fn without_unit(text: &str) -> Option<String> {
    let (name, limit) = split_bound(text)?;
    let unit = if name.trim() == "errors" { "%" } else { "ms" };
    let (name, limit) = (name.trim(), limit.trim());
    is_number(limit).then(|| format!("an objective: {limit} has no unit: write {name}<{limit}{unit}"))
}

impl FromStr for Slo {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "an objective such as p99<5ms, mean<1ms or p99.9<20ms,errors<0.1%";
        if let Some(expected) = text.split(',').find_map(without_unit) {
            return Err(UnitError::new(text, expected));
        }
        let bounds: Option<Vec<Bound>> = text.split(',').map(parse_bound).collect();
        let mut bounds = bounds.ok_or_else(|| UnitError::new(text, expected))?;
        if bounds.iter().all(|b| b.quantity == Quantity::Errors) {
            return Err(UnitError::new(text, expected));
        }
        if bounds.iter().all(|b| b.quantity != Quantity::Errors) {
            bounds.push(Bound { quantity: Quantity::Errors, limit: DEFAULT_ERROR_SHARE });
        }
        Ok(Self { text: text.replace("<=", "<"), bounds })
    }
}

impl TryFrom<String> for Slo {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<Slo> for String {
    fn from(slo: Slo) -> Self {
        slo.text
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_must_be_met_and_errors_have_a_default_bound() {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        let of = |p99: f64, errors: f64| slo.is_met(|q| if q == Quantity::Errors { errors } else { p99 });
        assert!(of(4_999.0, 0.0));
        assert!(!of(5_000.0, 0.0));
        assert!(!of(100.0, 0.02));
    }

    #[test]
    fn text_that_is_not_an_objective_is_refused() {
        for text in ["", "p99", "p99<5", "p0<1ms", "p101<1ms", "errors<1%", "p99>5ms", "p99<5ms,", "q<1s"] {
            assert!(text.parse::<Slo>().is_err(), "{text:?}");
        }
        let error = "p99<5".parse::<Slo>().expect_err("no unit").to_string();
        assert_eq!(error, "\"p99<5\" is not an objective: 5 has no unit: write p99<5ms");
        let error = "p99<5ms,errors<1".parse::<Slo>().expect_err("no unit").to_string();
        assert!(error.ends_with("1 has no unit: write errors<1%"), "{error}");
    }

    #[test]
    fn at_most_is_the_same_as_below() {
        let [at_most, below]: [Slo; 2] =
            ["p99<=5ms,errors <= 1%", "p99<5ms,errors<1%"].map(|text| text.parse().expect("an objective"));
        assert_eq!((at_most.bounds, at_most.text.as_str()), (below.bounds, "p99<5ms,errors < 1%"));
    }
}
