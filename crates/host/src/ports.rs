//! TCP ports for servers: checks whether a port is free, finds its owner, and finds free ports.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use procfs::FromRead;
use procfs::net::TcpState;
use procfs::process::Stat;

/// The lowest port that [`free`] returns. Well-known services use the ports below.
const LOWEST: u16 = 10_000;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process listens on it.
    #[error("port {port} is taken by {owner}: stop it or pass --port")]
    Taken {
        /// The port.
        port: u16,
        /// The process that listens on it.
        owner: PortOwner,
    },
    /// Only root may listen on the port.
    #[error("port {port} is reserved for root: pass a --port of 1024 or more")]
    Privileged {
        /// The port.
        port: u16,
    },
    /// Another reason, such as an address that this machine does not have.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address and port.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// No port is left.
    #[error("no port from {LOWEST} up is free outside net.ipv4.ip_local_port_range: narrow that range")]
    NoneLeft,
}

/// The owner of a port: the process that listens on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortOwner {
    /// A process whose descriptors are readable. The oldest, if several share the socket.
    Process {
        /// Its process ID.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// A process of another user, whose descriptors are not readable.
    Hidden,
}

impl fmt::Display for PortOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, name } => write!(f, "{name} (pid {pid})"),
            Self::Hidden => write!(f, "another user's process (find it with sudo ss -ltnp)"),
        }
    }
}

/// Checks whether a server could listen on this address and port now.
pub(crate) fn check_free(address: SocketAddr) -> Result<(), Error> {
    let port = address.port();
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Err(Error::Taken { port, owner: owner(port).unwrap_or(PortOwner::Hidden) })
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Error::Privileged { port }),
        Err(source) => Err(Error::Refused { address, source }),
    }
}

/// The process that listens on this TCP port, if there is one.
fn owner(port: u16) -> Option<PortOwner> {
    let tables = [procfs::net::tcp(), procfs::net::tcp6()];
    let links: HashSet<String> = tables
        .into_iter()
        .flatten()
        .flatten()
        .filter(|socket| socket.state == TcpState::Listen && socket.local_address.port() == port)
        .map(|socket| format!("socket:[{}]", socket.inode))
        .collect();
    if links.is_empty() {
        return None;
    }
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|process| {
        let is_owner = fs::read_dir(process.path().join("fd")).ok()?.flatten().any(|fd| {
            fs::read_link(fd.path()).is_ok_and(|link| link.to_str().is_some_and(|link| links.contains(link)))
        });
        if is_owner { Stat::from_file(process.path().join("stat")).ok() } else { None }
    });
    let oldest = processes.min_by_key(|stat| (stat.starttime, stat.pid));
    Some(oldest.map_or(PortOwner::Hidden, |stat| PortOwner::Process {
        pid: stat.pid.cast_unsigned(),
        name: stat.comm,
    }))
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
    use super::*;

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
    use std::net::Ipv4Addr;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn the_error_for_a_taken_port_names_its_owner_and_the_remedy() -> io::Result<()> {
        let listener = TcpListener::bind((LOOPBACK, 0))?;
        let address = listener.local_addr()?;
        let me = format!("(pid {}): stop it or pass --port", std::process::id());
        let error = check_free(address).expect_err("the port is taken").to_string();
        assert!(error.starts_with(&format!("port {} is taken by ", address.port())), "{error}");
        assert!(error.ends_with(&me), "{error}");
        Ok(())
    }

    #[test]
    fn a_port_is_free_after_its_owner_closes_it() -> io::Result<()> {
        let port = free(LOOPBACK, 1).expect("a free port")[0];
        let address = SocketAddr::from((LOOPBACK, port));
        let listener = TcpListener::bind(address)?;
        assert!(matches!(check_free(address), Err(Error::Taken { .. })));
        drop(listener);
        assert!(check_free(address).is_ok());
        assert_eq!(owner(port), None);
        Ok(())
    }

    #[test]
    fn free_ports_are_distinct_and_not_ephemeral() {
        let ports = free(LOOPBACK, 20).expect("twenty free ports");
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), 20);
        assert!(ports.iter().all(|port| !ephemeral_range().contains(port)));
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let error =
            check_free(([192, 0, 2, 1], 8080).into()).expect_err("no machine has an address of TEST-NET-1");
        assert!(error.to_string().starts_with("cannot listen on 192.0.2.1:8080"));
    }

    #[test]
    fn all_ports_outside_the_ephemeral_range_are_usable() {
        let ports = |range: Range<u16>| outside(&range).map(Iterator::count);
        assert_eq!(ports(32_768..60_999), [22_768, 4_535]);
        assert_eq!(ports(1_024..65_535), [0, 0]);
        assert_eq!(ports(1..9), [0, 55_534]);
    }
}
