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
//! This is decided once, from the configuration alone. A client that spins or sleeps as the machine happens to be
//! loaded would have two speeds, and which one it has could depend on the server
//! (`docs/decisions/0010-receive-timestamps.md`).

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::thread::{CpuSet, sched_getaffinity};

/// Whether each of `workers` on this machine, whose load goes to these addresses, has a CPU of its own.
pub(super) fn has_own_cpu(workers: u32, addresses: &[SocketAddr]) -> bool {
    let server_is_here = addresses.iter().any(|address| is_here(address.ip()));
    sched_getaffinity(None).is_ok_and(|allowed| decide(workers, &list(&allowed), server_is_here, &sysfs_cpus))
}

/// Whether these CPUs are enough for this many workers and not those of the server. `cpus_in` reads a list of CPUs below
/// `/sys/devices/system/cpu`.
fn decide(
    workers: u32,
    allowed: &[usize],
    server_is_here: bool,
    cpus_in: &dyn Fn(&str) -> Option<Vec<usize>>,
) -> bool {
    if !server_is_here {
        return allowed.len() > workers as usize;
    }
    if allowed.len() < workers as usize {
        return false;
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
        decide(workers, allowed, server_is_here, &machine)
    }

    #[test]
    fn a_client_that_is_pinned_to_whole_cores_has_cpus_of_its_own() {
        assert!(spins(1, &[0, 1], true));
        assert!(spins(2, &[0, 1], true), "the collector and the telemetry run between two polls");
        assert!(!spins(3, &[0, 1], true), "two workers share a CPU");
        assert!(!spins(1, &[0, 1, 2, 3], true), "the server may run on any of them");
        assert!(!spins(1, &[0, 2], true), "the server may run on the other threads of the cores");
    }

    #[test]
    fn where_the_server_is_elsewhere_every_cpu_is_the_clients() {
        assert!(spins(3, &[0, 1, 2, 3], false));
        assert!(!spins(4, &[0, 1, 2, 3], false));
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
