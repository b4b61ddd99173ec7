//! Several meters, read at the same time.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::boundary::Boundary;
use crate::error::PowerError;
use crate::meter::{PowerMeter, PowerSample};
use crate::source::{PowerSource, SourceAbout};

/// Meters of which none waits for another.
#[derive(Debug, Default)]
pub struct PowerMonitor {
    meters: Vec<PowerMeter>,
}

/// What one meter said.
pub type Sampled = Result<Option<PowerSample>, PowerError>;

impl PowerMonitor {
    /// Meters of these sources.
    pub fn new(sources: Vec<Box<dyn PowerSource>>) -> Self {
        Self { meters: sources.into_iter().map(PowerMeter::new).collect() }
    }

    /// Reads all meters at once, so that one that does not answer delays the others by its time limit only.
    pub fn sample(&mut self) -> Vec<(SourceAbout, Sampled)> {
        thread::scope(|scope| {
            let readers: Vec<_> = self
                .meters
                .iter_mut()
                .map(|meter| {
                    scope.spawn(|| {
                        let sampled = meter.sample();
                        // The boundary of some sources is known after their first answer.
                        (meter.about().clone(), sampled)
                    })
                })
                .collect();
            readers.into_iter().map(|reader| reader.join().expect("reading a meter does not panic")).collect()
        })
    }

    /// Reads all meters, as a document.
    pub fn tick(&mut self) -> PowerTick {
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let sources = self.sample().into_iter().map(|(about, sampled)| SourceWatts::new(about, sampled));
        PowerTick { unix_ms, sources: sources.collect() }
    }
}

/// The watts of all sources at one time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerTick {
    /// When the reading began, ms since 1970.
    pub unix_ms: u64,
    /// The sources, in their order.
    pub sources: Vec<SourceWatts>,
}

/// The mean watts of each source over several ticks. A counter must be read more often than it wraps, so a long time has many.
#[derive(Debug, Clone, Default)]
pub struct MeanOfTicks {
    sums: Vec<WattsSum>,
    last: Option<PowerTick>,
    ticks: usize,
}

#[derive(Debug, Clone, Default)]
struct WattsSum {
    weighted: f64,
    weights: f64,
    over_ms: u64,
    answers: usize,
    error: Option<String>,
}

impl MeanOfTicks {
    /// Adds a tick: each of the same sources. A counter's watts count with the time over which they are the mean.
    pub fn add(&mut self, tick: PowerTick) {
        self.sums.resize(tick.sources.len(), WattsSum::default());
        for (sum, source) in self.sums.iter_mut().zip(&tick.sources) {
            let Some(watts) = source.watts else {
                sum.error = source.error.clone().or(sum.error.take());
                continue;
            };
            sum.answers += 1;
            let weight = source.over_ms.map_or(1.0, |ms| ms as f64);
            sum.weighted += weight * watts;
            sum.weights += weight;
            sum.over_ms += source.over_ms.unwrap_or_default();
        }
        self.last = Some(tick);
        self.ticks += 1;
    }

    /// The sources as in the last tick, with their means; none without a tick. A source that answered in less than half of the ticks
    /// has no mean of that time.
    pub fn finish(self) -> Vec<SourceWatts> {
        let mut sources = self.last.map(|tick| tick.sources).unwrap_or_default();
        for (sum, source) in self.sums.into_iter().zip(&mut sources) {
            let is_mean = sum.weights > 0.0 && 2 * sum.answers >= self.ticks;
            source.watts = is_mean.then(|| sum.weighted / sum.weights);
            source.over_ms = (is_mean && sum.over_ms > 0).then_some(sum.over_ms);
            source.error = sum.error.filter(|_| !is_mean);
        }
        sources
    }
}

/// The watts of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceWatts {
    /// The name of the source.
    pub name: String,
    /// How it is read.
    pub kind: String,
    /// Where it is.
    pub origin: String,
    /// What the watts include.
    pub boundary: Boundary,
    /// The largest error in percent, if it is known.
    pub uncertainty_percent: Option<f64>,
    /// Whether a meter gives the watts. Otherwise somebody typed them in, and they are an estimate.
    pub is_measured: bool,
    /// Whether the error is above 1 % or unknown.
    pub is_indicative: bool,
    /// Power, W.
    pub watts: Option<f64>,
    /// The time over which a counter's watts are the mean, ms. Null for a meter's present value.
    pub over_ms: Option<u64>,
    /// When the answer was there, ms since 1970.
    pub unix_ms: Option<u64>,
    /// Why there are no watts.
    pub error: Option<String>,
}

impl SourceWatts {
    fn new(about: SourceAbout, sampled: Sampled) -> Self {
        let (is_measured, is_indicative) = (about.is_measured(), about.is_indicative());
        let (sample, error) = match sampled {
            Ok(sample) => (sample, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            name: about.name,
            kind: about.kind.to_owned(),
            origin: about.origin,
            boundary: about.boundary,
            uncertainty_percent: about.uncertainty_percent,
            is_measured,
            is_indicative,
            watts: sample.map(|sample| sample.watts.value()),
            over_ms: sample.and_then(|sample| sample.over).map(|over: Duration| over.as_millis() as u64),
            unix_ms: sample.map(|sample| sample.unix_ms),
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use stats::quantity::Watts;

    use super::*;
    use crate::source::PowerReading;
    use crate::testing::Scripted;

    #[test]
    fn a_long_time_is_the_mean_of_its_ticks() {
        let good = |watts| Ok(PowerReading::Power(Watts::new(watts)));
        let gone_again = || Err(PowerError::NotThere { address: "http://h".to_owned() });
        let gone = gone_again();
        let readings = vec![good(90.0), good(110.0), gone, gone_again(), gone_again()];
        let mut monitor = PowerMonitor::new(vec![Scripted::boxed(Boundary::Wall, readings)]);
        let mut mean = MeanOfTicks::default();
        (0..3).for_each(|_| mean.add(monitor.tick()));
        let found = mean.clone().finish().remove(0);
        assert_eq!((found.watts, found.over_ms, found.error), (Some(100.0), None, None));
        (0..2).for_each(|_| mean.add(monitor.tick()));
        let mostly_silent = mean.finish().remove(0);
        assert!(mostly_silent.watts.is_none() && mostly_silent.error.is_some());
        assert_eq!(MeanOfTicks::default().finish(), []);
    }

    #[test]
    fn a_source_that_fails_costs_its_own_watts_only() {
        let gone = || Err(PowerError::NotThere { address: "http://h".to_owned() });
        let good = |watts| Ok(PowerReading::Power(Watts::new(watts)));
        let mut monitor = PowerMonitor::new(vec![
            Scripted::boxed(Boundary::Wall, vec![gone(), good(99.0)]),
            Scripted::boxed(Boundary::Package, vec![good(50.0), gone()]),
        ]);
        let watts = |tick: &PowerTick| tick.sources.iter().map(|source| source.watts).collect::<Vec<_>>();
        let first = monitor.tick();
        assert_eq!(watts(&first), [None, Some(50.0)]);
        assert!(first.sources[0].error.as_ref().unwrap().starts_with("http://h has nothing there"));
        assert_eq!(watts(&monitor.tick()), [Some(99.0), None]);
    }
}
