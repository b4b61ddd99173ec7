//! How busy the CPUs of this machine are during a run: a line a second beside those of the run, for the live page. The run's own record of
//! its hosts is in its files.

use std::time::{Duration, Instant};

use procfs::{CpuTime, CurrentSI, KernelStats};
use serde_json::json;

/// The time between two lines.
const PERIOD: Duration = Duration::from_secs(1);

/// The CPU time of a machine so far, in ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    busy: u64,
    all: u64,
}

impl Ticks {
    fn of(time: &CpuTime) -> Self {
        let waits = time.idle + time.iowait.unwrap_or_default();
        // The time of guests is in that of users, too.
        let busy = time.user
            + time.nice
            + time.system
            + time.irq.unwrap_or_default()
            + time.softirq.unwrap_or_default()
            + time.steal.unwrap_or_default();
        Self { busy, all: busy + waits }
    }
}

/// Looks at the CPUs of a machine.
#[derive(Debug)]
pub struct HostCpu {
    host: String,
    before: Option<Ticks>,
    looked: Instant,
}

impl HostCpu {
    /// Of the machine with this name, from now on.
    pub fn new(host: &str) -> Self {
        Self { host: host.to_owned(), before: now().map(|(ticks, _)| ticks), looked: Instant::now() }
    }

    /// The next line, once it is due: the share of the CPUs that was busy since the one before.
    pub fn line(&mut self) -> Option<String> {
        if self.looked.elapsed() < PERIOD {
            return None;
        }
        self.looked = Instant::now();
        let (ticks, cpus) = now()?;
        let before = self.before.replace(ticks)?;
        let busy = share(before, ticks)?;
        Some(json!({ "event": "host_cpu", "host": self.host, "busy": busy, "cpus": cpus }).to_string())
    }
}

/// The time so far, and the number of CPUs.
fn now() -> Option<(Ticks, usize)> {
    let stats = KernelStats::current().ok()?;
    Some((Ticks::of(&stats.total), stats.cpu_time.len()))
}

/// The busy share between two looks; none where no tick has passed.
fn share(before: Ticks, after: Ticks) -> Option<f64> {
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    Some((after.busy.saturating_sub(before.busy) as f64 / all as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_busy_share_since_the_one_before() {
        let (before, after) = (Ticks { busy: 100, all: 1000 }, Ticks { busy: 350, all: 2000 });
        assert_eq!(share(before, after), Some(0.25));
        assert_eq!(share(after, after), None);
        let mut cpu = HostCpu {
            host: "lab1".to_owned(),
            before: Some(Ticks { busy: 0, all: 0 }),
            looked: Instant::now(),
        };
        assert_eq!(cpu.line(), None, "not yet");
        cpu.looked = Instant::now().checked_sub(PERIOD).unwrap();
        let line: serde_json::Value = serde_json::from_str(&cpu.line().unwrap()).unwrap();
        assert!(
            line["event"] == "host_cpu" && line["host"] == "lab1" && line["cpus"].as_u64() > Some(0),
            "{line}"
        );
    }
}
