//! A burner: keeps CPUs busy for a share of the time, so that a server has less of them. How much it took is measured and not
//! assumed. When it burns, and what follows from it, is left to the caller.
//!
//! A quota of CPU time would be simpler, but two servers with equal quotas can differ by a third, because a group that has used
//! its quota is stopped for the rest of the period. A burner takes time as another program would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, sync::mpsc};

use crate::affinity::CpuSet;
use crate::process::thread_cpu_time;

/// The burner is busy once in each period: short against a slice of load, long against a wake-up.
const PERIOD: Duration = Duration::from_millis(10);

/// What it did not get in this many periods it does not try to get later: after a pause of the machine it would take everything.
const CATCH_UP_PERIODS: u32 = 4;

/// A reading within this time is one moment.
const ONE_MOMENT: Duration = Duration::from_micros(100);
/// How often a reading is taken until it is one.
const MOST_READINGS: u32 = 5;

/// Burns on CPUs until it is stopped or dropped.
#[derive(Debug)]
pub struct Burner {
    shared: Arc<SharedBurner>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedBurner {
    is_stopped: AtomicBool,
    /// CPU time of each thread, nanoseconds.
    burned_ns: Vec<AtomicU64>,
}

/// The CPU time that a burner had used at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurnerReading {
    at: Instant,
    burned: Duration,
    cpus: usize,
}

/// What a burner took between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burned {
    /// Its CPU time, on all CPUs together.
    pub cpu: Duration,
    /// The time between the readings.
    pub wall: Duration,
    /// Number of CPUs.
    pub cpus: usize,
}

impl Burned {
    /// The share of the CPUs' time that was left for others, 0 to 1.
    pub fn left(&self) -> f64 {
        let all = self.wall.as_secs_f64() * self.cpus as f64;
        if all > 0.0 { (1.0 - self.cpu.as_secs_f64() / all).clamp(0.0, 1.0) } else { 1.0 }
    }
}

impl BurnerReading {
    /// What was burned since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Burned {
        Burned {
            cpu: self.burned.saturating_sub(earlier.burned),
            wall: self.at.saturating_duration_since(earlier.at),
            cpus: self.cpus,
        }
    }
}

impl Burner {
    /// Starts to burn this share of the time of each of these CPUs, 0 to 1. It burns by its own CPU time: what it does not get
    /// in one period, it tries to get in the next ones.
    ///
    /// # Errors
    ///
    /// A share that is not above 0 and at most 0.9, no CPU, or a CPU on which this process may not run.
    pub fn start(cpus: &CpuSet, share: f64) -> io::Result<Self> {
        if !(share > 0.0 && share <= 0.9) || cpus.is_empty() {
            let message =
                format!("cannot burn {share} of CPUs {cpus}: give a share up to 0.9 and one CPU at least");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let burned_ns = cpus.iter().map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(SharedBurner { is_stopped: AtomicBool::new(false), burned_ns });
        // Made before the threads: where one cannot start, dropping it stops the others.
        let mut burner = Self { shared, threads: Vec::new() };
        for (index, cpu) in cpus.iter().enumerate() {
            let (pinned, is_pinned) = mpsc::channel();
            let shared = Arc::clone(&burner.shared);
            let thread = thread::Builder::new().name(format!("burner-{cpu}")).spawn(move || {
                let result = CpuSet::from_iter([cpu]).pin_this_thread();
                let is_ready = result.is_ok();
                let _ = pinned.send(result);
                if is_ready {
                    burn(&shared, index, share);
                }
            })?;
            burner.threads.push(thread);
            is_pinned.recv().unwrap_or_else(|_| Err(io::Error::other("a thread of the burner ended")))?;
        }
        Ok(burner)
    }

    /// The CPU time that it has used until now.
    pub fn reading(&self) -> BurnerReading {
        let mut reading = self.read();
        for _ in 1..MOST_READINGS {
            // This thread may have waited for its CPU between the clock and the counts.
            if reading.at.elapsed() < ONE_MOMENT {
                break;
            }
            reading = self.read();
        }
        reading
    }

    fn read(&self) -> BurnerReading {
        let at = Instant::now();
        let burned: u64 = self.shared.burned_ns.iter().map(|ns| ns.load(Ordering::Relaxed)).sum();
        BurnerReading { at, burned: Duration::from_nanos(burned), cpus: self.shared.burned_ns.len() }
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Burns until it is stopped: in each period until the thread has used its share of the time.
fn burn(shared: &SharedBurner, index: usize, share: f64) {
    let (started, cpu_before) = (Instant::now(), thread_cpu_time());
    let mut forgiven = Duration::ZERO;
    loop {
        let end = started.elapsed() + PERIOD;
        let burned = thread_cpu_time().saturating_sub(cpu_before);
        let most = burned + PERIOD.mul_f64(share) * CATCH_UP_PERIODS;
        let due = end.mul_f64(share).saturating_sub(forgiven);
        forgiven += due.saturating_sub(most);
        let due = due.min(most);
        loop {
            let burned = thread_cpu_time().saturating_sub(cpu_before);
            shared.burned_ns[index].store(burned.as_nanos() as u64, Ordering::Relaxed);
            if shared.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            if burned >= due {
                break;
            }
            // In registers only: the server's caches stay its own.
            for _ in 0..1000 {
                std::hint::spin_loop();
            }
        }
        thread::sleep(end.saturating_sub(started.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_cpu() -> CpuSet {
        CpuSet::of_this_thread().expect("CPUs").iter().take(1).collect()
    }

    #[test]
    fn what_it_took_is_measured_and_never_more_than_asked_for() -> io::Result<()> {
        let burner = Burner::start(&one_cpu(), 0.2)?;
        // On a busy machine it may get nothing for a while. It tries again, so it gets something in the end.
        let before = Instant::now();
        let first = burner.reading();
        let (took, wall) = loop {
            thread::sleep(PERIOD);
            let so_far = burner.reading().since(&first);
            if !so_far.cpu.is_zero() && so_far.wall > PERIOD * 20 {
                break (so_far, before.elapsed());
            }
        };
        // What it may catch up, and a step beyond.
        let asked = wall.mul_f64(0.2) + PERIOD.mul_f64(0.2) * (CATCH_UP_PERIODS + 1) + PERIOD;
        assert!(took.cpu <= asked, "{took:?} in {wall:?}");
        assert!(took.left() < 1.0, "{took:?}");
        Ok(())
    }

    #[test]
    fn what_is_left_is_of_all_cpus() {
        let burned = Burned { cpu: Duration::from_millis(400), wall: Duration::from_secs(1), cpus: 2 };
        assert!((burned.left() - 0.8).abs() < 1e-9);
        assert!(Burned { wall: Duration::ZERO, ..burned }.left() > 0.999);
    }

    #[test]
    fn a_wrong_share_and_a_cpu_that_is_not_allowed_are_refused() {
        for share in [0.0, 0.95, f64::NAN] {
            assert!(Burner::start(&one_cpu(), share).is_err(), "{share}");
        }
        assert!(Burner::start(&CpuSet::default(), 0.2).is_err());
        let error = Burner::start(&CpuSet::from_iter([1023]), 0.2).expect_err("there is no such CPU");
        assert!(error.to_string().contains("cannot run on CPUs 1023"), "{error}");
    }
}
