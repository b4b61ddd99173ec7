//! How the operations of a workload are named and counted in results, and the bounds on ratios of the driver's counters.

use std::collections::BTreeMap;

use toml::Spanned;

use super::source::raw::{RawMetrics, RawRatio};
use crate::names::available;
use notation::source_text::{FileError, SourceText};

/// What a result shows beside times and rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// What operations are called, in the plural: `requests`.
    pub operations: String,
    /// Operations whose result is in bytes a second instead of operations a second.
    pub bytes: Vec<String>,
    /// Ratios of counters.
    pub ratios: Vec<CounterRatio>,
}

/// A ratio of the driver's counters, such as hits to hits and misses.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRatio {
    /// Its name.
    pub name: String,
    /// The probable cause where it is too low.
    pub about: String,
    /// The counter in the numerator.
    pub part: String,
    /// The counters whose sum is the denominator.
    pub of: Vec<String>,
    /// A trial below this value is invalid.
    pub at_least: Option<f64>,
}

/// A ratio below its bound: `hit ratio 98.00 % (at least 99.90 %): the server has evicted values`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} {:.2} % (at least {:.2} %): {about}", .value * 100.0, .bound * 100.0)]
pub struct RatioTooLow {
    name: String,
    value: f64,
    bound: f64,
    about: String,
}

impl Metrics {
    /// Checks metrics as written. `names` are the operations, `counters` those of the protocol's driver.
    pub(super) fn check(
        raw: RawMetrics,
        names: &[String],
        counters: &[&str],
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(unknown) = raw.bytes.iter().find(|name| !names.contains(&name.get_ref().as_str())) {
            let name = unknown.get_ref();
            let what = format!("bytes: there is no operation {name:?}{}", available(name, &names));
            return Err(source.error(&unknown.span(), what));
        }
        let mut ratios = Vec::new();
        for ratio in raw.ratios {
            let (span, ratio) = (ratio.span(), ratio.into_inner());
            let refuse = |what: String| source.error(&span, format!("ratio {:?}: {what}", ratio.name));
            if let Some(unknown) =
                ratio.of.iter().chain([&ratio.part]).find(|n| !counters.contains(&n.as_str()))
            {
                return Err(refuse(format!(
                    "there is no counter {unknown:?}{}",
                    available(unknown, counters)
                )));
            }
            if ratio.of.is_empty() {
                return Err(refuse("of: give at least one counter".to_owned()));
            }
            if ratio.at_least.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
                return Err(refuse("at_least: give a ratio from 0 to 1".to_owned()));
            }
            let RawRatio { name, about, part, of, at_least } = ratio;
            ratios.push(CounterRatio { name, about, part, of, at_least });
        }
        Ok(Self {
            operations: raw.operations.unwrap_or_else(|| "operations".to_owned()),
            bytes: raw.bytes.into_iter().map(Spanned::into_inner).collect(),
            ratios,
        })
    }
}

impl CounterRatio {
    /// Its value for counters by name; none if the denominator is 0.
    pub fn value(&self, counters: &BTreeMap<String, u64>) -> Option<f64> {
        let count = |name: &String| counters.get(name).copied().unwrap_or(0) as f64;
        let denominator: f64 = self.of.iter().map(count).sum();
        (denominator > 0.0).then(|| count(&self.part) / denominator)
    }

    /// Checks the counters of a trial against the lower bound. Without a bound, or without any counts, they pass.
    pub fn check(&self, counters: &BTreeMap<String, u64>) -> Result<(), RatioTooLow> {
        match self.value(counters).zip(self.at_least) {
            Some((value, bound)) if value < bound => {
                Err(RatioTooLow { name: self.name.clone(), value, bound, about: self.about.clone() })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_below_its_bound_fails_the_check() {
        let ratio = CounterRatio {
            name: "hit ratio".to_owned(),
            about: "the server has thrown values away".to_owned(),
            part: "hits".to_owned(),
            of: vec!["hits".to_owned(), "misses".to_owned()],
            at_least: Some(0.999),
        };
        let counters =
            |hits, misses| BTreeMap::from([("hits".to_owned(), hits), ("misses".to_owned(), misses)]);
        assert_eq!(ratio.value(&counters(0, 0)), None);
        assert_eq!(ratio.check(&counters(0, 0)), Ok(()));
        assert_eq!(ratio.check(&counters(1000, 1)), Ok(()));
        let error = ratio.check(&counters(98, 2)).expect_err("2 of 100 are misses");
        assert_eq!(
            error.to_string(),
            "hit ratio 98.00 % (at least 99.90 %): the server has thrown values away"
        );
    }
}
