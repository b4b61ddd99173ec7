//! One reading of all sources, and the difference of two readings as a sample.

use std::collections::HashMap;
use std::time::Duration;

use super::TelemetryColumn;

/// A value from a source.
struct Reading {
    column: TelemetryColumn,
    metric_type: MetricType,
    value: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricType {
    /// A current value.
    Gauge,
    /// A total that only increases. The recording has its increase per second.
    Counter,
}

/// The values of all sources at one time.
#[derive(Default)]
pub(super) struct Readings(Vec<Reading>);

impl Readings {
    /// Adds a current value.
    pub(super) fn gauge(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        help: &'static str,
        value: f64,
    ) {
        self.0.push(Reading {
            column: TelemetryColumn { name: name.into(), unit: unit.into(), help: help.into() },
            metric_type: MetricType::Gauge,
            value,
        });
    }

    /// Adds a total. The column has its increase per second; `unit` is the unit of that rate.
    pub(super) fn counter(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        help: &'static str,
        total: f64,
    ) {
        let column = TelemetryColumn { name: name.into(), unit: unit.into(), help: help.into() };
        self.0.push(Reading { column, metric_type: MetricType::Counter, value: total });
    }

    pub(super) fn columns(&self) -> Vec<TelemetryColumn> {
        self.0.iter().map(|reading| reading.column.clone()).collect()
    }

    /// The values of these columns, in their order, since the reading `before`.
    ///
    /// A counter has no rate for this tick if it is new, or if it decreased because a process ended.
    pub(super) fn since(
        &self,
        before: &Self,
        elapsed: Duration,
        columns: &[TelemetryColumn],
    ) -> Vec<Option<f64>> {
        let (now, before) = (self.by_name(), before.by_name());
        let rate = |name: &str, total: f64| {
            let increase = total - before.get(name)?.value;
            (increase >= 0.0 && !elapsed.is_zero()).then(|| increase / elapsed.as_secs_f64())
        };
        let value = |column: &TelemetryColumn| {
            let reading = now.get(column.name.as_str())?;
            match reading.metric_type {
                MetricType::Gauge => Some(reading.value),
                MetricType::Counter => rate(&column.name, reading.value),
            }
        };
        columns.iter().map(value).collect()
    }

    fn by_name(&self) -> HashMap<&str, &Reading> {
        self.0.iter().map(|reading| (reading.column.name.as_str(), reading)).collect()
    }

    /// The raw value with this name.
    #[cfg(test)]
    pub(super) fn raw(&self, name: &str) -> Option<f64> {
        self.by_name().get(name).map(|reading| reading.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(bytes: Option<f64>, used: f64) -> Readings {
        let mut readings = Readings::default();
        if let Some(bytes) = bytes {
            readings.counter("bytes", "B/s", "", bytes);
        }
        readings.gauge("used", "B", "", used);
        readings
    }

    #[test]
    fn counters_become_rates_and_gauges_stay_values() {
        let (before, now) = (readings(Some(100.0), 1.0), readings(Some(300.0), 7.0));
        let values = now.since(&before, Duration::from_secs(2), &before.columns());
        assert_eq!(values, [Some(100.0), Some(7.0)]);
    }

    #[test]
    fn a_new_or_decreasing_counter_has_no_rate() {
        let columns = readings(Some(0.0), 0.0).columns();
        let second = Duration::from_secs(1);
        assert_eq!(readings(Some(5.0), 7.0).since(&readings(None, 0.0), second, &columns)[0], None);
        assert_eq!(readings(Some(5.0), 7.0).since(&readings(Some(6.0), 0.0), second, &columns)[0], None);
        assert_eq!(readings(None, 7.0).since(&readings(Some(6.0), 0.0), second, &columns)[0], None);
        let now = readings(Some(6.0), 7.0);
        assert_eq!(now.since(&now, Duration::ZERO, &columns)[0], None);
    }
}
