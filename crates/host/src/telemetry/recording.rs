//! A recording: columns, samples, and simple statistics of them.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::OtherProgram;
use crate::affinity::CpuSet;

/// The meaning of one value of each sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelemetryColumn {
    /// Its dotted name, such as `cpu.0.softirq` or `net.lo.received_bytes`.
    pub name: String,
    /// `cores` (CPU seconds per second), `share` (of the time, 0 to 1), `B`, `B/s`, `1`, `1/s`, `Hz`, `s`.
    pub unit: Cow<'static, str>,
    /// Its meaning, in a sentence.
    pub help: Cow<'static, str>,
}

/// The values at one tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TelemetrySample {
    /// The time in microseconds since the sampler started, by the monotonic clock.
    pub t_us: u64,
    /// The time in milliseconds since 1970. Compared with `t_us` it reveals clock steps.
    pub unix_ms: u64,
    /// One value for each column. Rates are means since the previous sample.
    pub values: Vec<Option<f64>>,
}

/// The result of a sampler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The meanings of the values.
    pub columns: Vec<TelemetryColumn>,
    /// The samples, oldest first.
    pub samples: Vec<TelemetrySample>,
    /// The other programs with the most CPU time during the recording, busiest first.
    pub others: Vec<OtherProgram>,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
}

impl Recording {
    /// The values of a column as (`t_us`, value), without ticks that have no value. Empty if there is no such
    /// column.
    pub fn column(&self, name: &str) -> impl Iterator<Item = (u64, f64)> {
        let index = self.columns.iter().position(|column| column.name == name);
        self.samples.iter().filter_map(move |sample| Some((sample.t_us, (*sample.values.get(index?)?)?)))
    }

    /// The mean of a column over a time range (in `t_us`). None if there is no value.
    pub fn mean(&self, name: &str, within_us: RangeInclusive<u64>) -> Option<f64> {
        let (count, sum) =
            self.within(name, within_us).fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The values of a column in a time range: those of the samples in it, or else of the sample that covers it, which is the next
    /// one. On a busy machine, samples are late.
    fn within(&self, name: &str, range: RangeInclusive<u64>) -> impl Iterator<Item = f64> {
        let has_sample = self.samples.iter().any(|sample| range.contains(&sample.t_us));
        let next = self.samples.iter().map(|sample| sample.t_us).find(|t_us| t_us > range.end());
        self.column(name)
            .filter(move |(t_us, _)| if has_sample { range.contains(t_us) } else { Some(*t_us) == next })
            .map(|(_, value)| value)
    }

    /// The share of these CPUs' time that the hypervisor took in a time range (in `t_us`), 0 to 1. None where the kernel does not
    /// report it.
    pub fn stolen(&self, cpus: &CpuSet, within_us: RangeInclusive<u64>) -> Option<f64> {
        let stolen = |cpu| self.mean(&format!("cpu.{cpu}.steal"), within_us.clone());
        let cores: Option<f64> = cpus.iter().map(stolen).sum();
        cores.map(|cores| cores / cpus.len().max(1) as f64)
    }

    /// The largest value of a column over a time range (in `t_us`).
    pub fn max(&self, name: &str, within_us: RangeInclusive<u64>) -> Option<f64> {
        self.within(name, within_us).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_cover_a_column_and_a_time_range() {
        let columns =
            vec![TelemetryColumn { name: "cpu.steal".into(), unit: "cores".into(), help: "".into() }];
        let sample = |t_us, value| TelemetrySample { t_us, unix_ms: 0, values: vec![value] };
        let samples = vec![sample(1, Some(9.0)), sample(2, Some(1.0)), sample(3, None), sample(4, Some(2.0))];
        let recording = Recording { columns, samples, ..Recording::default() };
        assert_eq!(recording.mean("cpu.steal", 2..=4), Some(1.5));
        assert_eq!(recording.max("cpu.steal", 0..=9), Some(9.0));
        assert_eq!(recording.mean("cpu.steal", 3..=3), None);
        assert_eq!(recording.mean("no.such", 0..=9), None);
    }

    #[test]
    fn a_range_without_a_sample_has_the_values_of_the_sample_that_covers_it() {
        let columns = vec![TelemetryColumn { name: "processes".into(), unit: "1".into(), help: "".into() }];
        let sample = |t_us, value| TelemetrySample { t_us, unix_ms: 0, values: vec![Some(value)] };
        let samples = vec![sample(250, 1.0), sample(900, 2.0), sample(1_000, 3.0)];
        let recording = Recording { columns, samples, ..Recording::default() };
        assert_eq!(recording.mean("processes", 300..=500), Some(2.0));
        assert_eq!(recording.max("processes", 300..=500), Some(2.0));
        assert_eq!(recording.mean("processes", 1_001..=1_100), None, "nothing was read after it");
    }
}
