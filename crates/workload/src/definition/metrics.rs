//! What a workload makes of the engine's counters: what an operation is called, and ratios with their bounds.

use std::collections::BTreeMap;

use toml::Spanned;

use super::raw::{RawMetrics, RawRatio};
use super::source_text::{DefinitionError, SourceText, suggestion};

/// What is shown of a trial beside times and rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// What is counted, in the plural: `requests`.
    pub operations: String,
    /// Operations of which not the number counts but the bytes that they bring.
    pub bytes: Vec<String>,
    /// Ratios of counters.
    pub ratios: Vec<CounterRatio>,
}

/// A ratio of counters, such as hits to hits and misses.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRatio {
    /// Its name.
    pub name: String,
    /// What it says.
    pub about: String,
    /// The counter above the line.
    pub part: String,
    /// The counters whose sum is below the line.
    pub of: Vec<String>,
    /// Under this a trial does not measure what it should.
    pub at_least: Option<f64>,
}

impl Metrics {
    /// Checks metrics as written; `names` are the operations, `counters` the counters that the protocol has.
    pub(super) fn check(
        raw: RawMetrics,
        names: &[String],
        counters: &[&str],
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(unknown) = raw.bytes.iter().find(|name| !names.contains(&name.get_ref().as_str())) {
            let name = unknown.get_ref();
            let what = format!("bytes: there is no operation {name:?}{}", suggestion(name, &names));
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
                    suggestion(unknown, counters)
                )));
            }
            if ratio.of.is_empty() {
                return Err(refuse("of: give at least one counter".to_owned()));
            }
            if ratio.at_least.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
                return Err(refuse("at_least: give a share from 0 to 1".to_owned()));
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
    /// Its value for counters by name; none if there is nothing below the line.
    pub fn of(&self, counters: &BTreeMap<String, u64>) -> Option<f64> {
        let count = |name: &String| counters.get(name).copied().unwrap_or(0) as f64;
        let below: f64 = self.of.iter().map(count).sum();
        (below > 0.0).then(|| count(&self.part) / below)
    }

    /// Why these counters are not what a trial should have; none if they are, or if nothing is asked of them.
    pub fn complaint(&self, counters: &BTreeMap<String, u64>) -> Option<String> {
        let (value, least) = self.of(counters).zip(self.at_least)?;
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        (value < least).then(|| {
            format!("{} {} (at least {}): {}", self.name, percent(value), percent(least), self.about)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_under_its_bound_is_complained_of() {
        let ratio = CounterRatio {
            name: "hit ratio".to_owned(),
            about: "the server has thrown values away".to_owned(),
            part: "hits".to_owned(),
            of: vec!["hits".to_owned(), "misses".to_owned()],
            at_least: Some(0.999),
        };
        let counters =
            |hits, misses| BTreeMap::from([("hits".to_owned(), hits), ("misses".to_owned(), misses)]);
        assert_eq!(ratio.of(&counters(0, 0)), None);
        assert_eq!(ratio.complaint(&counters(1000, 1)), None);
        assert_eq!(
            ratio.complaint(&counters(98, 2)).as_deref(),
            Some("hit ratio 98.00 % (at least 99.90 %): the server has thrown values away")
        );
    }
}
