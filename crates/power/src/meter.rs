//! Turns readings of a source into watts with their time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stats::energy_counter::{increase, mean_power};
use stats::quantity::Watts;

use crate::error::PowerError;
use crate::source::{EnergyCounter, PowerReading, PowerSource, SourceAbout};

/// More than any machine or rack inlet takes: three phases of 63 A give 43 kW.
const MOST_WATTS: f64 = 100_000.0;

/// Watts with their time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerSample {
    /// How much.
    pub watts: Watts,
    /// When it was read, on the monotonic clock.
    pub at: Instant,
    /// When it was read, ms since 1970.
    pub unix_ms: u64,
    /// For a counter of energy, the time before that over which this is the mean.
    pub over: Option<Duration>,
}

/// A source with the reading before.
#[derive(Debug)]
pub struct PowerMeter {
    source: Box<dyn PowerSource>,
    before: Option<(Instant, Vec<EnergyCounter>)>,
}

impl PowerMeter {
    /// A meter that reads this source.
    pub fn new(source: Box<dyn PowerSource>) -> Self {
        Self { source, before: None }
    }

    /// What its source is.
    pub fn about(&self) -> &SourceAbout {
        self.source.about()
    }

    /// Reads the source. The first reading of a counter gives no watts yet.
    pub fn sample(&mut self) -> Result<Option<PowerSample>, PowerError> {
        let reading = self.source.read();
        let now = Instant::now();
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let (watts, over) = match reading {
            Ok(PowerReading::Power(watts)) => (watts, None),
            Ok(PowerReading::Energy(counters)) => {
                let before = self.before.replace((now, counters.clone()));
                let Some((then, before)) = before else { return Ok(None) };
                let elapsed = now.duration_since(then);
                let Some(watts) = self.mean(&before, &counters, elapsed)? else { return Ok(None) };
                (watts, Some(elapsed))
            }
            Err(error) => {
                // The next watts of a counter would be a mean over the gap.
                self.before = None;
                return Err(error);
            }
        };
        if !(0.0..=MOST_WATTS).contains(&watts.value()) {
            let source_name = self.about().name.clone();
            return Err(PowerError::Implausible { source_name, watts: watts.value() });
        }
        Ok(Some(PowerSample { watts, at: now, unix_ms, over }))
    }

    /// The mean power of all parts together. None for no time.
    fn mean(
        &self,
        before: &[EnergyCounter],
        after: &[EnergyCounter],
        elapsed: Duration,
    ) -> Result<Option<Watts>, PowerError> {
        let restarted = || PowerError::Restarted { source_name: self.about().name.clone() };
        if before.len() != after.len() {
            return Err(restarted());
        }
        let increases = before
            .iter()
            .zip(after)
            .map(|(before, after)| increase(before.microjoules, after.microjoules, after.range_microjoules));
        let total = increases.sum::<Option<u64>>().ok_or_else(restarted)?;
        let Some(watts) = mean_power(total, elapsed) else { return Ok(None) };
        // A driver that was loaded anew counts from zero. As a wrap, that would be nearly the whole range in a moment.
        if watts.value() > MOST_WATTS { Err(restarted()) } else { Ok(Some(watts)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::Boundary;
    use crate::testing::Scripted;

    fn counters(microjoules: &[u64]) -> PowerReading {
        let range_microjoules = 1_000_000_000_000_000;
        let counter = |&microjoules| EnergyCounter { microjoules, range_microjoules };
        PowerReading::Energy(microjoules.iter().map(counter).collect())
    }

    #[test]
    fn a_counter_gives_watts_from_its_second_reading_on() {
        let mut meter = PowerMeter::new(Scripted::boxed(
            Boundary::Package,
            vec![Ok(counters(&[5, 5])), Ok(counters(&[5, 5])), Ok(counters(&[5]))],
        ));
        assert_eq!(meter.sample().unwrap(), None);
        let second = meter.sample().unwrap().unwrap();
        assert_eq!((second.watts, second.over.is_some()), (Watts::new(0.0), true));
        assert!(matches!(meter.sample(), Err(PowerError::Restarted { .. })), "a part is gone");
    }

    #[test]
    fn a_counter_that_began_anew_costs_its_watts_and_no_more() {
        let script = vec![Ok(counters(&[900_000_000])), Ok(counters(&[1])), Ok(counters(&[1]))];
        let mut meter = PowerMeter::new(Scripted::boxed(Boundary::Package, script));
        assert_eq!(meter.sample().unwrap(), None);
        assert!(matches!(meter.sample(), Err(PowerError::Restarted { .. })));
        assert_eq!(meter.sample().unwrap().unwrap().watts, Watts::new(0.0));
    }

    #[test]
    fn after_a_gap_a_counter_starts_anew() {
        let gone = || PowerError::NotThere { address: "h".to_owned() };
        let script = vec![Ok(counters(&[5])), Err(gone()), Ok(counters(&[5])), Ok(counters(&[5]))];
        let mut meter = PowerMeter::new(Scripted::boxed(Boundary::Dram, script));
        assert_eq!(meter.sample().unwrap(), None);
        assert!(meter.sample().is_err());
        assert_eq!(meter.sample().unwrap(), None, "no mean over the gap");
        assert!(meter.sample().unwrap().is_some());
    }

    #[test]
    fn impossible_watts_are_refused() {
        let wrong = [-1.0, f64::NAN, f64::INFINITY, 1e6];
        let script = wrong.map(|watts| Ok(PowerReading::Power(Watts::new(watts))));
        let mut meter = PowerMeter::new(Scripted::boxed(Boundary::Wall, script.into()));
        for _ in wrong {
            let error = meter.sample().unwrap_err().to_string();
            assert!(error.contains("which no machine takes: check the meter"), "{error}");
        }
    }
}
