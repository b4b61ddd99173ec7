//! The counts and histograms of one interval: a worker fills them, and the collector adds them up.

use serde::{Deserialize, Serialize};

use super::errors::Errors;
use super::micros::{Micros, RecordedTimes, micros};
use super::user_stats::{UserStats, merge_users};

/// The part of one operation in an interval: what ended in it. Histograms contain successful operations.
///
/// A reply ends when the kernel has received its last byte, or, where the kernel gives no timestamp, when the client has
/// read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationStats<H = Micros> {
    /// From the intended start to the end of the reply.
    pub response_time: H,
    /// Of operations without an answer: from the intended start to the moment at which the client gave up. Their response
    /// times are at least that.
    pub unanswered: H,
    /// The same without the client's lag: the wait for a free connection, and the service time.
    pub server_time: H,
    /// From the actual send to the end of the reply.
    pub service_time: H,
    /// From the actual send to the first byte of the reply.
    pub first_byte: H,
    /// Successful operations that are in no histogram, because they were due during the warm-up.
    pub carried: u64,
    /// Payload and framing, as passed to the socket or to TLS.
    pub bytes_sent: u64,
    /// Payload and framing, as received; of a runner's operations, the bytes that they moved.
    pub bytes_received: u64,
    /// Failures.
    pub errors: Errors,
}

impl OperationStats {
    fn new() -> Self {
        Self {
            response_time: micros(),
            unanswered: micros(),
            server_time: micros(),
            service_time: micros(),
            first_byte: micros(),
            carried: 0,
            bytes_sent: 0,
            bytes_received: 0,
            errors: Errors::default(),
        }
    }

    fn merge<H: RecordedTimes>(&mut self, other: &OperationStats<H>) {
        other.response_time.add_to(&mut self.response_time);
        other.unanswered.add_to(&mut self.unanswered);
        other.server_time.add_to(&mut self.server_time);
        other.service_time.add_to(&mut self.service_time);
        other.first_byte.add_to(&mut self.first_byte);
        self.carried += other.carried;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.errors.merge(&other.errors);
    }

    fn clear(&mut self) {
        let service = [&mut self.service_time, &mut self.first_byte];
        let response = [&mut self.response_time, &mut self.unanswered, &mut self.server_time];
        for histogram in response.into_iter().chain(service) {
            histogram.reset();
        }
        (self.carried, self.bytes_sent, self.bytes_received) = (0, 0, 0);
        self.errors = Errors::default();
    }
}

impl<H: RecordedTimes> OperationStats<H> {
    /// Successful operations, timed or not: what throughput counts.
    pub fn succeeded(&self) -> u64 {
        self.response_time.count() + self.carried
    }
}

/// Connections in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionStats<H = Micros> {
    /// From the connect call to the established connection.
    pub connect: H,
    /// TLS handshakes.
    pub tls: H,
    /// TLS handshakes that resumed a session.
    pub tls_resumed: u64,
    /// How long operations waited for a free connection; only of those that waited.
    pub wait: H,
    /// Of operations whose connection was not open when the client gave up, see [`OperationStats::unanswered`].
    pub unanswered: H,
    /// Connections whose operations all went without a reply, until the end of the part; in its last interval.
    pub silent: u64,
    /// Most connections open at once, summed over workers.
    pub open_peak: u64,
    /// Operations that failed because their connection could not be opened, and connections that broke while no
    /// operation was in flight.
    pub errors: Errors,
}

impl Default for ConnectionStats {
    /// No connections.
    fn default() -> Self {
        Self {
            connect: micros(),
            tls: micros(),
            tls_resumed: 0,
            wait: micros(),
            unanswered: micros(),
            silent: 0,
            open_peak: 0,
            errors: Errors::default(),
        }
    }
}

impl ConnectionStats {
    /// Adds the connections of another worker, process or interval.
    pub fn merge<H: RecordedTimes>(&mut self, other: &ConnectionStats<H>) {
        other.connect.add_to(&mut self.connect);
        other.tls.add_to(&mut self.tls);
        other.wait.add_to(&mut self.wait);
        other.unanswered.add_to(&mut self.unanswered);
        self.tls_resumed += other.tls_resumed;
        self.silent += other.silent;
        self.open_peak += other.open_peak;
        self.errors.merge(&other.errors);
    }
}

/// The client's own behaviour in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientStats<H = Micros> {
    /// How late a send was because of the client: from the moment at which the operation was due and a connection
    /// was free, to the moment before the send.
    pub lag: H,
    /// How long the end of a reply lay unread: from its receipt by the kernel. Where the kernel gives no timestamp, from
    /// the moment at which the worker woke up, without its wake-up latency.
    pub pickup: H,
    /// What the client added to an operation: the sum of its lag and its pickup.
    pub delay: H,
    /// Timed operations whose end has no timestamp of the kernel: they end when the client has read the reply.
    pub unstamped: u64,
    /// Operations that fell due; not counted during the warm-up.
    pub offered: u64,
    /// CPU time of the worker threads in user mode, nanoseconds.
    pub user_cpu_ns: u64,
    /// CPU time of the worker threads in the kernel, nanoseconds.
    pub system_cpu_ns: u64,
    /// CPU time of polls that found no work, nanoseconds: a part of the two above.
    pub spin_ns: u64,
    /// Time in the run queue: the worker threads were ready to run and had no CPU, nanoseconds.
    pub run_delay_ns: u64,
    /// Number of worker threads times their wall-clock time, nanoseconds.
    pub wall_ns: u64,
}

impl<H> ClientStats<H> {
    /// CPU time as a share of the wall-clock time, spinning included: 1 for a client that never slept; 0 where there was no time.
    pub fn cpu(&self) -> f64 {
        let cpu_ns = self.user_cpu_ns + self.system_cpu_ns;
        if self.wall_ns == 0 { 0.0 } else { cpu_ns as f64 / self.wall_ns as f64 }
    }

    /// Share of its cores that the client needed for its work outside of `part`, an interval that is included in this
    /// sum. Spinning is not work. 0 to 1; 0 where there was no time.
    pub fn utilisation_without(&self, part: &Self) -> f64 {
        let cpu_ns = |stats: &Self| stats.user_cpu_ns + stats.system_cpu_ns;
        // Spinning is timed by the wall clock. For a thread that waited for its core it can be longer than the CPU
        // time.
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

/// The record of one interval of a run, or of several merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval<H = Micros> {
    /// By operation id.
    pub operations: Vec<OperationStats<H>>,
    /// Connections.
    pub connections: ConnectionStats<H>,
    /// The client.
    pub client: ClientStats<H>,
    /// The driver's counters, in the order of its names.
    pub counters: Vec<u64>,
    /// The users, where the load has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Box<UserStats<H>>>,
}

impl Interval {
    /// An empty interval.
    pub fn new(operations: usize, counters: usize) -> Self {
        Self {
            operations: (0..operations).map(|_| OperationStats::new()).collect(),
            connections: ConnectionStats::default(),
            client: ClientStats {
                lag: micros(),
                pickup: micros(),
                delay: micros(),
                unstamped: 0,
                offered: 0,
                user_cpu_ns: 0,
                system_cpu_ns: 0,
                spin_ns: 0,
                run_delay_ns: 0,
                wall_ns: 0,
            },
            counters: vec![0; counters],
            users: None,
        }
    }

    /// Adds the record of another worker, process or interval of the same operations.
    pub fn merge<H: RecordedTimes>(&mut self, other: &Interval<H>) {
        debug_assert_eq!(self.operations.len(), other.operations.len(), "intervals of one run");
        for (sum, part) in self.operations.iter_mut().zip(&other.operations) {
            sum.merge(part);
        }
        self.connections.merge(&other.connections);
        let (sum, part) = (&mut self.client, &other.client);
        part.lag.add_to(&mut sum.lag);
        part.pickup.add_to(&mut sum.pickup);
        part.delay.add_to(&mut sum.delay);
        sum.unstamped += part.unstamped;
        sum.offered += part.offered;
        sum.user_cpu_ns += part.user_cpu_ns;
        sum.system_cpu_ns += part.system_cpu_ns;
        sum.spin_ns += part.spin_ns;
        sum.run_delay_ns += part.run_delay_ns;
        sum.wall_ns += part.wall_ns;
        for (sum, part) in self.counters.iter_mut().zip(&other.counters) {
            *sum += part;
        }
        merge_users(&mut self.users, other.users.as_deref());
    }

    /// Adds a later interval of the same workers: as [`Interval::merge`], but a peak stays a peak.
    pub fn append<H: RecordedTimes>(&mut self, later: &Interval<H>) {
        let peak = self.connections.open_peak.max(later.connections.open_peak);
        let silent = self.connections.silent.max(later.connections.silent);
        self.merge(later);
        self.connections.silent = silent;
        self.connections.open_peak = peak;
    }

    /// Empties the interval and keeps its memory.
    pub fn clear(&mut self) {
        self.operations.iter_mut().for_each(OperationStats::clear);
        self.connections.connect.reset();
        self.connections.tls.reset();
        self.connections.wait.reset();
        self.connections.unanswered.reset();
        (self.connections.tls_resumed, self.connections.open_peak, self.connections.silent) = (0, 0, 0);
        self.connections.errors = Errors::default();
        let client = &mut self.client;
        client.lag.reset();
        client.pickup.reset();
        client.delay.reset();
        (client.unstamped, client.offered) = (0, 0);
        (client.user_cpu_ns, client.system_cpu_ns) = (0, 0);
        (client.spin_ns, client.run_delay_ns, client.wall_ns) = (0, 0, 0);
        self.counters.fill(0);
        self.users.iter_mut().for_each(|users| users.clear());
    }

    /// The same with each histogram in another form.
    pub(super) fn map_histograms<H>(&self, form: impl Fn(&Micros) -> H) -> Interval<H> {
        let operation = |op: &OperationStats| OperationStats {
            response_time: form(&op.response_time),
            unanswered: form(&op.unanswered),
            server_time: form(&op.server_time),
            service_time: form(&op.service_time),
            first_byte: form(&op.first_byte),
            carried: op.carried,
            bytes_sent: op.bytes_sent,
            bytes_received: op.bytes_received,
            errors: op.errors.clone(),
        };
        let (connections, client) = (&self.connections, &self.client);
        Interval {
            operations: self.operations.iter().map(operation).collect(),
            connections: ConnectionStats {
                connect: form(&connections.connect),
                tls: form(&connections.tls),
                wait: form(&connections.wait),
                unanswered: form(&connections.unanswered),
                tls_resumed: connections.tls_resumed,
                silent: connections.silent,
                open_peak: connections.open_peak,
                errors: connections.errors.clone(),
            },
            client: ClientStats {
                lag: form(&client.lag),
                pickup: form(&client.pickup),
                delay: form(&client.delay),
                unstamped: client.unstamped,
                offered: client.offered,
                user_cpu_ns: client.user_cpu_ns,
                system_cpu_ns: client.system_cpu_ns,
                spin_ns: client.spin_ns,
                run_delay_ns: client.run_delay_ns,
                wall_ns: client.wall_ns,
            },
            counters: self.counters.clone(),
            users: self.users.as_ref().map(|users| Box::new(users.map_histogram(&form))),
        }
    }
}

impl<H: RecordedTimes> Interval<H> {
    /// Successful operations of all kinds, timed or not.
    pub fn succeeded(&self) -> u64 {
        self.operations.iter().map(OperationStats::succeeded).sum()
    }

    /// Successful operations of all kinds that were not timed.
    pub fn carried(&self) -> u64 {
        self.operations.iter().map(|op| op.carried).sum()
    }

    /// Share of the timed operations whose end has no timestamp of the kernel, 0 to 1; 1 where there are none.
    pub fn unstamped_share(&self) -> f64 {
        match self.operations.iter().map(|op| op.response_time.count()).sum::<u64>() {
            0 => 1.0,
            timed => self.client.unstamped as f64 / timed as f64,
        }
    }

    /// Number of failures over all operations and connections.
    pub fn failed(&self) -> u64 {
        self.connections.errors.total() + self.operations.iter().map(|op| op.errors.total()).sum::<u64>()
    }

    /// Failures over all operations and connections.
    pub fn errors(&self) -> Errors {
        let mut all = self.connections.errors.clone();
        self.operations.iter().for_each(|op| all.merge(&op.errors));
        all
    }

    /// Bytes received over all operations.
    pub fn bytes_received(&self) -> u64 {
        self.operations.iter().map(|op| op.bytes_received).sum()
    }

    /// Bytes sent over all operations.
    pub fn bytes_sent(&self) -> u64 {
        self.operations.iter().map(|op| op.bytes_sent).sum()
    }

    /// The response times of all operations: of those without an answer, when the client gave up.
    pub fn response_times(&self) -> Micros {
        let mut all = self.merged(|op| &op.response_time);
        self.add_unanswered(&mut all);
        all
    }

    /// The least response time that is a lower bound: of an operation that the client gave up. None where all had an
    /// answer.
    pub fn gave_up_from_us(&self) -> Option<u64> {
        let mut unanswered = micros();
        self.add_unanswered(&mut unanswered);
        (!unanswered.is_empty()).then(|| unanswered.min())
    }

    fn add_unanswered(&self, sum: &mut Micros) {
        self.operations.iter().for_each(|op| op.unanswered.add_to(sum));
        self.connections.unanswered.add_to(sum);
    }

    /// One histogram of all operations, such as `|op| &op.response_time`.
    pub fn merged(&self, of: impl Fn(&OperationStats<H>) -> &H) -> Micros {
        let mut all = micros();
        self.operations.iter().for_each(|op| of(op).add_to(&mut all));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ErrorKind, record};

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
        assert_eq!((a.succeeded(), a.failed(), a.errors().total(), a.counters[0]), (2_000, 2, 2, 5));
        assert_eq!(a.operations[0].response_time.value_at_quantile(0.5), 999);
        assert_eq!(a.errors().examples[&ErrorKind::Timeout], "no reply within 1s");
    }

    #[test]
    fn utilisation_excludes_spinning_even_where_spinning_exceeds_the_cpu_time() {
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
    fn a_cleared_interval_equals_a_new_one() {
        let mut interval = Interval::new(2, 1);
        record(&mut interval.operations[1].service_time, 5);
        interval.operations[0].errors.add(ErrorKind::Reset, 1, "x");
        interval.operations[0].carried = 2;
        interval.client.offered = 3;
        interval.client.run_delay_ns = 4;
        interval.client.unstamped = 5;
        record(&mut interval.operations[0].server_time, 6);
        record(&mut interval.client.delay, 7);
        record(&mut interval.connections.wait, 8);
        interval.clear();
        assert_eq!(interval, Interval::new(2, 1));
    }
}
