//! One interval's counts and histograms, as a worker fills them and as they are merged.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Micros, micros};

/// How an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Nobody listens (ECONNREFUSED).
    Refused,
    /// The peer reset the connection (ECONNRESET, EPIPE).
    Reset,
    /// The peer closed before the reply was whole.
    Closed,
    /// No whole reply within the timeout.
    Timeout,
    /// Bytes that the protocol does not allow.
    Protocol,
    /// A whole reply, but not the one expected.
    UnexpectedReply,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// This process may open no more descriptors (EMFILE, ENFILE).
    NoDescriptors,
    /// No local port is left towards the address (EADDRNOTAVAIL).
    NoPorts,
    /// No route (EHOSTUNREACH, ENETUNREACH).
    Unreachable,
    /// Due, but no connection became free within the timeout, or the run ended first.
    Unsent,
    /// A failure that a runner counted, which times its own operations.
    Reported,
    /// Any other error of the system.
    Io,
}

impl ErrorKind {
    /// As in JSON: `unexpected_reply`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::UnexpectedReply => "unexpected_reply",
            Self::Tls => "tls",
            Self::NoDescriptors => "no_descriptors",
            Self::NoPorts => "no_ports",
            Self::Unreachable => "unreachable",
            Self::Unsent => "unsent",
            Self::Reported => "reported",
            Self::Io => "io",
        }
    }
}

impl fmt::Display for ErrorKind {
    /// For people: `unexpected reply`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().replace('_', " "))
    }
}

/// Failed operations by kind, with the first example of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Number of failures of each kind.
    pub counts: BTreeMap<ErrorKind, u64>,
    /// The first failure of each kind in a line.
    pub examples: BTreeMap<ErrorKind, String>,
}

impl Errors {
    /// Counts `count` failures of a kind; `example` is kept if it is the first. None leave no trace.
    pub fn add(&mut self, kind: ErrorKind, count: u64, example: &str) {
        if count == 0 {
            return;
        }
        *self.counts.entry(kind).or_default() += count;
        if !example.is_empty() && !self.examples.contains_key(&kind) {
            self.examples.insert(kind, example.to_owned());
        }
    }

    /// Failures of a kind.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// All failures.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (&kind, &count) in &other.counts {
            self.add(kind, count, other.examples.get(&kind).map_or("", String::as_str));
        }
    }
}

/// One operation's share of an interval: what ended in it. Histograms hold operations that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationStats {
    /// From the intended start to the end of the reply.
    pub response_time: Micros,
    /// From the actual send to the end of the reply.
    pub service_time: Micros,
    /// From the actual send to the first byte of the reply.
    pub first_byte: Micros,
    /// Operations that ended well and are in none of the histograms, since they were due during the warm-up.
    pub carried: u64,
    /// Payload and framing, as handed to the socket or TLS.
    pub bytes_sent: u64,
    /// Likewise, as received; of a runner's operations, what they moved.
    pub bytes_received: u64,
    /// Failures.
    pub errors: Errors,
}

impl OperationStats {
    fn new() -> Self {
        Self {
            response_time: micros(),
            service_time: micros(),
            first_byte: micros(),
            carried: 0,
            bytes_sent: 0,
            bytes_received: 0,
            errors: Errors::default(),
        }
    }

    /// Operations that ended well, timed or not: what throughput counts.
    pub fn succeeded(&self) -> u64 {
        self.response_time.len() + self.carried
    }

    fn merge(&mut self, other: &Self) {
        add(&mut self.response_time, &other.response_time);
        add(&mut self.service_time, &other.service_time);
        add(&mut self.first_byte, &other.first_byte);
        self.carried += other.carried;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.errors.merge(&other.errors);
    }

    fn clear(&mut self) {
        for histogram in [&mut self.response_time, &mut self.service_time, &mut self.first_byte] {
            histogram.reset();
        }
        (self.carried, self.bytes_sent, self.bytes_received) = (0, 0, 0);
        self.errors = Errors::default();
    }
}

/// Connections in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionStats {
    /// From the connect call to the established connection.
    pub connect: Micros,
    /// TLS handshakes.
    pub tls: Micros,
    /// TLS handshakes that resumed a session.
    pub tls_resumed: u64,
    /// Most connections open at once, summed over workers.
    pub open_peak: u64,
    /// Operations that failed because their connection could not be opened, and connections that broke
    /// while nothing was in flight.
    pub errors: Errors,
}

/// The client's own behaviour in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientStats {
    /// How late a send was for the client's own reasons: from the moment at which the operation was due and
    /// a connection was free, to the moment before the send.
    pub lag: Micros,
    /// How long a reply that the kernel had reported lay before it was read.
    pub pickup: Micros,
    /// Operations that fell due; not counted during the warm-up.
    pub offered: u64,
    /// CPU time of the worker threads in user mode, nanoseconds.
    pub user_cpu_ns: u64,
    /// CPU time of the worker threads in the kernel, nanoseconds.
    pub system_cpu_ns: u64,
    /// CPU time spent in looking for work that was not there, nanoseconds: a part of the two above.
    pub spin_ns: u64,
    /// Time for which the worker threads were ready to run and had no CPU, nanoseconds.
    pub run_delay_ns: u64,
    /// Worker threads times their wall-clock time, nanoseconds.
    pub wall_ns: u64,
}

impl ClientStats {
    /// Share of its cores that the client needed for its work outside of `part`, which is one of the intervals
    /// added up here; spinning is no work. 0 to 1, 0 where there was no time.
    pub fn utilisation_without(&self, part: &Self) -> f64 {
        let cpu_ns = |stats: &Self| stats.user_cpu_ns + stats.system_cpu_ns;
        // Spinning is timed by the wall clock, so that of a thread that had to wait for its core is longer than
        // its CPU time.
        let busy_ns = (cpu_ns(self) - cpu_ns(part)).saturating_sub(self.spin_ns - part.spin_ns);
        let wall_ns = self.wall_ns - part.wall_ns;
        if wall_ns == 0 { 0.0 } else { busy_ns as f64 / wall_ns as f64 }
    }

    /// Share of its time outside of `part` for which the client was ready to run and had no CPU; 0 to 1.
    pub fn starvation_without(&self, part: &Self) -> f64 {
        let wall_ns = self.wall_ns - part.wall_ns;
        if wall_ns == 0 { 0.0 } else { (self.run_delay_ns - part.run_delay_ns) as f64 / wall_ns as f64 }
    }
}

/// All that is recorded in one interval of a run, or in many merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// By operation id.
    pub operations: Vec<OperationStats>,
    /// Connections.
    pub connections: ConnectionStats,
    /// The client.
    pub client: ClientStats,
    /// The driver's counters, in the order of its names.
    pub counters: Vec<u64>,
}

impl Interval {
    /// Nothing recorded yet.
    pub fn new(operations: usize, counters: usize) -> Self {
        Self {
            operations: (0..operations).map(|_| OperationStats::new()).collect(),
            connections: ConnectionStats {
                connect: micros(),
                tls: micros(),
                tls_resumed: 0,
                open_peak: 0,
                errors: Errors::default(),
            },
            client: ClientStats {
                lag: micros(),
                pickup: micros(),
                offered: 0,
                user_cpu_ns: 0,
                system_cpu_ns: 0,
                spin_ns: 0,
                run_delay_ns: 0,
                wall_ns: 0,
            },
            counters: vec![0; counters],
        }
    }

    /// Adds what another worker, process or interval recorded of the same operations.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.operations.len(), other.operations.len(), "intervals of one run");
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(theirs);
        }
        add(&mut self.connections.connect, &other.connections.connect);
        add(&mut self.connections.tls, &other.connections.tls);
        self.connections.tls_resumed += other.connections.tls_resumed;
        self.connections.open_peak += other.connections.open_peak;
        self.connections.errors.merge(&other.connections.errors);
        let (mine, theirs) = (&mut self.client, &other.client);
        add(&mut mine.lag, &theirs.lag);
        add(&mut mine.pickup, &theirs.pickup);
        mine.offered += theirs.offered;
        mine.user_cpu_ns += theirs.user_cpu_ns;
        mine.system_cpu_ns += theirs.system_cpu_ns;
        mine.spin_ns += theirs.spin_ns;
        mine.run_delay_ns += theirs.run_delay_ns;
        mine.wall_ns += theirs.wall_ns;
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            *mine += theirs;
        }
    }

    /// Adds a later interval of the same workers: as [`Interval::merge`], but a peak stays a peak.
    pub fn append(&mut self, later: &Self) {
        let peak = self.connections.open_peak.max(later.connections.open_peak);
        self.merge(later);
        self.connections.open_peak = peak;
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.operations.iter_mut().for_each(OperationStats::clear);
        self.connections.connect.reset();
        self.connections.tls.reset();
        (self.connections.tls_resumed, self.connections.open_peak) = (0, 0);
        self.connections.errors = Errors::default();
        let client = &mut self.client;
        client.lag.reset();
        client.pickup.reset();
        client.offered = 0;
        (client.user_cpu_ns, client.system_cpu_ns) = (0, 0);
        (client.spin_ns, client.run_delay_ns, client.wall_ns) = (0, 0, 0);
        self.counters.fill(0);
    }

    /// Operations that ended well, over all kinds, timed or not.
    pub fn succeeded(&self) -> u64 {
        self.operations.iter().map(OperationStats::succeeded).sum()
    }

    /// Operations that ended well and were not timed, over all kinds.
    pub fn carried(&self) -> u64 {
        self.operations.iter().map(|op| op.carried).sum()
    }

    /// Failures over all operations and connections.
    pub fn errors(&self) -> Errors {
        let mut all = self.connections.errors.clone();
        self.operations.iter().for_each(|op| all.merge(&op.errors));
        all
    }

    /// One histogram of all operations, such as `|op| &op.response_time`.
    pub fn merged(&self, of: impl Fn(&OperationStats) -> &Micros) -> Micros {
        let mut all = micros();
        self.operations.iter().for_each(|op| add(&mut all, of(op)));
        all
    }
}

/// Adds without loss; both are of three digits, and the left one grows.
fn add(to: &mut Micros, from: &Micros) {
    if !from.is_empty() {
        to.add(from).expect("histograms of the same precision add, and this one grows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record;

    #[test]
    fn merging_loses_nothing() {
        let (mut a, mut b) = (Interval::new(1, 1), Interval::new(1, 1));
        for us in 0..1_000 {
            record(&mut a.operations[0].response_time, us);
            record(&mut b.operations[0].response_time, us + 1_000);
        }
        b.operations[0].errors.add(ErrorKind::Timeout, 2, "no reply within 1s");
        b.counters[0] = 5;
        a.merge(&b);
        assert_eq!((a.succeeded(), a.errors().total(), a.counters[0]), (2_000, 2, 5));
        assert_eq!(a.operations[0].response_time.value_at_quantile(0.5), 999);
        assert_eq!(a.errors().examples[&ErrorKind::Timeout], "no reply within 1s");
    }

    #[test]
    fn utilisation_leaves_out_spinning_also_where_that_seems_longer_than_the_cpu_time() {
        let client = |user_cpu_ns, spin_ns, wall_ns| ClientStats {
            user_cpu_ns,
            spin_ns,
            wall_ns,
            ..Interval::new(0, 0).client
        };
        let drain = client(50, 10, 100);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(client(50 + 700, 10 + 300, 100 + 1_000).utilisation_without(&drain), 0.4));
        assert!(close(client(50 + 200, 10 + 300, 100 + 1_000).utilisation_without(&drain), 0.0));
        assert!(close(drain.utilisation_without(&drain), 0.0));
    }

    #[test]
    fn a_kind_of_error_is_called_the_same_everywhere() {
        let all = [
            ErrorKind::Refused,
            ErrorKind::Reset,
            ErrorKind::Closed,
            ErrorKind::Timeout,
            ErrorKind::Protocol,
            ErrorKind::UnexpectedReply,
            ErrorKind::Tls,
            ErrorKind::NoDescriptors,
            ErrorKind::NoPorts,
            ErrorKind::Unreachable,
            ErrorKind::Unsent,
            ErrorKind::Reported,
            ErrorKind::Io,
        ];
        for kind in all {
            assert_eq!(serde_json::to_value(kind).expect("plain data"), kind.name());
        }
        assert_eq!(ErrorKind::NoPorts.to_string(), "no ports");
    }

    #[test]
    fn a_cleared_interval_is_as_new() {
        let mut interval = Interval::new(2, 1);
        record(&mut interval.operations[1].service_time, 5);
        interval.operations[0].errors.add(ErrorKind::Reset, 1, "x");
        interval.operations[0].carried = 2;
        interval.client.offered = 3;
        interval.client.run_delay_ns = 4;
        interval.clear();
        assert_eq!(interval, Interval::new(2, 1));
    }
}
