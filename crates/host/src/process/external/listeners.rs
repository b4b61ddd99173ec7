//! Sockets that listen at an address, and the processes that have them: `/proc/net/tcp`, `/proc/PID/fd`.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::net::{SocketAddr, UdpSocket};

use procfs::net::{TcpState, tcp, tcp6};

/// The inodes of the sockets at which connections to this address arrive: those of the address itself, and of all addresses. Empty
/// where nobody listens, or where the kernel does not say.
pub(super) fn listening_sockets(address: SocketAddr) -> HashSet<u64> {
    let entries = [tcp(), tcp6()].into_iter().flatten().flatten();
    let arrives = |local: SocketAddr| {
        let ip = local.ip().to_canonical();
        local.port() == address.port() && (ip.is_unspecified() || ip == address.ip().to_canonical())
    };
    entries
        .filter(|entry| entry.state == TcpState::Listen && arrives(entry.local_address))
        .map(|entry| entry.inode)
        .collect()
}

/// The processes of this machine that accept connections to an address. Empty where the address is of another machine, where nobody listens,
/// or where this user may not look.
pub fn listening_at(address: SocketAddr) -> Vec<u32> {
    // Only an address of this machine can be bound; a listener at all addresses says nothing of another machine.
    if UdpSocket::bind((address.ip(), 0)).is_err() {
        return Vec::new();
    }
    let sockets = listening_sockets(address);
    let mut pids = Vec::new();
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        if holds_one_of(process.pid, &sockets) == Some(true) {
            pids.push(process.pid.cast_unsigned());
        }
    }
    pids
}

/// Whether a process has one of these sockets open. None if this user may not look.
pub(super) fn holds_one_of(pid: i32, sockets: &HashSet<u64>) -> Option<bool> {
    Some(sockets_of(pid)?.any(|inode| sockets.contains(&inode)))
}

/// The addresses at which these processes listen, sorted.
pub(crate) fn addresses_of(pids: impl Iterator<Item = u32>) -> Vec<SocketAddr> {
    let sockets: HashSet<u64> = pids.filter_map(|pid| sockets_of(pid.cast_signed())).flatten().collect();
    let entries = [tcp(), tcp6()].into_iter().flatten().flatten();
    let listening = entries.filter(|entry| entry.state == TcpState::Listen && sockets.contains(&entry.inode));
    let addresses: BTreeSet<SocketAddr> = listening.map(|entry| entry.local_address).collect();
    addresses.into_iter().collect()
}

/// The inodes of a process's sockets. None if this user may not look.
fn sockets_of(pid: i32) -> Option<impl Iterator<Item = u64>> {
    let socket = |entry: fs::DirEntry| -> Option<u64> {
        let target = fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten().filter_map(socket))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_found_at_its_address_and_at_all_addresses() -> std::io::Result<()> {
        for bind in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(bind)?;
            let port = listener.local_addr()?.port();
            let here = listening_sockets(SocketAddr::from(([127, 0, 0, 1], port)));
            let this = std::process::id().cast_signed();
            assert_eq!(holds_one_of(this, &here), Some(true), "{bind}");
            let elsewhere = listening_sockets(SocketAddr::from(([127, 9, 9, 9], port)));
            assert_eq!(holds_one_of(this, &elsewhere), Some(bind == "0.0.0.0:0"), "{bind}");
            assert_eq!(listening_at(SocketAddr::from(([127, 0, 0, 1], port))), [std::process::id()]);
            assert_eq!(listening_at(SocketAddr::from(([192, 0, 2, 1], port))), [0; 0], "of another machine");
        }
        Ok(())
    }
}
