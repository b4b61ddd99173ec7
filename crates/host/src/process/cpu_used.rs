//! The CPU time that a server has used, by mode, and that of the thread that asks. Which processes belong to it is left to
//! [`ProcessTree`](super::ProcessTree).

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use procfs::process::Stat;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::list::cpu_clock;

/// The CPU time of this thread since its start.
pub fn thread_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// CPU time of a server since its start. The difference of two readings is what it used in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUsed {
    /// All of it: the clocks of its processes, and what its ended processes left to their parents.
    pub time: Duration,
    /// In user mode, in clock ticks: good for shares, over a time with many ticks.
    pub user: Duration,
    /// In the kernel, in clock ticks.
    pub system: Duration,
    /// What the hypervisor took from the CPUs of the server since the boot, in clock ticks; zero where the kernel does not tell.
    /// Whether it is in the CPU time, too, is a fact of the kernel.
    #[serde(default)]
    pub stolen: Duration,
    /// What all programs have used of the CPUs of the server since the boot, its own among them, in clock ticks; zero where the kernel
    /// does not tell.
    #[serde(default)]
    pub all_programs: Duration,
}

impl CpuUsed {
    /// What a process has used, with the children that it has waited for. Its own time is `own`, by its clock.
    pub(super) fn of(stat: &Stat, own: Duration) -> Self {
        let (user, system) = (ticks(stat.utime), ticks(stat.stime));
        Self { time: own, user, system, ..Self::default() } + Self::of_children(stat)
    }

    /// The same of a process that may have ended: its own time is in ticks where its clock is gone.
    pub(crate) fn of_process(stat: &Stat) -> Self {
        Self::of(stat, cpu_clock(stat.pid).unwrap_or_else(|| ticks(stat.utime + stat.stime)))
    }

    /// What the children have used that a process has waited for.
    pub(super) fn of_children(stat: &Stat) -> Self {
        let [user, system] = [stat.cutime, stat.cstime].map(|time| ticks(time.max(0).cast_unsigned()));
        Self { time: user + system, user, system, ..Self::default() }
    }
}

impl CpuUsed {
    /// The share of it in user mode, 0 to 1; 0 where no tick was counted.
    pub fn user_share(&self) -> f64 {
        let ticks = (self.user + self.system).as_secs_f64();
        if ticks > 0.0 { self.user.as_secs_f64() / ticks } else { 0.0 }
    }
}

pub(crate) fn ticks(count: u64) -> Duration {
    Duration::from_secs(count) / (rustix::param::clock_ticks_per_second() as u32).max(1)
}

impl Add for CpuUsed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            time: self.time + other.time,
            user: self.user + other.user,
            system: self.system + other.system,
            stolen: self.stolen + other.stolen,
            all_programs: self.all_programs + other.all_programs,
        }
    }
}

impl AddAssign for CpuUsed {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for CpuUsed {
    fn sum<I: Iterator<Item = Self>>(readings: I) -> Self {
        readings.fold(Self::default(), Add::add)
    }
}

impl Sub for CpuUsed {
    type Output = Self;

    /// What was used since an earlier reading; zero where a clock seems to have gone back.
    fn sub(self, earlier: Self) -> Self {
        Self {
            time: self.time.saturating_sub(earlier.time),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            all_programs: self.all_programs.saturating_sub(earlier.all_programs),
        }
    }
}
