//! The sampler: a thread that takes telemetry samples.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, mem};

use super::others::{ProgramTimes, Sides};
use super::readings::Readings;
use super::sources::SampledServer;
use super::{Recording, TelemetrySample, sources};
use crate::process::Processes;
use crate::process::thread_cpu_time;
use crate::root::Root;

/// The valid periods. A reading takes about 1 ms of CPU time, so with less than 10 ms the sampler would mainly
/// measure itself.
const PERIODS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);

/// The largest share of a core that readings take. Where one takes long, because servers have hundreds of processes, samples are
/// further apart: the sampler often shares its CPU with the load generator, and a client that waits for a CPU is not valid.
const MOST_SHARE: f64 = 0.03;

/// Takes samples until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    started: Instant,
    shared: Arc<SharedRecording>,
    thread: Option<JoinHandle<()>>,
}

/// The recording, shared with the thread that writes it.
#[derive(Debug, Default)]
struct SharedRecording {
    state: Mutex<SamplerState>,
    stop: Condvar,
}

#[derive(Debug, Default)]
struct SamplerState {
    is_stopped: bool,
    recording: Recording,
}

impl SharedRecording {
    fn lock(&self) -> MutexGuard<'_, SamplerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until this time, or until the sampler is stopped. Returns whether it was stopped.
    fn sleep_until(&self, time: Instant) -> bool {
        let left = time.saturating_duration_since(Instant::now());
        let waited = self.stop.wait_timeout_while(self.lock(), left, |state| !state.is_stopped);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_stopped
    }
}

/// Starts a sampler. It takes the first reading before this returns, and the first sample one period later.
pub(crate) fn start(root: &Root, servers: Vec<SampledServer>, period: Duration) -> io::Result<Sampler> {
    if !PERIODS.contains(&period) {
        let (shortest, longest) = PERIODS.into_inner();
        let message = format!("{period:?} is not a valid telemetry period: give {shortest:?} to {longest:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let sampler = SamplerThread { root: root.clone(), servers, period };
    let started = Instant::now();
    let processes = Processes::now();
    let programs = ProgramTimes::since(&processes, std::process::id(), &sampler.elsewhere(&processes));
    let first = sampler.read(&processes, Sides::default());
    let shared = Arc::new(SharedRecording::default());
    shared.lock().recording.columns = first.columns();
    let for_thread = Arc::clone(&shared);
    let thread = thread::Builder::new()
        .name("telemetry".into())
        .spawn(move || sampler.run(started, programs, first, &for_thread))?;
    Ok(Sampler { started, shared, thread: Some(thread) })
}

impl Sampler {
    /// The time at which the samples' `t_us` is 0.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The recording up to now.
    pub fn so_far(&self) -> Recording {
        self.shared.lock().recording.clone()
    }

    /// Takes a last sample, if the previous one is older than a quarter of a period, and returns the recording.
    pub fn stop(mut self) -> Recording {
        self.end();
        mem::take(&mut self.shared.lock().recording)
    }

    fn end(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.stop.notify_all();
        if let Some(thread) = self.thread.take() {
            // After a panic of the thread, the recording up to then is still valid.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

struct SamplerThread {
    root: Root,
    servers: Vec<SampledServer>,
    period: Duration,
}

impl SamplerThread {
    fn run(self, started: Instant, mut programs: ProgramTimes, first: Readings, shared: &SharedRecording) {
        let (mut previous, mut previous_time) = (first, started);
        let mut reading_took = Duration::ZERO;
        loop {
            let is_stopped =
                shared.sleep_until(started + next_tick(started.elapsed(), self.period, reading_took));
            let (now, cpu_before) = (Instant::now(), thread_cpu_time());
            if is_stopped && now.duration_since(previous_time) < self.period / 4 {
                return;
            }
            let processes = Processes::now();
            let used = programs.advance(&processes, std::process::id(), &self.elsewhere(&processes));
            let readings = self.read(&processes, used);
            let others = programs.busiest();
            let mut state = shared.lock();
            let elapsed = now.duration_since(previous_time);
            let values = readings.since(&previous, elapsed, &state.recording.columns);
            state.recording.samples.push(TelemetrySample {
                t_us: now.duration_since(started).as_micros() as u64,
                unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
                values,
            });
            state.recording.others = others;
            state.recording.cost = thread_cpu_time();
            reading_took = state.recording.cost.saturating_sub(cpu_before);
            drop(state);
            if is_stopped {
                return;
            }
            (previous, previous_time) = (readings, now);
        }
    }

    /// The servers' processes that are no descendants of this one, because another program has started them.
    fn elsewhere(&self, processes: &Processes) -> HashSet<i32> {
        let trees = self.servers.iter().flat_map(|server| &server.trees);
        trees.flat_map(|tree| tree.elsewhere(processes)).map(|stat| stat.pid).collect()
    }

    fn read(&self, processes: &Processes, used: Sides) -> Readings {
        let mut readings = Readings::default();
        sources::read(&self.root, used, &mut readings);
        for server in &self.servers {
            sources::read_processes(&self.root, processes, server, &mut readings);
        }
        readings
    }
}

/// When the next sample is due, from the start, if the last reading ended at `elapsed` and took this much CPU time.
///
/// Ticks are multiples of the period, so that lateness does not accumulate. Missed ticks are skipped, and so are those with which
/// readings would take more than [`MOST_SHARE`].
fn next_tick(elapsed: Duration, period: Duration, reading_took: Duration) -> Duration {
    let earliest = elapsed + reading_took.div_f64(MOST_SHARE).saturating_sub(reading_took);
    let [elapsed, earliest, period] = [elapsed, earliest, period].map(|time| time.as_nanos() as u64);
    Duration::from_nanos((elapsed / period + 1).max(earliest.div_ceil(period)) * period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(elapsed_ms: u64, reading_ms: u64) -> u128 {
        let ms = Duration::from_millis;
        next_tick(ms(elapsed_ms), ms(250), ms(reading_ms)).as_millis()
    }

    #[test]
    fn samples_are_on_the_grid_of_the_period() {
        assert_eq!([tick(0, 0), tick(252, 2), tick(257, 7)], [250, 500, 500]);
        assert_eq!(tick(1_400, 2), 1_500, "the missed ticks are skipped");
    }

    #[test]
    fn readings_take_at_most_a_small_share_of_a_core() {
        assert_eq!([tick(258, 8), tick(270, 20), tick(310, 60)], [750, 1_000, 2_250]);
        for reading_ms in 1..200 {
            let begun = 250;
            let apart = tick(begun + reading_ms, reading_ms) - u128::from(begun);
            assert!(reading_ms as f64 / apart as f64 <= MOST_SHARE, "{reading_ms} ms every {apart} ms");
        }
    }
}
