//! Figures of what is outside of the CPUs: network, disks, memory, and of the switches that waiting for them causes.

use super::plain::Plain;
use super::set::{Figures, Kind, PER_SECOND, SHARE};

/// How often a thread of the server waits for something, for each operation.
pub const WAITS_PER_OPERATION: &str = "switches.voluntary_per_op";

/// Adds them.
pub(super) fn add(plain: &Plain<'_>, figures: &mut Figures) {
    network(plain, figures);
    disks(plain, figures);
    memory(plain, figures);
    let per_op = |rate: Option<f64>| rate.map(|rate| rate / plain.ended_per_s());
    let kind = Kind { unit: "1", source: "/proc/PID/task/TID/status" };
    let voluntary = per_op(plain.column("server.switches.voluntary"));
    figures.add(
        WAITS_PER_OPERATION,
        voluntary,
        kind,
        "times for each operation that a thread of the server waited for something",
    );
    let involuntary = per_op(plain.column("server.switches.involuntary"));
    figures.add(
        "switches.involuntary_per_op",
        involuntary,
        kind,
        "times for each operation that a thread of the server was preempted",
    );
}

fn network(plain: &Plain<'_>, figures: &mut Figures) {
    let of_tcp = Kind { unit: PER_SECOND, source: "/proc/net/netstat and /proc/net/snmp" };
    let counters = [
        ("tcp.listen_overflows", "connections refused because the accept queue was full"),
        ("tcp.syn_drops", "connection requests dropped because the SYN queue was full"),
        ("tcp.backlog_drops", "segments dropped because the backlog of a socket was full"),
        ("tcp.accepts", "connections accepted"),
    ];
    for (name, about) in counters {
        let column = if name == "tcp.accepts" { "tcp.passive_opens" } else { name };
        figures.add(name, plain.column(column), of_tcp, about);
    }
    let (again, sent) = (plain.column("tcp.retransmits"), plain.column("tcp.segments_sent"));
    let retransmitted = again.zip(sent).filter(|(_, sent)| *sent > 0.0).map(|(again, sent)| again / sent);
    figures.add(
        "tcp.retransmitted",
        retransmitted,
        Kind { unit: SHARE, ..of_tcp },
        "segments that were sent again",
    );
    let softnet = Kind { unit: PER_SECOND, source: "/proc/net/softnet_stat" };
    figures.add(
        "softnet.dropped",
        plain.column("softnet.dropped"),
        softnet,
        "packets dropped because the backlog of a CPU was full",
    );
    let squeezed = plain.column("softnet.squeezed");
    figures.add(
        "softnet.squeezed",
        squeezed,
        softnet,
        "times that the receive path ran out of its budget with work left",
    );
    // Loopback has no limit of its own: it is CPU time.
    let interfaces = plain.instances("net", "sent_bytes");
    let bytes = |name: &str| {
        let both = ["sent_bytes", "received_bytes"].map(|way| plain.column(&format!("net.{name}.{way}")));
        both.into_iter().flatten().max_by(f64::total_cmp)
    };
    let mut others = interfaces.iter().filter(|name| name.as_str() != "lo").peekable();
    // A machine with loopback alone has no network.
    let has_only_loopback = others.peek().is_none() && !interfaces.is_empty();
    let busiest = others.filter_map(|name| Some((name, bytes(name)?))).max_by(|a, b| a.1.total_cmp(&b.1));
    let bytes = busiest.map(|(_, bytes)| bytes).or(has_only_loopback.then_some(0.0));
    let of_interface = Kind { unit: "B/s", source: "/proc/net/dev" };
    figures.add(
        "network.bytes",
        bytes,
        of_interface,
        "bytes per second of the busiest interface, in its busier direction",
    );
    if let Some((name, _)) = busiest {
        figures.add_text("network.name", name.clone());
    }
}

fn disks(plain: &Plain<'_>, figures: &mut Figures) {
    let names = plain.instances("disk", "busy");
    let of = |disk: &str, what: &str| plain.column(&format!("disk.{disk}.{what}"));
    let busiest =
        names.iter().filter_map(|disk| Some((disk, of(disk, "busy")?))).max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((disk, busy)) = busiest else { return };
    let kind = |unit| Kind { unit, source: "/proc/diskstats" };
    figures.add_text("disk.name", disk.clone());
    figures.add(
        "disk.busy",
        Some(busy),
        kind(SHARE),
        "share of the time in which the busiest disk had requests",
    );
    figures.add("disk.queue", of(disk, "queue"), kind("1"), "requests in progress at that disk, on average");
    let rates = ["reads", "writes"].map(|what| of(disk, what));
    for (name, what, rate) in [("disk.reads", "reads", rates[0]), ("disk.writes", "writes", rates[1])] {
        figures.add(name, rate, kind(PER_SECOND), format!("{what} of that disk"));
    }
    figures.add("disk.read_bytes", of(disk, "read_bytes"), kind("B/s"), "bytes read from that disk");
    let requests = rates[0].zip(rates[1]).map(|(reads, writes)| reads + writes);
    let per_op = requests.map(|requests| requests / plain.ended_per_s());
    figures.add("disk.requests_per_op", per_op, kind("1"), "requests to that disk for each operation");
    // Little's law at the disk.
    let latency = of(disk, "queue").zip(requests).filter(|(_, requests)| *requests > 0.0);
    let latency = latency.map(|(queue, requests)| queue / requests * 1e6);
    figures.add("disk.latency", latency, kind("µs"), "mean time of a request to that disk");
    let kind = Kind { unit: SHARE, source: "/proc/pressure/io" };
    figures.add(
        "pressure.io",
        plain.pressure("io"),
        kind,
        "share of the time in which a task waited for disk I/O",
    );
}

fn memory(plain: &Plain<'_>, figures: &mut Figures) {
    let vmstat = |unit| Kind { unit, source: "/proc/vmstat" };
    figures.add("swap.in", plain.column("swap.in"), vmstat("B/s"), "memory read back from swap space");
    figures.add("swap.out", plain.column("swap.out"), vmstat("B/s"), "memory written to swap space");
    let faults = plain.column("memory.major_faults");
    figures.add("memory.major_faults", faults, vmstat(PER_SECOND), "page faults that needed disk I/O");
    let kind = Kind { unit: SHARE, source: "/proc/pressure/memory" };
    figures.add(
        "pressure.memory",
        plain.pressure("memory"),
        kind,
        "share of the time in which a task waited for memory",
    );
}
