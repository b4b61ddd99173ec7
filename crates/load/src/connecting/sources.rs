//! The local addresses that connections come from, so that they do not run out of ports.
//!
//! Every connection needs a different pair of addresses and ports. From one local address to one port of a server there
//! are as many connections as the kernel has local ports to assign, about 28,000 by default. Loopback has 16 million
//! addresses, and each has these ports.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// The range of local ports that Linux assigns (ip-sysctl.rst).
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// The number of ports in the default range.
const USUAL_PORTS: u32 = 60_999 - 32_768 + 1;
/// The first of the loopback addresses to use; not 127.0.0.1, which other programs use.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);

/// Why an address cannot be a source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// IPv4 and IPv6 do not mix.
    #[error("{from} cannot reach {to}: give addresses of the same family")]
    Family {
        /// The local address.
        from: IpAddr,
        /// The server.
        to: SocketAddr,
    },
    /// It is not an address of this machine.
    #[error("{from} is not an address of this machine ({reason}): give one that `ip address` lists")]
    Foreign {
        /// The address.
        from: IpAddr,
        /// The system's message.
        reason: String,
    },
}

/// Can connections to `to` come from `from`?
pub fn check(from: IpAddr, to: SocketAddr) -> Result<(), SourceError> {
    if from.is_ipv4() != to.is_ipv4() {
        return Err(SourceError::Family { from, to });
    }
    match UdpSocket::bind((from, 0)) {
        Ok(_) => Ok(()),
        Err(error) => Err(SourceError::Foreign { from, reason: error.kind().to_string() }),
    }
}

/// Whether an address is one of this machine: then a socket can have it.
pub fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Local addresses for this many connections to `to`. None where the system's own choice has enough ports, or where
/// there are no other addresses.
pub fn for_connections(connections: u32, to: SocketAddr) -> Vec<IpAddr> {
    // A tenth is left to other programs, and to connections in TIME_WAIT.
    let a_source = (local_ports() / 10 * 9).max(1);
    let needed = connections.div_ceil(a_source);
    if needed < 2 || !to.ip().is_loopback() || !to.is_ipv4() {
        return Vec::new();
    }
    (0..needed).map(|n| IpAddr::V4(Ipv4Addr::from(u32::from(FIRST).saturating_add(n)))).collect()
}

/// How many ports the kernel assigns for each local address.
fn local_ports() -> u32 {
    let text = std::fs::read_to_string(PORT_RANGE).unwrap_or_default();
    parse_range(&text).unwrap_or(USUAL_PORTS)
}

fn parse_range(text: &str) -> Option<u32> {
    let mut bounds = text.split_whitespace().map(str::parse::<u32>);
    let (low, high) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    high.checked_sub(low).map(|span| span + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_of_this_machine_and_an_address_for_documentation_is_not() {
        assert!(is_of_this_machine(IpAddr::from([127, 0, 0, 1])));
        assert!(!is_of_this_machine(IpAddr::from([192, 0, 2, 1])));
    }

    #[test]
    fn a_port_range_is_parsed_as_the_kernel_writes_it() {
        assert_eq!(parse_range("32768\t60999\n"), Some(USUAL_PORTS));
        assert_eq!([parse_range(""), parse_range("9 3"), parse_range("x y")], [None; 3]);
    }

    #[test]
    fn loopback_has_enough_addresses_for_the_connections() {
        let to: SocketAddr = "127.0.0.1:80".parse().expect("an address");
        assert!(for_connections(64, to).is_empty());
        let many = for_connections(10 * local_ports(), to);
        assert!(many.len() > 10 && many.iter().all(IpAddr::is_loopback), "{many:?}");
        assert!(for_connections(1_000_000, "192.168.1.1:80".parse().expect("an address")).is_empty());
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let to: SocketAddr = "127.0.0.1:80".parse().expect("an address");
        assert!(check("127.0.0.9".parse().expect("an address"), to).is_ok());
        // TEST-NET-1 (RFC 5737) is assigned to no machine.
        let foreign = check("192.0.2.1".parse().expect("an address"), to);
        let foreign = foreign.expect_err("an address of no machine").to_string();
        assert!(foreign.contains("192.0.2.1 is not an address of this machine"), "{foreign}");
        assert!(matches!(check("::1".parse().expect("an address"), to), Err(SourceError::Family { .. })));
    }
}
