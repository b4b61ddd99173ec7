//! What this machine can carry before anything is opened, and the kernel settings that are too small for it.
//!
//! The figures of one transfer were measured on Linux 6.18, loopback, with `sendfile` to a slow client
//! (`docs/decisions/0022-transfers-in-progress.md`).

use std::collections::BTreeMap;

use archive::model::{ChangedSetting, ConcurrencyLimit};
use host::{Host, HostFacts};
use load::processes::connections_a_process;
use load::transfers::SMALLEST_WINDOW;

/// Memory of the kernel for both ends of a transfer whose queues are small: 10.8 to 13.2 KB were measured.
const KERNEL_BYTES: u64 = 13_200;
/// The same where only the client's buffer is small, and the server queues what its buffer takes. A file that is sent from the
/// page cache takes no memory there, but TCP charges it.
const CHARGED_BYTES: u64 = 4_200_000;
/// Pages that TCP charges for both ends, with small queues: 2.1 to 3.0 were measured.
const CHARGED_PAGES: u64 = 3;
/// Memory of a client for one transfer, with its share of a process.
const CLIENT_BYTES: u64 = 600;
/// The part of the memory that a run leaves to the machine.
pub(crate) const RESERVE: f64 = 0.04;
/// Local addresses of 127/8 that a run uses at most.
const LOOPBACK_SOURCES: u64 = 60_000;
/// What the server may queue unsent, so that the queue does not grow with the file.
const UNSENT_BYTES: u64 = 4_096;

/// The unit of `net.ipv4.tcp_mem`, bytes.
const PAGE: u64 = 4_096;

const TCP_MEM: &str = "net.ipv4.tcp_mem";
const UNSENT: &str = "net.ipv4.tcp_notsent_lowat";
const CONGESTION: &str = "net.ipv4.tcp_congestion_control";
/// The congestion control that every kernel has, and that sets no timer for what it sends.
const RENO: &str = "reno";
const FIRST_PROBE: &str = "net.ipv4.tcp_rto_min_us";
/// The longest that the kernel waits (`TCP_RTO_MAX`), microseconds.
const LONGEST_PROBE_US: f64 = 120e6;
/// Packets that wait until a CPU takes them in, from one end of loopback to the other. What does not fit is dropped, and sent again
/// after `tcp_rto_min_us`.
const WAITING_PACKETS: &str = "net.core.netdev_max_backlog";
/// Probes where an acknowledgement takes longer than two round trips: the server's kernel sends its last segment again.
const EARLY_PROBES: &str = "net.ipv4.tcp_early_retrans";
/// As many as a CPU takes in within a tenth of a second or more.
const MOST_WAITING_PACKETS: u64 = 100_000;
/// Fewer transfers than that pay little for timers and probes.
pub(crate) const MANY: u32 = 5_000;

/// The ends of transfers that are on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Both.
    Loopback,
    /// The server's.
    Server,
    /// The clients'.
    Clients,
    /// None.
    None,
}

impl Ends {
    /// How many there are.
    fn count(self) -> u64 {
        match self {
            Self::Loopback => 2,
            Self::Server | Self::Clients => 1,
            Self::None => 0,
        }
    }

    fn has_server(self) -> bool {
        matches!(self, Self::Loopback | Self::Server)
    }

    fn has_clients(self) -> bool {
        matches!(self, Self::Loopback | Self::Clients)
    }
}

/// What a machine is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Transfers at once.
    pub transfers: u32,
    /// Which ends of the transfers this machine has.
    pub ends: Ends,
    /// Attempts that begin a second.
    pub begin_per_s: f64,
    /// The pace of a client.
    pub pace_bytes_per_s: f64,
}

impl Demand {
    /// About how long it is from one read of a transfer to the next.
    fn interval_s(&self) -> f64 {
        f64::from(SMALLEST_WINDOW) / self.pace_bytes_per_s
    }
}

/// What bounds the transfers, and what must change.
#[derive(Debug)]
pub(crate) struct Room {
    /// Everything that was checked.
    pub limits: Vec<ConcurrencyLimit>,
    /// Settings that must change, with the value that they need.
    pub settings: BTreeMap<String, String>,
}

/// The facts that decide.
#[derive(Clone, Debug)]
pub(crate) struct RoomFacts {
    /// Kernel settings by name.
    pub sysctls: BTreeMap<String, String>,
    /// Memory that programs can get.
    pub available_bytes: u64,
    /// Connections of one process.
    pub a_process: u64,
    /// Whether the kernel tracks connections (conntrack).
    pub is_tracking: bool,
}

impl RoomFacts {
    pub fn of(facts: &HostFacts, available_share: Option<f64>) -> Self {
        let total = facts.memory.total_bytes as f64;
        let available = (available_share.unwrap_or(1.0) * total) as u64;
        Self {
            sysctls: facts.sysctls.clone(),
            // A container has less than its machine.
            available_bytes: facts.cgroup.memory_bytes.map_or(available, |most| most.min(available)),
            a_process: connections_a_process(),
            is_tracking: is_tracking(),
        }
    }

    fn numbers(&self, name: &str) -> Vec<u64> {
        let text = self.sysctls.get(name).map_or("", String::as_str);
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.numbers(name).first().copied()
    }
}

/// What bounds so many transfers here. With `may_change`, kernel settings can be changed for the time of the run.
pub(crate) fn room(facts: &RoomFacts, demand: &Demand, may_change: bool) -> Room {
    let transfers = u64::from(demand.transfers);
    let ends = demand.ends;
    if ends == Ends::None {
        return Room { limits: Vec::new(), settings: BTreeMap::new() };
    }
    let mut limits = Vec::new();
    let mut settings = BTreeMap::new();
    let mut add = |name: &str, value: String, allows: Option<u64>, is_changed: bool, remedy: &str| {
        let (name, remedy) = (name.to_owned(), remedy.to_owned());
        limits.push(ConcurrencyLimit { name, value, allows, is_changed, remedy });
    };

    // Not a bound: there are as many processes as this needs.
    if ends.has_clients() {
        let processes = transfers.div_ceil(facts.a_process.max(1));
        let value = format!("{} a process, {processes} processes", facts.a_process);
        let remedy = "raise the hard limit of open files (ulimit -Hn) to have fewer processes";
        add("descriptors of a process", value, None, false, remedy);
    }

    if let Some(most) = facts.number("fs.file-max") {
        let remedy = "raise fs.file-max";
        add("open files of the machine", most.to_string(), Some(most / ends.count()), false, remedy);
    }

    let range = facts.numbers("net.ipv4.ip_local_port_range");
    let ports = match range[..] {
        [low, high] if high >= low => high - low + 1,
        _ => 28_232,
    };
    let addresses = if ends == Ends::Loopback { LOOPBACK_SOURCES } else { 1 };
    let remedy = "widen net.ipv4.ip_local_port_range, or run the clients on several machines";
    let value = format!("{ports} an address, {addresses} addresses");
    if ends.has_clients() {
        add("local ports", value, Some(ports * addresses * 9 / 10), false, remedy);
    }

    let of_client = if ends.has_clients() { CLIENT_BYTES } else { 0 };
    let each = KERNEL_BYTES * ends.count() / 2 + of_client;
    let usable = (facts.available_bytes as f64 * (1.0 - RESERVE)) as u64;
    let value = format!(
        "{} MiB available, {each} B a transfer without the server's own",
        facts.available_bytes >> 20
    );
    add("memory", value, Some(usable / each), false, "add memory, or pass a smaller --to");

    let unsent = facts.number(UNSENT).unwrap_or(u64::from(u32::MAX));
    let needed_unsent = UNSENT_BYTES.max((demand.pace_bytes_per_s * 2.0) as u64);
    if let [_, _, most] = facts.numbers(TCP_MEM)[..] {
        let is_queue_small = unsent <= 4 * needed_unsent;
        // The server's queue is of this machine only where the server is.
        let grows = ends.has_server() && !is_queue_small;
        let pages = if grows { CHARGED_BYTES / PAGE } else { CHARGED_PAGES };
        let changes_unsent = grows && transfers > most / pages && may_change;
        if changes_unsent {
            settings.insert(UNSENT.to_owned(), needed_unsent.to_string());
        }
        if grows {
            let value = format!("{unsent} B ({UNSENT})");
            let remedy = "lower net.ipv4.tcp_notsent_lowat: the server then queues less of each file";
            add("unsent bytes of a transfer", value, None, changes_unsent, remedy);
        }
        let pages = if changes_unsent { CHARGED_PAGES } else { pages };
        let needed = transfers * CHARGED_PAGES * 5 / 4;
        let changes_memory = may_change && transfers > most / pages;
        if changes_memory && needed > most {
            settings.insert(TCP_MEM.to_owned(), format!("{} {} {}", needed, needed * 5 / 4, needed * 3 / 2));
        }
        let value = format!("{most} pages, about {pages} a transfer");
        // Where it is short, TCP shrinks its queues: slower, and no failure by itself.
        add("memory of TCP", value, None, changes_memory && needed > most, "raise net.ipv4.tcp_mem");
    }

    if let Some(backlog) = facts.number("net.core.somaxconn") {
        let ms = backlog as f64 / demand.begin_per_s * 1e3;
        let value = format!("{backlog} connections, {ms:.0} ms of those that begin");
        add(
            "connections that wait to be accepted",
            value,
            None,
            false,
            "raise net.core.somaxconn, or pass a lower --begin-rate",
        );
    }
    if facts.is_tracking
        && let Some(most) = facts.number("net.netfilter.nf_conntrack_max")
    {
        let remedy = "raise net.netfilter.nf_conntrack_max, or exempt these connections (NOTRACK)";
        add("tracked connections", most.to_string(), Some(most), false, remedy);
    }
    if ends == Ends::Loopback && demand.transfers > MANY {
        for limit in of_loopback(facts, demand, may_change, &mut settings) {
            limits.push(limit);
        }
    }
    Room { limits, settings }
}

/// What loopback has and a network has not: timers that cost a part of the CPUs, for each segment that is paced, and for each
/// probe of a window that is closed until the client reads (a slow link keeps the window open); and one queue for the packets of
/// both ends.
fn of_loopback(
    facts: &RoomFacts,
    demand: &Demand,
    may_change: bool,
    settings: &mut BTreeMap<String, String>,
) -> Vec<ConcurrencyLimit> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: String, change: Option<(&str, String)>, remedy: &str| {
        let is_changed = may_change && change.is_some();
        settings.extend(change.filter(|_| may_change).map(|(name, value)| (name.to_owned(), value)));
        let (name, remedy) = (name.to_owned(), remedy.to_owned());
        found.push(ConcurrencyLimit { name, value, allows: None, is_changed, remedy });
    };
    if let Some(control) = facts.sysctls.get(CONGESTION).filter(|control| *control == "bbr") {
        add(
            "timers of what is sent",
            format!("one for each segment ({CONGESTION} is {control})"),
            Some((CONGESTION, RENO.to_owned())),
            "set net.ipv4.tcp_congestion_control to reno or cubic",
        );
    }
    if let Some(first_us) = facts.number(FIRST_PROBE) {
        // The next read opens the window before, also where the client is late because it begins other transfers.
        let needed_us = (demand.interval_s() * 3.0 * 1e6).min(LONGEST_PROBE_US) as u64;
        // Each one comes after twice the time.
        let probes = (demand.interval_s() * 1e6 / first_us as f64 + 1.0).log2() as u64;
        let change = (probes > 0 && needed_us > first_us).then(|| (FIRST_PROBE, needed_us.to_string()));
        add(
            "probes of closed windows",
            format!(
                "{probes} between two reads of a transfer, the first after {} ms ({FIRST_PROBE})",
                first_us / 1_000
            ),
            change,
            "raise net.ipv4.tcp_rto_min_us: the server then asks later whether a client has read",
        );
    }
    if let Some(probes) = facts.number(EARLY_PROBES).filter(|probes| *probes != 0) {
        add(
            "probes for a lost last segment",
            format!("when an acknowledgement takes two round trips ({EARLY_PROBES} is {probes})"),
            Some((EARLY_PROBES, "0".to_owned())),
            "set net.ipv4.tcp_early_retrans to 0: loopback loses nothing, and a client that reads later acknowledges later",
        );
    }
    if let Some(most) = facts.number(WAITING_PACKETS).filter(|most| *most < MOST_WAITING_PACKETS) {
        add(
            "packets between both ends",
            format!("{most} wait for a CPU, and what is more is dropped ({WAITING_PACKETS})"),
            Some((WAITING_PACKETS, MOST_WAITING_PACKETS.to_string())),
            "raise net.core.netdev_max_backlog",
        );
    }
    found
}

/// Whether connections are tracked: then there is one at least.
fn is_tracking() -> bool {
    let count = "net.netfilter.nf_conntrack_count"
        .parse()
        .ok()
        .and_then(|knob| Host::local().kernel_setting(&knob).ok());
    count.is_some_and(|count| count.trim() != "0")
}

/// What TCP may be charged before it is under pressure, with these changes.
pub(crate) fn tcp_pressure_bytes(facts: &RoomFacts, changes: &[ChangedSetting]) -> Option<u64> {
    let set = changes.iter().find(|change| change.name == TCP_MEM).map(|change| &change.to);
    let text = set.or_else(|| facts.sysctls.get(TCP_MEM))?;
    text.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE)
}

/// The limit that refuses the demand, if there is one: the tightest.
pub(crate) fn refusing(limits: &[ConcurrencyLimit], transfers: u32) -> Option<&ConcurrencyLimit> {
    let tight = limits.iter().filter(|limit| limit.allows.is_some_and(|most| most < u64::from(transfers)));
    tight.min_by_key(|limit| limit.allows)
}

#[cfg(test)]
mod tests;
