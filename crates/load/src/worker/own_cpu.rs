//! Whether a worker has a CPU of its own: then it spins instead of sleeping.
//!
//! A sleeping thread has a wake-up latency, and the server pays for a part of it: its send wakes the client's CPU, which on a
//! virtual machine leaves the guest. The receive timestamps take the latency out of the times. It still lengthens the cycle of a
//! closed loop.
//!
//! So a worker spins
//!
//! - if this process was pinned to whole cores that no server of this machine uses, and they are enough for its workers. The
//!   collector and the telemetry share them: a worker that spins gives its CPU away between two polls.
//! - if the server is on another machine, and there are more CPUs than workers.
//!
//! Workers of several loads may run at once, such as a background load beside the measured one. Where workers are more than the
//! CPUs, all workers sleep: two workers that span on one CPU would wait for each other.
//!
//! Where another program wants the CPU as well, a worker that spins uses up its share of time, and then waits for its CPU while replies
//! lie unread; one that sleeps comes first when it wakes. So spinning that loses its CPU again and again ends for
//! [`SLEEPING`], for all workers of this process: servers that are loaded in turns meet the same client
//! (`docs/decisions/0036-a-client-that-yields.md`).

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::clock::Nanos;
use crate::connecting::sources::is_of_this_machine;

/// For how long no worker spins after one lost its CPU: for many slices of servers in turns.
const SLEEPING: Duration = Duration::from_secs(10);
/// How long a worker spins before it is known whether it loses its CPU. Telemetry takes tens of milliseconds of it at once where a
/// server has hundreds of processes, and a client must not have another speed for such a server.
const WATCHED: Duration = Duration::from_secs(1);
/// A poll takes a few microseconds. After a longer one, another thread had the CPU.
const LOST: Duration = Duration::from_micros(200);
/// The share of the time that may be lost so: telemetry takes at most half of it.
const MAX_LOST: f64 = 0.1;

/// Workers of this process that run a part of a load now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Until when no worker of this process spins.
static SLEEPING_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Whether a worker that spins loses its CPU to others.
#[derive(Debug, Default)]
pub(super) struct LostTurns {
    watched: Nanos,
    lost: Nanos,
}

impl LostTurns {
    /// A poll of a worker that spins took this long. Returns whether it is time to sleep.
    #[inline]
    pub fn add(&mut self, took: Nanos) -> bool {
        self.watched.0 += took.0;
        if took >= LOST.into() {
            self.lost.0 += took.0;
        }
        if self.watched < WATCHED.into() {
            return false;
        }
        let loses = self.lost.0 as f64 > MAX_LOST * self.watched.0 as f64;
        *self = Self::default();
        loses
    }
}

/// No worker of this process spins for a while from `now` on.
pub(super) fn sleep_from(now: Nanos) {
    SLEEPING_UNTIL.store(now.after(SLEEPING).0, Ordering::Relaxed);
}

/// Counts a worker as running until it is dropped.
pub(super) struct RunningWorker(());

impl RunningWorker {
    pub fn begin() -> Self {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The CPUs on which workers may spin.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnCpus(usize);

impl OwnCpus {
    /// Workers sleep.
    #[cfg(test)]
    pub const NONE: Self = Self(0);
    /// Workers spin, however many there are.
    #[cfg(test)]
    pub const ENOUGH: Self = Self(usize::MAX);

    /// Those of the `workers` of a load whose server has these addresses.
    pub fn of(workers: u32, addresses: &[SocketAddr]) -> Self {
        let server_is_here = addresses.iter().any(|address| is_of_this_machine(address.ip()));
        let allowed = sched_getaffinity(None).map_or(Vec::new(), |allowed| list(&allowed));
        Self(count(workers as usize, &allowed, server_is_here, &sysfs_cpus))
    }

    /// Whether each worker that runs now has one of them for itself.
    #[inline]
    pub fn suffice(self, now: Nanos) -> bool {
        self.0 > 0
            && RUNNING.load(Ordering::Relaxed) <= self.0
            && now.0 >= SLEEPING_UNTIL.load(Ordering::Relaxed)
    }
}

/// On how many of these CPUs workers may spin; 0 if they are not enough for this many. `cpus_in` reads a list of CPUs below
/// `/sys/devices/system/cpu`.
fn count(
    workers: usize,
    allowed: &[usize],
    server_is_here: bool,
    cpus_in: &dyn Fn(&str) -> Option<Vec<usize>>,
) -> usize {
    // Where the server is elsewhere, one is left for the collector and the telemetry.
    let most = if server_is_here { allowed.len() } else { allowed.len().saturating_sub(1) };
    if most < workers {
        return 0;
    }
    if !server_is_here {
        return most;
    }
    let is_pinned = cpus_in("online").is_some_and(|online| online.iter().any(|cpu| !allowed.contains(cpu)));
    // A worker that spins slows the other thread of its core down.
    let has_whole_core = |cpu: &usize| {
        cpus_in(&format!("cpu{cpu}/topology/thread_siblings_list"))
            .is_some_and(|siblings| siblings.iter().all(|sibling| allowed.contains(sibling)))
    };
    if is_pinned && allowed.iter().all(has_whole_core) { most } else { 0 }
}

fn list(cpus: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| cpus.is_set(cpu)).collect()
}

fn sysfs_cpus(file: &str) -> Option<Vec<usize>> {
    parse(&fs::read_to_string(format!("/sys/devices/system/cpu/{file}")).ok()?)
}

/// A list of CPUs as the kernel writes it: `0-2,5`.
fn parse(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_that_lose_their_cpu_again_and_again_end_the_spinning_and_a_few_do_not() {
        let us = |us: u64| Nanos::from(Duration::from_micros(us));
        let ends_after = |polls: &[u64]| {
            let mut turns = LostTurns::default();
            let mut spun = Nanos(0);
            let of_3_s = polls.iter().cycle().take_while(|took| {
                spun.0 += us(**took).0;
                spun < us(3_000_000)
            });
            of_3_s.filter(|took| turns.add(us(**took))).count() > 0
        };
        assert!(!ends_after(&[3, 4, 3, 5]), "the CPU is its own");
        assert!(
            !ends_after(&[vec![3; 300_000], vec![300; 2], vec![5_000; 10]].concat()),
            "telemetry now and then"
        );
        assert!(ends_after(&[vec![3; 1_000], vec![3_000]].concat()), "another program has half of it");
    }

    /// Four CPUs; 0 and 1 are threads of one core, 2 and 3 of another.
    fn machine(file: &str) -> Option<Vec<usize>> {
        parse(match file {
            "online" => "0-3\n",
            "cpu0/topology/thread_siblings_list" | "cpu1/topology/thread_siblings_list" => "0-1\n",
            _ => "2,3\n",
        })
    }

    fn spinning(workers: usize, allowed: &[usize], server_is_here: bool) -> usize {
        count(workers, allowed, server_is_here, &machine)
    }

    #[test]
    fn a_client_that_is_pinned_to_whole_cores_has_cpus_of_its_own() {
        assert_eq!(spinning(1, &[0, 1], true), 2);
        assert_eq!(spinning(2, &[0, 1], true), 2, "the collector and the telemetry run between two polls");
        assert_eq!(spinning(3, &[0, 1], true), 0, "two workers share a CPU");
        assert_eq!(spinning(1, &[0, 1, 2, 3], true), 0, "the server may run on any of them");
        assert_eq!(spinning(1, &[0, 2], true), 0, "the server may run on the other threads of the cores");
    }

    #[test]
    fn where_the_server_is_elsewhere_all_cpus_but_one_are_for_workers() {
        assert_eq!(spinning(3, &[0, 1, 2, 3], false), 3);
        assert_eq!(spinning(4, &[0, 1, 2, 3], false), 0);
    }

    #[test]
    fn workers_sleep_while_more_of_them_run_than_have_a_cpu() {
        // Other tests of this process may run workers, too.
        let workers = [RunningWorker::begin(), RunningWorker::begin()];
        let now = Nanos::now();
        assert!(OwnCpus::ENOUGH.suffice(now) && !OwnCpus(1).suffice(now) && !OwnCpus::NONE.suffice(now));
        drop(workers);
    }

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse("7\n"), Some(vec![7]));
        assert_eq!(parse("x\n"), None);
    }
}
