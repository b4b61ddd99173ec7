//! TCP ports for servers: finds free ones.

use std::fs;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// The lowest port that [`free`] returns. Well-known services use the ports below.
const LOWEST: u16 = 10_000;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on: this machine does not have it, for example.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address.
        address: IpAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// No port is left.
    #[error("no port from {LOWEST} up is free outside net.ipv4.ip_local_port_range: narrow that range")]
    NoneLeft,
}

/// Finds `count` free ports on this address.
///
/// They are outside the range of ephemeral ports. A port inside that range could be occupied when the server
/// restarts, by a client connection that is open or in `TIME_WAIT`. Each search starts at a different port, so
/// that concurrent runs of showdown rarely collide.
pub(crate) fn free(ip: IpAddr, count: usize) -> Result<Vec<u16>, Error> {
    Ok(listeners(ip, count)?.into_iter().map(|(port, _)| port).collect())
}

/// Listens on a free port, as [`free`] finds it. Nobody can take the port between the search and its use.
pub(crate) fn listen(ip: IpAddr) -> Result<(u16, TcpListener), Error> {
    listeners(ip, 1)?.pop().ok_or(Error::NoneLeft)
}

/// Free ports, each with a listener, so that no port is found twice.
fn listeners(ip: IpAddr, count: usize) -> Result<Vec<(u16, TcpListener)>, Error> {
    TcpListener::bind((ip, 0)).map_err(|source| Error::Refused { address: ip, source })?;
    let [below, above] = outside(&ephemeral_range());
    let candidates: Vec<u16> = below.chain(above).collect();
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let start = (clock.as_micros() as usize ^ std::process::id() as usize) % candidates.len().max(1);
    let found: Vec<(u16, TcpListener)> = candidates
        .iter()
        .cycle()
        .skip(start)
        .take(candidates.len())
        .filter_map(|&port| Some((port, TcpListener::bind((ip, port)).ok()?)))
        .take(count)
        .collect();
    if found.len() < count { Err(Error::NoneLeft) } else { Ok(found) }
}

/// The range of ephemeral ports; its last port is excluded.
fn ephemeral_range() -> Range<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ports = text.split_whitespace().map_while(|port| port.parse().ok());
    // The defaults of Linux (ip-sysctl.rst).
    ports.next().unwrap_or(32_768)..ports.next().unwrap_or(60_999)
}

/// The usable ports below and above the ephemeral range.
fn outside(ephemeral: &Range<u16>) -> [Range<u16>; 2] {
    [LOWEST..ephemeral.start, ephemeral.end.max(LOWEST).saturating_add(1)..u16::MAX]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::Ipv4Addr;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_port_to_listen_on_is_nobody_elses_however_many_ask() {
        let ask = || listen([127, 0, 0, 1].into()).expect("a port");
        let listening: Vec<(u16, TcpListener)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| [ask(), ask(), ask(), ask()])).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("ports")).collect()
        });
        let ports: HashSet<u16> = listening.iter().map(|(port, _)| *port).collect();
        assert_eq!(ports.len(), 32);
    }

    #[test]
    fn free_ports_are_distinct_and_not_ephemeral() {
        let ports = free(LOOPBACK, 20).expect("twenty free ports");
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), 20);
        assert!(ports.iter().all(|port| !ephemeral_range().contains(port)));
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let error = free([192, 0, 2, 1].into(), 1).expect_err("no machine has an address of TEST-NET-1");
        assert!(error.to_string().starts_with("cannot listen on 192.0.2.1: "), "{error}");
    }

    #[test]
    fn all_ports_outside_the_ephemeral_range_are_usable() {
        let ports = |range: Range<u16>| outside(&range).map(Iterator::count);
        assert_eq!(ports(32_768..60_999), [22_768, 4_535]);
        assert_eq!(ports(1_024..65_535), [0, 0]);
        assert_eq!(ports(1..9), [0, 55_534]);
    }
}
