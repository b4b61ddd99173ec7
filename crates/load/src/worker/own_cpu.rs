//! Whether a worker has a CPU of its own: then it spins instead of sleeping.
//!
//! A sleeping thread has a wake-up latency, and the server pays for a part of it: its send wakes the client's CPU, which on a
//! virtual machine leaves the guest. The receive timestamps take the latency out of the times. It still lengthens the cycle of a
//! closed loop.
//!
//! A worker spins if it may use at least one CPU for each worker, and no server of this machine uses these: the server is on
//! another machine, or this process was pinned to some of the cores. Whether something else runs there shows in the run queue: a
//! worker that waits for its CPU while it spins sleeps for a second, and each further time twice as long.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::cpu::run_delay;
use crate::clock::Nanos;

/// How often the run queue is checked. Reading it takes 10 µs.
const CHECK_EVERY: Duration = Duration::from_millis(20);
/// A worker that waits for its CPU for more than this share of the time, on average over some checks, does not have it for
/// itself. Half of what makes a run invalid.
const MAX_WAIT: f64 = 0.025;
/// The weight of a new check in that average.
const NEW: f64 = 0.2;
/// More than this in one check is another busy thread.
const MAX_WAIT_AT_ONCE: f64 = 0.25;
/// Then it sleeps for this long before it tries again, and each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Decides whether a worker spins.
#[derive(Debug)]
pub(super) struct OwnCpu {
    /// Whether there may be a CPU for this worker alone.
    is_possible: bool,
    spins: bool,
    /// When the run queue was last checked, and the worker's time in it then.
    checked: Nanos,
    waited: Nanos,
    /// Mean share of the time in the run queue, of late.
    wait_share: f64,
    /// It does not spin before this.
    pause_until: Nanos,
    next_pause: Duration,
}

impl OwnCpu {
    /// Of one of `workers` on this machine, whose load goes to these addresses.
    pub fn new(workers: u32, addresses: &[SocketAddr]) -> Self {
        let server_is_here = addresses.iter().any(|address| is_here(address.ip()));
        let is_possible = sched_getaffinity(None)
            .is_ok_and(|allowed| has_cpu_for_each(workers, &list(&allowed), server_is_here, &sysfs_cpus));
        Self::with(is_possible)
    }

    /// A worker that always spins, or never.
    #[cfg(test)]
    pub fn fixed(spins: bool) -> Self {
        Self { checked: Nanos::NEVER, ..Self::with(spins) }
    }

    fn with(is_possible: bool) -> Self {
        Self {
            is_possible,
            spins: is_possible,
            checked: Nanos(0),
            waited: Nanos(0),
            wait_share: 0.0,
            pause_until: Nanos(0),
            next_pause: FIRST_PAUSE,
        }
    }

    /// Whether the worker spins from now on.
    #[inline]
    pub fn spins(&mut self, now: Nanos) -> bool {
        if self.is_possible && now.since(self.checked) >= CHECK_EVERY.into() {
            self.check(now, run_delay());
        }
        self.spins
    }

    /// The worker's time in the run queue was `waited` at `now`.
    fn check(&mut self, now: Nanos, waited: Nanos) {
        let passed = now.since(self.checked);
        // Between two parts of a load a worker is blocked: that says nothing.
        let is_recent = passed < (10 * CHECK_EVERY).into();
        if is_recent && self.spins {
            let share = waited.since(self.waited).0 as f64 / passed.0 as f64;
            self.wait_share += NEW * (share - self.wait_share);
            if share > MAX_WAIT_AT_ONCE || self.wait_share > MAX_WAIT {
                (self.spins, self.pause_until) = (false, now.after(self.next_pause));
                self.next_pause *= 2;
            }
        } else if now >= self.pause_until {
            (self.spins, self.wait_share) = (true, 0.0);
        }
        (self.checked, self.waited) = (now, waited);
    }
}

/// Whether these CPUs are enough for this many workers and not those of the server. `cpus_in` reads a list of CPUs below
/// `/sys/devices/system/cpu`.
fn has_cpu_for_each(
    workers: u32,
    allowed: &[usize],
    server_is_here: bool,
    cpus_in: &dyn Fn(&str) -> Option<Vec<usize>>,
) -> bool {
    if allowed.len() < workers as usize {
        return false;
    }
    if !server_is_here {
        return true;
    }
    let is_pinned = cpus_in("online").is_some_and(|online| online.iter().any(|cpu| !allowed.contains(cpu)));
    // A worker that spins slows the other thread of its core down.
    let has_whole_core = |cpu: &usize| {
        cpus_in(&format!("cpu{cpu}/topology/thread_siblings_list"))
            .is_some_and(|siblings| siblings.iter().all(|sibling| allowed.contains(sibling)))
    };
    is_pinned && allowed.iter().all(has_whole_core)
}

/// Whether an address is one of this machine: then a socket can have it.
fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
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

    /// Four CPUs; 0 and 1 are threads of one core, 2 and 3 of another.
    fn machine(file: &str) -> Option<Vec<usize>> {
        parse(match file {
            "online" => "0-3\n",
            "cpu0/topology/thread_siblings_list" | "cpu1/topology/thread_siblings_list" => "0-1\n",
            _ => "2,3\n",
        })
    }

    fn spins(workers: u32, allowed: &[usize], server_is_here: bool) -> bool {
        has_cpu_for_each(workers, allowed, server_is_here, &machine)
    }

    #[test]
    fn a_pinned_client_with_whole_cores_has_cpus_of_its_own() {
        assert!(spins(2, &[0, 1], true));
        assert!(!spins(3, &[0, 1], true), "two workers would share a CPU");
        assert!(!spins(2, &[0, 1, 2, 3], true), "the server may run on any of them");
        assert!(!spins(1, &[0], true), "the server may run on the other thread of the core");
    }

    #[test]
    fn where_the_server_is_elsewhere_every_cpu_is_the_clients() {
        assert!(spins(4, &[0, 1, 2, 3], false));
        assert!(!spins(5, &[0, 1, 2, 3], false));
    }

    /// Checks every 20 ms for this long whether a worker spins that waits for this many microseconds in between.
    fn go_on(own: &mut OwnCpu, for_ms: u64, wait_us: u64) -> bool {
        for _ in 0..for_ms / 20 {
            own.check(own.checked.after(CHECK_EVERY), own.waited.after(Duration::from_micros(wait_us)));
        }
        own.spins
    }

    #[test]
    fn a_worker_that_waits_for_its_cpu_sleeps_for_longer_and_longer() {
        let mut own = OwnCpu::with(true);
        assert!(go_on(&mut own, 5_000, 400), "2 % of the time");
        assert!(!go_on(&mut own, 20, 10_000), "another busy thread");
        assert!(!go_on(&mut own, 980, 0) && go_on(&mut own, 20, 0), "a second later");
        assert!(!go_on(&mut own, 1_000, 800), "4 % of the time");
        assert!(!go_on(&mut own, 1_000, 0) && go_on(&mut own, 1_000, 0), "two seconds later");
        own.check(own.checked.after(Duration::from_secs(9)), own.waited.after(Duration::from_secs(9)));
        assert!(own.spins, "a time in which it was blocked says nothing");
    }

    #[test]
    fn a_thread_that_needs_the_cpu_now_and_then_is_no_reason_to_sleep() {
        let mut own = OwnCpu::with(true);
        for _ in 0..100 {
            go_on(&mut own, 80, 0);
            assert!(go_on(&mut own, 20, 1_000), "the sampler: a millisecond in a hundred");
        }
    }

    #[test]
    fn loopback_is_here_and_an_address_for_documentation_is_not() {
        assert!(is_here(IpAddr::from([127, 0, 0, 1])));
        assert!(!is_here(IpAddr::from([192, 0, 2, 1])));
    }

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse("7\n"), Some(vec![7]));
        assert_eq!(parse("x\n"), None);
    }
}
