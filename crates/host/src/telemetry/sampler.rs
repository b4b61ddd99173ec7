//! The thread that takes samples.

use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, mem};

use rustix::time::{ClockId, clock_gettime};

use super::readings::Readings;
use super::{Recording, Sample, others, sources};
use crate::process::{Processes, Tree};
use crate::root::Root;

/// The periods that make sense. A reading takes about a millisecond of CPU time: more often than every ten
/// it would measure itself.
const PERIODS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);

/// A server whose processes are sampled, under a name that its columns begin with.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The beginning of the columns' names, such as `server`.
    pub name: String,
    /// Its processes, of one start or of several; looked for anew at each tick.
    pub trees: Vec<Tree>,
}

/// Takes samples until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    started: Instant,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    stop: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    recording: Recording,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until the time has come; true if that is because of a stop.
    fn sleep_until(&self, due: Instant) -> bool {
        let left = due.saturating_duration_since(Instant::now());
        let waited = self.stop.wait_timeout_while(self.lock(), left, |state| !state.stopped);
        waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }
}

/// Starts to take samples. The first reading is taken before this returns, the first sample a period later.
pub(crate) fn start(root: &Root, watches: Vec<Watch>, period: Duration) -> io::Result<Sampler> {
    if !PERIODS.contains(&period) {
        let (least, most) = PERIODS.into_inner();
        let message = format!("telemetry cannot be taken every {period:?}: give {least:?} to {most:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let work = Work { root: root.clone(), watches, period };
    let started = Instant::now();
    let processes = Processes::now();
    let first = work.read(&processes);
    let shared = Arc::new(Shared::default());
    shared.lock().recording.columns = first.columns();
    let told = Arc::clone(&shared);
    let thread = thread::Builder::new()
        .name("telemetry".into())
        .spawn(move || work.run(started, &processes, first, &told))?;
    Ok(Sampler { started, shared, thread: Some(thread) })
}

impl Sampler {
    /// The moment that the samples' `t_us` count from.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// All that was recorded so far.
    pub fn so_far(&self) -> Recording {
        self.shared.lock().recording.clone()
    }

    /// Takes a last sample, if the one before is more than half a period old, and gives all of them.
    pub fn stop(mut self) -> Recording {
        self.end();
        mem::take(&mut self.shared.lock().recording)
    }

    fn end(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.stop.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has recorded up to there.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

struct Work {
    root: Root,
    watches: Vec<Watch>,
    period: Duration,
}

impl Work {
    fn run(self, started: Instant, processes: &Processes, first: Readings, shared: &Shared) {
        let (mut before, mut at) = (first, started);
        loop {
            // The grid is fixed at the start, so that lateness does not add up; ticks that we were too late
            // for are left out.
            let period_ns = self.period.as_nanos() as u64;
            let ticks = started.elapsed().as_nanos() as u64 / period_ns + 1;
            let due = started + Duration::from_nanos(ticks * period_ns);
            let stopped = shared.sleep_until(due);
            let now = Instant::now();
            if stopped && now.duration_since(at) < self.period / 2 {
                return;
            }
            let now_running = Processes::now();
            let readings = self.read(&now_running);
            let others = others::busiest(processes, &now_running, std::process::id());
            let mut state = shared.lock();
            let values = readings.since(&before, now.duration_since(at), &state.recording.columns);
            state.recording.samples.push(Sample {
                t_us: now.duration_since(started).as_micros() as u64,
                unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
                values,
            });
            state.recording.others = others;
            state.recording.cost = cpu_time();
            drop(state);
            if stopped {
                return;
            }
            (before, at) = (readings, now);
        }
    }

    fn read(&self, processes: &Processes) -> Readings {
        let mut readings = Readings::default();
        sources::read(&self.root, processes, &mut readings);
        for watch in &self.watches {
            sources::read_processes(&self.root, processes, watch, &mut readings);
        }
        readings
    }
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
