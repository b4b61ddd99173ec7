//! TCP: `/proc/net/snmp`, `/proc/net/netstat` (both explained in `snmp_counter.rst`), `/proc/net/sockstat`.

use super::Readings;
use crate::root::Root;

/// Counters of `Tcp:` and `TcpExt:` by the kernel's name, our column and what it is.
const COUNTERS: &[(&str, &str, &str)] = &[
    ("ActiveOpens", "tcp.active_opens", "Connections opened by us"),
    ("PassiveOpens", "tcp.passive_opens", "Connections accepted"),
    ("AttemptFails", "tcp.failed_opens", "Connections that could not be opened"),
    ("EstabResets", "tcp.resets", "Connections that were reset"),
    ("OutSegs", "tcp.segments_sent", "Segments sent"),
    ("RetransSegs", "tcp.retransmits", "Segments sent again"),
    ("ListenOverflows", "tcp.listen_overflows", "Connections that found the accept queue full"),
    ("ListenDrops", "tcp.listen_drops", "Connections that a listening socket dropped, for any reason"),
    ("TCPReqQFullDrop", "tcp.syn_drops", "SYNs dropped because the queue for them was full"),
    ("TCPReqQFullDoCookies", "tcp.syn_cookies", "SYNs answered with a cookie because the queue was full"),
    ("TCPTimeouts", "tcp.timeouts", "Retransmission timers that went off"),
    ("TCPBacklogDrop", "tcp.backlog_drops", "Segments dropped because a socket's backlog was full"),
    ("TCPTimeWaitOverflow", "tcp.time_wait_overflows", "TIME_WAITs cut short because there were too many"),
    ("TCPMemoryPressures", "tcp.memory_pressures", "Times that TCP ran short of memory"),
];

pub(super) fn read(root: &Root, out: &mut Readings) {
    for (path, section) in [("/proc/net/snmp", "Tcp:"), ("/proc/net/netstat", "TcpExt:")] {
        let text = root.read(path).unwrap_or_default();
        for (name, value) in section_of(&text, section) {
            if let Some((_, column, help)) = COUNTERS.iter().find(|(counter, ..)| *counter == name) {
                out.counter(*column, "1/s", help, value);
            }
            if name == "CurrEstab" {
                out.gauge("tcp.established", "1", "Connections that are open", value);
            }
        }
    }
    let text = root.read("/proc/net/sockstat").unwrap_or_default();
    let words = text.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    for (name, value) in pairs(words) {
        match name {
            "inuse" => out.gauge("tcp.in_use", "1", "Sockets in use, listening ones too", value),
            "tw" => out.gauge("tcp.time_wait", "1", "Connections in TIME_WAIT", value),
            "orphan" => out.gauge("tcp.orphans", "1", "Sockets that no process has any more", value),
            "mem" => {
                let bytes = value * rustix::param::page_size() as f64;
                out.gauge("tcp.memory", "B", "Memory in the buffers of sockets", bytes);
            }
            _ => {}
        }
    }
}

/// A section is a line of names and a line of values, both beginning with its name.
fn section_of<'a>(text: &'a str, section: &str) -> impl Iterator<Item = (&'a str, f64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(section));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let values = values.split_ascii_whitespace().map(|value| value.parse().unwrap_or_default());
    names.split_ascii_whitespace().zip(values)
}

/// "name value name value".
fn pairs(words: &str) -> impl Iterator<Item = (&str, f64)> {
    let mut words = words.split_ascii_whitespace();
    std::iter::from_fn(move || Some((words.next()?, words.next()?.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::stand_in;

    #[test]
    fn names_and_values_are_lines_one_above_the_other() {
        let (_dir, root) = stand_in(&[
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
