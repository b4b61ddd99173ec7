//! Records meters for as long as a run lasts. Each has a thread, so that one that does not answer delays no other. Which time of
//! the record matters, the caller knows.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use stats::quantity::Watts;

use crate::error::{MeterError, PowerError};
use crate::meter::{PowerMeter, PowerSample};
use crate::named::NamedSource;
use crate::source::{PowerSource, SourceAbout};

/// Reads meters until it is dropped.
#[derive(Debug)]
pub struct PowerRecorder {
    readers: Vec<Reader>,
}

#[derive(Debug)]
struct Reader {
    record: Arc<Mutex<MeterRecord>>,
    stop: Arc<AtomicBool>,
    thread: Thread,
}

/// What one meter said.
#[derive(Debug, Clone)]
pub struct MeterRecord {
    /// What it is.
    pub about: SourceAbout,
    /// Its watts, in order of time.
    pub samples: Vec<PowerSample>,
    /// The readings without watts, in order of time.
    pub failures: Vec<ReadFailure>,
}

/// A reading without watts.
#[derive(Debug, Clone)]
pub struct ReadFailure {
    /// When.
    pub at: Instant,
    /// Why, in one line.
    pub why: Arc<str>,
}

/// The watts of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanWatts {
    /// Their mean over the time.
    pub mean: Watts,
    /// The least.
    pub least: Watts,
    /// The most.
    pub most: Watts,
    /// The number of samples.
    pub samples: u32,
}

impl PowerRecorder {
    /// Opens the meters that a user names on this machine, and begins to record them. `virtualization` is the kind of virtual
    /// machine, if it is one.
    pub fn open<'s>(
        named: impl IntoIterator<Item = &'s NamedSource>,
        virtualization: Option<&str>,
        period: Duration,
    ) -> Result<Self, MeterError> {
        let opened = named.into_iter().map(|source| source.open(Path::new("/"), virtualization));
        Self::start(opened.collect::<Result<_, _>>()?, period)
    }

    /// Reads each source once, and then every `period`. A source that gives nothing at first is refused: nothing would be recorded.
    pub fn start(sources: Vec<Box<dyn PowerSource>>, period: Duration) -> Result<Self, MeterError> {
        let mut meters = Vec::new();
        for source in sources {
            let mut meter = PowerMeter::new(source);
            let first = meter.sample();
            let refused =
                |error: PowerError| MeterError { name: meter.about().name.clone(), why: error.to_string() };
            let first = first.map_err(refused)?;
            meters.push((meter, first));
        }
        let readers = meters.into_iter().map(|(meter, first)| Reader::start(meter, first, period));
        Ok(Self { readers: readers.collect() })
    }

    /// What each meter said in this time, in the order of the sources.
    pub fn between(&self, from: Instant, to: Instant) -> Vec<MeterRecord> {
        self.readers.iter().map(|reader| reader.locked(|record| record.between(from, to))).collect()
    }
}

impl Drop for PowerRecorder {
    fn drop(&mut self) {
        // A meter that does not answer may take seconds more: nobody waits for it.
        for reader in &self.readers {
            reader.stop.store(true, Ordering::Relaxed);
            reader.thread.unpark();
        }
    }
}

impl Reader {
    fn start(mut meter: PowerMeter, first: Option<PowerSample>, period: Duration) -> Self {
        let record = MeterRecord {
            about: meter.about().clone(),
            samples: first.into_iter().collect(),
            failures: Vec::new(),
        };
        let (record, stop) = (Arc::new(Mutex::new(record)), Arc::new(AtomicBool::new(false)));
        let (shared, stopped) = (Arc::clone(&record), Arc::clone(&stop));
        let reading = thread::spawn(move || {
            let mut next = Instant::now() + period;
            while wait(next, &stopped) {
                let sampled = meter.sample();
                let now = Instant::now();
                let mut record = shared.lock().unwrap_or_else(PoisonError::into_inner);
                // The boundary of some sources is known after their first answer.
                record.about = meter.about().clone();
                record.add(now, sampled);
                drop(record);
                next = (next + period).max(now);
            }
        });
        Self { record, stop, thread: reading.thread().clone() }
    }

    fn locked<T>(&self, read: impl FnOnce(&MeterRecord) -> T) -> T {
        read(&self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Waits until this time: whether to go on.
fn wait(until: Instant, stopped: &AtomicBool) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if stopped.load(Ordering::Relaxed) || left.is_zero() {
            return !stopped.load(Ordering::Relaxed);
        }
        thread::park_timeout(left);
    }
}

impl MeterRecord {
    fn add(&mut self, now: Instant, sampled: Result<Option<PowerSample>, PowerError>) {
        match sampled {
            Ok(sample) => self.samples.extend(sample),
            Err(error) => {
                let why = error.to_string();
                // A meter that is gone for hours says the same each time.
                let known = self.failures.last().filter(|last| *last.why == *why);
                let why = known.map_or_else(|| why.into(), |last| Arc::clone(&last.why));
                self.failures.push(ReadFailure { at: now, why });
            }
        }
    }

    /// The part of this time.
    fn between(&self, from: Instant, to: Instant) -> Self {
        let is_in = |at: Instant| (from..=to).contains(&at);
        Self {
            about: self.about.clone(),
            samples: self.samples.iter().filter(|sample| is_in(sample.at)).copied().collect(),
            failures: self.failures.iter().filter(|failure| is_in(failure.at)).cloned().collect(),
        }
    }

    /// The mean of a window; none without a sample in it. A counter's sample is a mean itself, and counts with the time that it
    /// shares with the window.
    pub fn mean(&self, from: Instant, to: Instant) -> Option<MeanWatts> {
        let (mut weighted, mut weights) = (0.0, 0.0);
        let mut found: Option<MeanWatts> = None;
        for sample in &self.samples {
            let weight = match sample.over {
                None if (from..=to).contains(&sample.at) => 1.0,
                None => 0.0,
                Some(over) => {
                    let end = sample.at.min(to);
                    let begin = sample.at.checked_sub(over).map_or(from, |begin| begin.max(from));
                    end.saturating_duration_since(begin).as_secs_f64()
                }
            };
            if weight <= 0.0 {
                continue;
            }
            let watts = sample.watts.value();
            weighted += weight * watts;
            weights += weight;
            let known = found.get_or_insert(MeanWatts {
                mean: sample.watts,
                least: sample.watts,
                most: sample.watts,
                samples: 0,
            });
            known.least = Watts::new(known.least.value().min(watts));
            known.most = Watts::new(known.most.value().max(watts));
            known.samples += 1;
        }
        found.map(|found| MeanWatts { mean: Watts::new(weighted / weights), ..found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::Boundary;
    use crate::source::PowerReading;
    use crate::testing::Scripted;

    const PERIOD: Duration = Duration::from_millis(1);

    /// Readings with these watts, and then one of a device that is gone.
    fn until_gone(watts: &[f64]) -> Vec<Result<PowerReading, PowerError>> {
        watts.iter().map(|watts| Ok(PowerReading::Power(Watts::new(*watts)))).chain([gone()]).collect()
    }

    fn gone() -> Result<PowerReading, PowerError> {
        Err(PowerError::NotThere { address: "http://plug".to_owned() })
    }

    /// Records until a condition holds.
    fn record(
        script: Vec<Result<PowerReading, PowerError>>,
        is_enough: impl Fn(&MeterRecord) -> bool,
    ) -> MeterRecord {
        let begin = Instant::now();
        let recorder =
            PowerRecorder::start(vec![Scripted::repeating(Boundary::Wall, script)], PERIOD).unwrap();
        loop {
            let found = recorder.between(begin, Instant::now()).remove(0);
            if is_enough(&found) {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_mins(2), "{found:?}");
            thread::sleep(PERIOD);
        }
    }

    #[test]
    fn a_meter_that_disappears_leaves_its_watts_until_then_and_the_reason() {
        let found = record(until_gone(&[60.0, 62.0]), |found| found.failures.len() > 2);
        let watts: Vec<f64> = found.samples.iter().map(|sample| sample.watts.value()).collect();
        assert_eq!(watts, [60.0, 62.0]);
        assert!(found.failures[0].why.contains("http://plug has nothing there"));
        assert!(Arc::ptr_eq(&found.failures[0].why, &found.failures[1].why), "one text for all");
    }

    #[test]
    fn a_meter_that_comes_back_is_recorded_again() {
        let again = Ok(PowerReading::Power(Watts::new(61.0)));
        let script = until_gone(&[60.0]).into_iter().chain([again]).collect();
        let found = record(script, |found| found.samples.len() > 1);
        assert_eq!((found.samples[1].watts, found.failures.len()), (Watts::new(61.0), 1));
    }

    #[test]
    fn a_meter_that_is_silent_at_first_is_refused() {
        let refused = PowerRecorder::start(vec![Scripted::repeating(Boundary::Wall, vec![gone()])], PERIOD);
        let refused = refused.err().map(|error| error.to_string()).unwrap();
        assert!(refused.starts_with("scripted gives no watts: http://plug has nothing there"), "{refused}");
    }

    fn of(begin: Instant, samples: &[(u64, f64, Option<u64>)]) -> MeterRecord {
        let samples = samples.iter().map(|(at_ms, watts, over_ms)| PowerSample {
            watts: Watts::new(*watts),
            at: begin + Duration::from_millis(*at_ms),
            unix_ms: 0,
            over: over_ms.map(Duration::from_millis),
        });
        let about = Scripted::boxed(Boundary::Wall, Vec::new()).about().clone();
        MeterRecord { about, samples: samples.collect(), failures: Vec::new() }
    }

    #[test]
    fn the_mean_of_a_window_has_its_samples_only() {
        let begin = Instant::now();
        let window = (begin + Duration::from_secs(1), begin + Duration::from_secs(3));
        let present =
            of(begin, &[(500, 10.0, None), (1000, 20.0, None), (2000, 40.0, None), (3001, 90.0, None)]);
        let found = present.mean(window.0, window.1).unwrap();
        assert_eq!(
            (found.mean.value(), found.least.value(), found.most.value(), found.samples),
            (30.0, 20.0, 40.0, 2)
        );
        assert_eq!(present.mean(begin, begin), None);
    }

    #[test]
    fn a_counter_counts_with_the_time_that_it_shares_with_the_window() {
        let begin = Instant::now();
        // One second with half of it before the window, two seconds within.
        let counter = of(begin, &[(1500, 100.0, Some(1000)), (3500, 50.0, Some(2000))]);
        let found =
            counter.mean(begin + Duration::from_secs(1), begin + Duration::from_millis(3500)).unwrap();
        assert_eq!((found.mean.value(), found.samples), (60.0, 2));
    }
}
