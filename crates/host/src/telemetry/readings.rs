//! One reading of all sources, and how two of them become a sample.

use std::collections::HashMap;
use std::time::Duration;

use super::Column;

/// A value as a source gave it.
struct Reading {
    column: Column,
    kind: Kind,
    value: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Is what it is at this moment.
    Gauge,
    /// Only goes up; its growth a second is what is recorded.
    Counter,
}

/// All that the sources said at one moment.
#[derive(Default)]
pub(super) struct Readings(Vec<Reading>);

impl Readings {
    /// A value of this moment.
    pub(super) fn gauge(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        help: &'static str,
        value: f64,
    ) {
        self.0.push(Reading { column: Column { name: name.into(), unit, help }, kind: Kind::Gauge, value });
    }

    /// A total since some start; the column has its growth in `unit`, which is something a second.
    pub(super) fn counter(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        help: &'static str,
        total: f64,
    ) {
        let column = Column { name: name.into(), unit, help };
        self.0.push(Reading { column, kind: Kind::Counter, value: total });
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        self.0.iter().map(|reading| reading.column.clone()).collect()
    }

    /// The values of these columns, in their order, where `before` was read a while ago.
    ///
    /// A counter that was not there before, or that went backwards (a process that ended took its share
    /// along), has no rate for this tick.
    pub(super) fn since(&self, before: &Self, elapsed: Duration, columns: &[Column]) -> Vec<Option<f64>> {
        let (now, before) = (self.by_name(), before.by_name());
        let rate = |name: &str, total: f64| {
            let growth = total - before.get(name)?.value;
            (growth >= 0.0 && !elapsed.is_zero()).then(|| growth / elapsed.as_secs_f64())
        };
        let value = |column: &Column| {
            let reading = now.get(column.name.as_str())?;
            match reading.kind {
                Kind::Gauge => Some(reading.value),
                Kind::Counter => rate(&column.name, reading.value),
            }
        };
        columns.iter().map(value).collect()
    }

    fn by_name(&self) -> HashMap<&str, &Reading> {
        self.0.iter().map(|reading| (reading.column.name.as_str(), reading)).collect()
    }

    /// A reading by its name: the raw value.
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
    fn counters_become_rates_and_gauges_stay() {
        let (before, now) = (readings(Some(100.0), 1.0), readings(Some(300.0), 7.0));
        let values = now.since(&before, Duration::from_secs(2), &before.columns());
        assert_eq!(values, [Some(100.0), Some(7.0)]);
    }

    #[test]
    fn a_counter_without_a_past_or_that_went_backwards_has_no_rate() {
        let columns = readings(Some(0.0), 0.0).columns();
        let second = Duration::from_secs(1);
        assert_eq!(readings(Some(5.0), 7.0).since(&readings(None, 0.0), second, &columns)[0], None);
        assert_eq!(readings(Some(5.0), 7.0).since(&readings(Some(6.0), 0.0), second, &columns)[0], None);
        assert_eq!(readings(None, 7.0).since(&readings(Some(6.0), 0.0), second, &columns)[0], None);
        let now = readings(Some(6.0), 7.0);
        assert_eq!(now.since(&now, Duration::ZERO, &columns)[0], None);
    }
}
