//! Reads what a server says of itself, while it is loaded. What it means is left to explanations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ask::{RenderedQuery, StatisticsAccess};
use crate::definition::{ObservedDefinition, StatisticsSource, limit_number};
use crate::instance::error::{InstanceError, StatisticsError};
use crate::instance::replies::counters;
use crate::instance::running::Instance;

/// A value that a server reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedValue {
    /// Its name in the workload.
    pub name: String,
    /// The value, in its unit.
    pub value: f64,
    /// Whether it only grows.
    pub is_counter: bool,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Its meaning.
    pub about: String,
    /// The largest value that the configuration permits.
    pub limit: Option<f64>,
}

/// A value over several readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedChange {
    /// The increase of a counter from the first reading to the last, or the mean of a gauge.
    pub value: f64,
    /// Whether it is the increase of a counter.
    pub is_counter: bool,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Its meaning.
    pub about: String,
    /// The largest value that the configuration permits.
    pub limit: Option<f64>,
}

/// Reads the values of a server. It may be used on another thread while the server is loaded.
#[derive(Clone, Debug)]
pub struct Observer {
    server: String,
    access: StatisticsAccess,
    queries: Vec<Reading>,
}

#[derive(Clone, Debug)]
struct Reading {
    source: StatisticsSource,
    query: RenderedQuery,
    values: Vec<(ObservedDefinition, Option<f64>)>,
}

impl Instance {
    /// Reads what its workload observes of it and of its companions.
    pub(crate) fn observers_of_parts(&self) -> Result<Vec<Observer>, InstanceError> {
        let companions = self.companions.iter().map(|companion| &companion.instance);
        companions.chain([self]).filter_map(|part| part.observer().transpose()).collect()
    }

    /// Reads what its workload observes; none if that is nothing with these knobs.
    pub fn observer(&self) -> Result<Option<Observer>, InstanceError> {
        let failed = |error| InstanceError::Statistics {
            server: self.server.name.clone(),
            source: StatisticsError::Template(error),
        };
        let mut queries = Vec::new();
        for observation in &self.server.observe {
            let query = self.render_query(&observation.source).map_err(failed)?;
            if query.text.is_empty() {
                continue;
            }
            let mut values = Vec::new();
            for value in &observation.values {
                let limit = value.limit.as_deref().map(|limit| self.variables.render(limit)).transpose();
                let limit = limit.map_err(failed)?.and_then(|text| limit_number(&text));
                values.push((value.clone(), limit));
            }
            queries.push(Reading { source: observation.source.clone(), query, values });
        }
        let observer = Observer { server: self.server.name.clone(), access: self.access(), queries };
        Ok((!observer.queries.is_empty()).then_some(observer))
    }
}

impl Observer {
    /// The values now. One that the server does not list is left out: a server may list a counter only after its first event.
    pub fn read(&self) -> Result<Vec<ObservedValue>, InstanceError> {
        let mut observed = Vec::new();
        for query in &self.queries {
            let failed = |source| InstanceError::Statistics { server: self.server.clone(), source };
            let reply = self.access.ask(&query.source, &query.query).map_err(|error| failed(error.into()))?;
            for (definition, limit) in &query.values {
                let value = match query.source {
                    StatisticsSource::Http(_) => {
                        counters::of_page(&reply, &definition.field).map_err(|error| failed(error.into()))?
                    }
                    _ => counters::value(&reply, &definition.field),
                };
                observed.extend(value.map(|value| ObservedValue {
                    name: definition.name.clone(),
                    value: value * definition.scale,
                    is_counter: definition.is_counter,
                    unit: definition.unit.clone(),
                    about: definition.about.clone(),
                    limit: *limit,
                }));
            }
        }
        Ok(observed)
    }

    /// The names of all values that it reads.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let values = self.queries.iter().flat_map(|query| &query.values);
        values.map(|(definition, _)| definition.name.as_str())
    }
}

/// The sum of one reading of each of several instances.
pub fn sum(instances: Vec<Vec<ObservedValue>>) -> Vec<ObservedValue> {
    let mut sums: BTreeMap<String, ObservedValue> = BTreeMap::new();
    for value in instances.into_iter().flatten() {
        match sums.get_mut(&value.name) {
            None => {
                sums.insert(value.name.clone(), value);
            }
            Some(sum) => {
                sum.value += value.value;
                sum.limit = sum.limit.zip(value.limit).map(|(sum, limit)| sum + limit);
            }
        }
    }
    sums.into_values().collect()
}

/// The values over readings, which are in order of time. A counter that two readings do not have, or that went back because the
/// server was started again, is left out.
pub fn over(readings: &[Vec<ObservedValue>]) -> BTreeMap<String, ObservedChange> {
    let mut by_name: BTreeMap<&str, Vec<&ObservedValue>> = BTreeMap::new();
    for value in readings.iter().flatten() {
        by_name.entry(&value.name).or_default().push(value);
    }
    let change = |(name, values): (&str, Vec<&ObservedValue>)| {
        let (first, last) = (values.first()?, values.last()?);
        let value = if last.is_counter {
            (values.len() > 1 && last.value >= first.value).then_some(last.value - first.value)?
        } else {
            values.iter().map(|value| value.value).sum::<f64>() / values.len() as f64
        };
        let ObservedValue { is_counter, unit, about, limit, .. } = (*last).clone();
        Some((name.to_owned(), ObservedChange { value, is_counter, unit, about, limit }))
    };
    by_name.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(name: &str, value: f64, is_counter: bool, limit: Option<f64>) -> ObservedValue {
        let (unit, about) = ("workers".to_owned(), "busy workers".to_owned());
        ObservedValue { name: name.to_owned(), value, is_counter, unit, about, limit }
    }

    #[test]
    fn counters_have_their_increase_and_gauges_their_mean() {
        let reading = |count, gauge| {
            vec![observed("waits", count, true, None), observed("busy", gauge, false, Some(8.0))]
        };
        let over = over(&[reading(100.0, 2.0), reading(130.0, 4.0), reading(150.0, 6.0)]);
        assert_eq!((over["waits"].value, over["waits"].is_counter), (50.0, true));
        assert_eq!((over["busy"].value, over["busy"].limit), (4.0, Some(8.0)));
    }

    #[test]
    fn a_counter_needs_two_readings_and_never_goes_back() {
        let one = vec![observed("waits", 5.0, true, None)];
        assert!(over(&[vec![], one.clone()]).is_empty());
        assert!(over(&[one, vec![observed("waits", 4.0, true, None)]]).is_empty());
        assert!(over(&[]).is_empty());
    }

    #[test]
    fn instances_are_added_up_with_their_limits() {
        let one = |busy, limit| vec![observed("busy", busy, false, limit)];
        let both = sum(vec![one(3.0, Some(8.0)), one(4.0, Some(8.0))]);
        assert_eq!(both, one(7.0, Some(16.0)));
        assert_eq!(sum(vec![one(3.0, Some(8.0)), one(4.0, None)])[0].limit, None);
    }
}
