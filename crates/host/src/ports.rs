//! TCP ports for servers: is one free, who holds it, and which are free.

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

/// The lowest port that is given: below are the ports that services are known by.
const LOWEST: u16 = 10_000;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody listens on it.
    #[error("port {port} is taken by {holder}: stop it or pass --port")]
    Taken {
        /// The port.
        port: u16,
        /// Who has it.
        holder: Holder,
    },
    /// The port is one of root's.
    #[error("port {port} may only be taken by root: pass a --port of 1024 or more")]
    Privileged {
        /// The port.
        port: u16,
    },
    /// Another reason, such as an address that this machine does not have.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address and port.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// No port is left.
    #[error("no free port from {LOWEST} up outside of net.ipv4.ip_local_port_range: narrow that range")]
    NoneLeft,
}

/// Who listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A process that we may look at; the eldest, if several share the socket.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// A process of another user.
    Hidden,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, name } => write!(f, "{name} (pid {pid})"),
            Self::Hidden => write!(f, "another user's process (see whose with: sudo ss -ltnp)"),
        }
    }
}

/// Whether a server could listen on this address and port now.
pub(crate) fn check_free(address: SocketAddr) -> Result<(), Error> {
    let port = address.port();
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Err(Error::Taken { port, holder: holder(port).unwrap_or(Holder::Hidden) })
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Error::Privileged { port }),
        Err(source) => Err(Error::Refused { address, source }),
    }
}

/// Who listens on this TCP port, if anybody does.
fn holder(port: u16) -> Option<Holder> {
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
        let has_it = fs::read_dir(process.path().join("fd")).ok()?.flatten().any(|fd| {
            fs::read_link(fd.path()).is_ok_and(|link| link.to_str().is_some_and(|link| links.contains(link)))
        });
        if has_it { Stat::from_file(process.path().join("stat")).ok() } else { None }
    });
    let eldest = processes.min_by_key(|stat| (stat.starttime, stat.pid));
    Some(
        eldest.map_or(Holder::Hidden, |stat| Holder::Process {
            pid: stat.pid.cast_unsigned(),
            name: stat.comm,
        }),
    )
}

/// Free ports on this address, as many as asked for.
///
/// They lie outside of the range that the kernel gives to outgoing connections: a port from inside would
/// be found taken when the server starts again, by one of the client's own connections that is still open
/// or in `TIME_WAIT`. The search begins at another place each time, so that two showdowns hardly meet.
pub(crate) fn free(ip: IpAddr, count: usize) -> Result<Vec<u16>, Error> {
    let [below, above] = outside(&ephemeral_range());
    let candidates: Vec<u16> = below.chain(above).collect();
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let begin = (clock.as_micros() as usize ^ std::process::id() as usize) % candidates.len().max(1);
    // All are held until all are found: none is found twice.
    let found: Vec<(u16, TcpListener)> = candidates
        .iter()
        .cycle()
        .skip(begin)
        .take(candidates.len())
        .filter_map(|&port| Some((port, TcpListener::bind((ip, port)).ok()?)))
        .take(count)
        .collect();
    if found.len() < count {
        return Err(Error::NoneLeft);
    }
    Ok(found.into_iter().map(|(port, _)| port).collect())
}

/// The ports that outgoing connections get, from the first up to but without the last.
fn ephemeral_range() -> Range<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ports = text.split_whitespace().map_while(|port| port.parse().ok());
    // What Linux has if nobody changed it (ip-sysctl.rst).
    ports.next().unwrap_or(32_768)..ports.next().unwrap_or(60_999)
}

/// The ports that we may choose from, below and above a range.
fn outside(ephemeral: &Range<u16>) -> [Range<u16>; 2] {
    [LOWEST..ephemeral.start, ephemeral.end.max(LOWEST).saturating_add(1)..u16::MAX]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_taken_port_names_its_holder_and_the_mend() -> io::Result<()> {
        let listener = TcpListener::bind((LOOPBACK, 0))?;
        let address = listener.local_addr()?;
        let me = format!("(pid {}): stop it or pass --port", std::process::id());
        let error = check_free(address).expect_err("it is taken").to_string();
        assert!(error.starts_with(&format!("port {} is taken by ", address.port())), "{error}");
        assert!(error.ends_with(&me), "{error}");
        Ok(())
    }

    #[test]
    fn a_port_is_free_again_when_its_holder_let_go() -> io::Result<()> {
        let port = free(LOOPBACK, 1).expect("one is left")[0];
        let address = SocketAddr::from((LOOPBACK, port));
        let listener = TcpListener::bind(address)?;
        assert!(matches!(check_free(address), Err(Error::Taken { .. })));
        drop(listener);
        assert!(check_free(address).is_ok());
        assert_eq!(holder(port), None);
        Ok(())
    }

    #[test]
    fn free_ports_differ_and_are_none_of_the_client_s() {
        let ports = free(LOOPBACK, 20).expect("twenty are left");
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), 20);
        assert!(ports.iter().all(|port| !ephemeral_range().contains(port)));
    }

    #[test]
    fn an_address_of_another_machine_is_refused_as_such() {
        let error = check_free(([192, 0, 2, 1], 8080).into()).expect_err("TEST-NET-1 is nobody's");
        assert!(error.to_string().starts_with("cannot listen on 192.0.2.1:8080"));
    }

    #[test]
    fn whatever_range_the_kernel_has_the_rest_is_ours() {
        let ports = |range: Range<u16>| outside(&range).map(Iterator::count);
        assert_eq!(ports(32_768..60_999), [22_768, 4_535]);
        assert_eq!(ports(1_024..65_535), [0, 0]);
        assert_eq!(ports(1..9), [0, 55_534]);
    }
}
