//! TCP: `/proc/net/snmp`, `/proc/net/netstat` (both documented in `snmp_counter.rst`), `/proc/net/sockstat`.
//!
//! procfs parses only the first of these files, and fails on it when any of its 90 counters is missing. `snmp` and
//! `netstat` have the same format, so one parser reads both.

use super::Readings;
use crate::root::Root;

/// Counters of `Tcp:` and `TcpExt:`: the kernel's name, the column, its meaning.
const COUNTERS: &[(&str, &str, &str)] = &[
    ("ActiveOpens", "tcp.active_opens", "Connections opened by this machine"),
    ("PassiveOpens", "tcp.passive_opens", "Connections accepted"),
    ("AttemptFails", "tcp.failed_opens", "Failed attempts to open a connection"),
    ("EstabResets", "tcp.resets", "Connections reset"),
    ("OutSegs", "tcp.segments_sent", "Segments sent"),
    ("RetransSegs", "tcp.retransmits", "Segments retransmitted"),
    ("ListenOverflows", "tcp.listen_overflows", "Connections refused because the accept queue was full"),
    ("ListenDrops", "tcp.listen_drops", "Connections dropped by a listening socket, for any reason"),
    ("TCPReqQFullDrop", "tcp.syn_drops", "SYNs dropped because the SYN queue was full"),
    ("TCPReqQFullDoCookies", "tcp.syn_cookies", "SYN cookies sent because the SYN queue was full"),
    ("TCPTimeouts", "tcp.timeouts", "Retransmission timeouts"),
    ("TCPBacklogDrop", "tcp.backlog_drops", "Segments dropped because the backlog of a socket was full"),
    (
        "TCPTimeWaitOverflow",
        "tcp.time_wait_overflows",
        "TIME_WAIT sockets closed early because there were too many",
    ),
    ("TCPMemoryPressures", "tcp.memory_pressures", "Times that TCP entered memory pressure"),
];

pub(super) fn read(root: &Root, out: &mut Readings) {
    for (path, section) in [("/proc/net/snmp", "Tcp:"), ("/proc/net/netstat", "TcpExt:")] {
        let text = root.read(path).unwrap_or_default();
        for (name, value) in section_of(&text, section) {
            if let Some((_, column, help)) = COUNTERS.iter().find(|(counter, ..)| *counter == name) {
                out.counter(*column, "1/s", help, value);
            }
            if name == "CurrEstab" {
                out.gauge("tcp.established", "1", "Established connections", value);
            }
        }
    }
    let text = root.read("/proc/net/sockstat").unwrap_or_default();
    let fields = text.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    for (name, value) in pairs(fields) {
        match name {
            "inuse" => out.gauge("tcp.in_use", "1", "Sockets in use, with listening sockets", value),
            "tw" => out.gauge("tcp.time_wait", "1", "Connections in TIME_WAIT", value),
            "orphan" => out.gauge("tcp.orphans", "1", "Sockets without a process", value),
            "mem" => {
                let bytes = value * rustix::param::page_size() as f64;
                out.gauge("tcp.memory", "B", "Memory of socket buffers", bytes);
            }
            _ => {}
        }
    }
}

/// The values of a section: a line of names, then a line of values, both prefixed with the section's name.
fn section_of<'a>(text: &'a str, section: &str) -> impl Iterator<Item = (&'a str, f64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(section));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let values = values.split_ascii_whitespace().map(|value| value.parse().unwrap_or_default());
    names.split_ascii_whitespace().zip(values)
}

/// Parses "name value name value".
fn pairs(text: &str) -> impl Iterator<Item = (&str, f64)> {
    let mut fields = text.split_ascii_whitespace();
    std::iter::from_fn(move || Some((fields.next()?, fields.next()?.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn names_and_values_are_in_consecutive_lines() {
        let (_dir, root) = fake_root(&[
            ("/proc/net/snmp", "Ip: A B\nIp: 1 2\nTcp: MaxConn CurrEstab RetransSegs\nTcp: -1 7 42\n"),
            (
                "/proc/net/netstat",
                "TcpExt: ListenOverflows TCPReqQFullDrop\nTcpExt: 3 4\nIpExt: X\nIpExt: 1\n",
            ),
            (
                "/proc/net/sockstat",
                "sockets: used 22\nTCP: inuse 4 orphan 0 tw 9 alloc 4 mem 2\nUDP: inuse 1 mem 0\n",
            ),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        let names =
            ["tcp.established", "tcp.retransmits", "tcp.listen_overflows", "tcp.syn_drops", "tcp.time_wait"];
        assert_eq!(names.map(|name| out.raw(name)), [7.0, 42.0, 3.0, 4.0, 9.0].map(Some));
        assert_eq!(out.raw("tcp.listen_drops"), None);
    }
}
