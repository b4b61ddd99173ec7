//! An outcome as numbers: whether it is valid, throughput, errors, percentiles, connections, and the client.
//!
//! The run over time is in [`crate::outcome::spans`]; the JSON of `showdown load` is in [`crate::output`].

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use stats::times::{Times, times_or_null};

use crate::drivers::http::status_of;
use crate::outcome::ClientOutcome;
use crate::outcome::LoadOutcome;
use crate::outcome::spans::per_second;
use crate::outcome::user_summary::{OutsideOperation, UserSummary};
use crate::outcome::validity::{self, BrokenRule};
use crate::record::{ErrorKind, OperationStats, RecordedTimes, times};
use crate::spec::LoadSpec;

/// One operation of the mix. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationSummary {
    /// Successful operations that were due in the measured time.
    pub requests: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Successful operations that ended within the measured time, a second.
    pub throughput_per_s: f64,
    /// From the intended start; of operations without an answer, to the moment at which the client gave up.
    #[serde(serialize_with = "times_or_null")]
    pub response_time_us: Times,
    /// The same without the client's lag, of successful operations.
    #[serde(serialize_with = "times_or_null")]
    pub server_time_us: Times,
    /// From the actual send.
    #[serde(serialize_with = "times_or_null")]
    pub service_time_us: Times,
    /// From the actual send to the first byte.
    #[serde(serialize_with = "times_or_null")]
    pub first_byte_us: Times,
    /// Bytes sent, payload and framing.
    pub bytes_sent: u64,
    /// Bytes received, payload and framing.
    pub bytes_received: u64,
}

/// The client's own behaviour. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientSummary {
    /// CPU time of the workers in user mode.
    pub user_cpu_s: f64,
    /// CPU time of the workers in the kernel.
    pub system_cpu_s: f64,
    /// Part of the two that was spent in polls that found no work, to wake in time.
    pub spin_cpu_s: f64,
    /// Share of its cores that the client needed for its work, 0 to 1.
    pub utilisation: f64,
    /// Time for which workers were ready to run and had no CPU.
    pub run_delay_s: f64,
    /// How late sends were.
    #[serde(serialize_with = "times_or_null")]
    pub lag_us: Times,
    /// How long replies lay unread.
    #[serde(serialize_with = "times_or_null")]
    pub pickup_us: Times,
    /// What the client added to an operation: the sum of the two.
    #[serde(serialize_with = "times_or_null")]
    pub delay_us: Times,
    /// Share of the timed operations whose end is a receive timestamp of the kernel, 0 to 1. The others end when the client
    /// has read the reply; their pickup is without the wake-up latency.
    pub stamped: f64,
    /// Worker threads.
    pub threads: u32,
    /// Processes.
    pub processes: u32,
}

/// One of several clients and its part of the load. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientPart {
    /// Its name.
    pub name: String,
    /// Whether it kept the rules.
    pub valid: bool,
    /// Why not, one line each.
    pub reasons: Vec<String>,
    /// Why it was lost, in one line, if it was.
    pub lost: Option<String>,
    /// Connections that were open at the start.
    pub connections: u32,
    /// Successful operations that were due in the measured time.
    pub requests: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Successful operations that ended within the measured time, a second.
    pub throughput_per_s: f64,
    /// Operations a second that fell due.
    pub offered_per_s: f64,
    /// From the intended start; of operations without an answer, to the moment at which the client gave up.
    #[serde(serialize_with = "times_or_null")]
    pub response_time_us: Times,
    /// How late sends were.
    #[serde(serialize_with = "times_or_null")]
    pub lag_us: Times,
    /// Share of its cores that it needed for its work, 0 to 1.
    pub utilisation: f64,
    /// Worker threads.
    pub threads: u32,
    /// Processes.
    pub processes: u32,
    /// The difference between its clock and the one here is known within this.
    pub clock_error_us: f64,
    /// By how much its clock ran faster than the one here during the load; negative where it was slower. None where the clocks
    /// were not compared again.
    pub clock_drift_us: Option<f64>,
    /// The shortest exchange with it.
    pub round_trip_us: f64,
}

/// Connections. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionSummary {
    /// Connections of the spec.
    pub asked: u32,
    /// Open at the start of the load.
    pub at_start: u32,
    /// Most at once.
    pub peak: u64,
    /// Opened in all.
    pub opened: u64,
    /// Time to connect.
    #[serde(serialize_with = "times_or_null")]
    pub connect_us: Times,
    /// How long operations waited for a free connection; only of those that waited.
    #[serde(serialize_with = "times_or_null")]
    pub wait_us: Times,
    /// TLS handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSummary>,
}

/// TLS handshakes. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TlsSummary {
    /// All handshakes.
    pub handshakes: u64,
    /// Those that resumed a session.
    pub resumed: u64,
    /// Their times, without the time to connect.
    #[serde(serialize_with = "times_or_null")]
    pub handshake_us: Times,
}

/// The numbers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Whether the numbers are valid.
    pub valid: bool,
    /// Why not, one line each.
    pub reasons: Vec<String>,
    /// The same for programs.
    pub rules_broken: Vec<BrokenRule>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Successful operations that were due in the measured time: the distributions are made of these.
    pub requests: u64,
    /// Successful operations that were due during the warm-up and ended in the measured time. They count as
    /// throughput and are not timed.
    pub carried: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Failures by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// The first failure of each kind in a line.
    pub error_examples: BTreeMap<ErrorKind, String>,
    /// Seconds measured.
    pub duration_s: f64,
    /// When measuring began.
    pub began: SystemTime,
    /// Successful operations that ended within the measured time, a second.
    pub throughput_per_s: f64,
    /// Operations a second that fell due; in a closed loop those that began.
    pub offered_per_s: f64,
    /// Bytes received a second, payload and framing.
    pub bytes_per_s: f64,
    /// From the intended start, all operations; of those without an answer, to the moment at which the client gave up.
    pub response_time_us: Times,
    /// Response times from here on are lower bounds: an operation was given up without an answer. None where all had one.
    pub gave_up_from_us: Option<u64>,
    /// The same without the client's lag, all operations.
    pub server_time_us: Times,
    /// From the actual send, all operations.
    pub service_time_us: Times,
    /// From the actual send to the first byte, all operations.
    pub first_byte_us: Times,
    /// By operation, in the order of the mix.
    pub operations: Vec<(String, OperationSummary)>,
    /// The protocol's own counters, such as hits and misses.
    pub counters: BTreeMap<String, u64>,
    /// The walk and the pacing of users, where the load has some.
    pub users: Option<UserSummary>,
    /// What users did outside their mix.
    pub outside: Vec<OutsideOperation>,
    /// Connections.
    pub connections: ConnectionSummary,
    /// The client; where there are several, their sum.
    pub client: ClientSummary,
    /// Each client, where there are several.
    pub clients: Vec<ClientPart>,
    /// The spec, with the seed: enough to run it again.
    pub spec: LoadSpec,
}

impl Summary {
    /// Computes the numbers of an outcome. Callers that need them twice pass them on.
    pub fn of(outcome: &LoadOutcome) -> Self {
        let (total, drain) = (&outcome.total, &outcome.drain);
        let validity = validity::check(outcome);
        let errors = total.errors();
        // What ended after the end was measured, and is no throughput of the measured time. In the server's own time, the
        // drain is a part of it.
        let is_own_time = !(outcome.due_before.is_zero() && outcome.spec.part.idle_within.is_zero());
        let a_second = |total: u64, drain: u64| {
            if is_own_time {
                per_second(total, outcome.own_time())
            } else {
                per_second(total - drain, outcome.measured)
            }
        };
        let operation = |(name, (op, drain)): (&String, (&OperationStats, &OperationStats))| {
            let mut response = op.response_time.clone();
            op.unanswered.add_to(&mut response);
            let summary = OperationSummary {
                requests: op.response_time.len(),
                failed: op.errors.total(),
                throughput_per_s: a_second(op.succeeded(), drain.succeeded()),
                response_time_us: times(&response),
                server_time_us: times(&op.server_time),
                service_time_us: times(&op.service_time),
                first_byte_us: times(&op.first_byte),
                bytes_sent: op.bytes_sent,
                bytes_received: op.bytes_received,
            };
            (name.clone(), summary)
        };
        let by_operation = total.operations.iter().zip(&drain.operations);
        let requests = total.merged(|op| &op.response_time).len();
        Self {
            valid: validity.reasons.is_empty(),
            reasons: validity.reasons.iter().map(ToString::to_string).collect(),
            notes: validity.notes,
            requests,
            carried: total.carried(),
            failed: errors.total(),
            errors: errors.counts,
            error_examples: errors.examples,
            duration_s: outcome.measured.as_secs_f64(),
            began: outcome.began,
            throughput_per_s: a_second(total.succeeded(), drain.succeeded()),
            offered_per_s: per_second(total.client.offered, outcome.due_for()),
            bytes_per_s: a_second(total.bytes_received(), drain.bytes_received()),
            response_time_us: times(&total.response_times()),
            gave_up_from_us: total.gave_up_from_us(),
            server_time_us: times(&total.merged(|op| &op.server_time)),
            service_time_us: times(&total.merged(|op| &op.service_time)),
            first_byte_us: times(&total.merged(|op| &op.first_byte)),
            operations: outcome.operations.iter().zip(by_operation).map(operation).collect(),
            counters: counters(outcome),
            users: UserSummary::of(outcome),
            outside: Vec::new(),
            connections: connections(outcome),
            client: client(outcome),
            clients: outcome.clients.iter().map(|client| client_part(client, &validity.reasons)).collect(),
            spec: outcome.spec.clone(),
            rules_broken: validity.reasons,
        }
    }

    /// Adds what users did outside their mix.
    pub fn add_outside(&mut self, operations: Vec<OutsideOperation>) {
        let broken = validity::broken_outside(&operations);
        self.valid &= broken.is_empty();
        self.reasons.extend(broken.iter().map(ToString::to_string));
        self.rules_broken.extend(broken);
        self.outside = operations;
    }

    /// Share of the operations that failed, 0 to 1.
    pub fn error_share(&self) -> f64 {
        self.failed as f64 / (self.requests + self.failed).max(1) as f64
    }

    /// Unix time at which measuring began.
    pub fn began_unix(&self) -> Duration {
        self.began.duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// The driver's counters by name. Of the statuses of HTTP, those that replies had.
fn counters(outcome: &LoadOutcome) -> BTreeMap<String, u64> {
    let all = outcome.counters.iter().cloned().zip(outcome.total.counters.iter().copied());
    all.filter(|(name, count)| *count > 0 || status_of(name).is_none()).collect()
}

fn connections(outcome: &LoadOutcome) -> ConnectionSummary {
    let stats = &outcome.total.connections;
    ConnectionSummary {
        asked: outcome.spec.connections,
        at_start: outcome.opened,
        peak: stats.open_peak,
        opened: stats.connect.len(),
        connect_us: times(&stats.connect),
        wait_us: times(&stats.wait),
        tls: outcome.spec.tls.as_ref().map(|_| TlsSummary {
            handshakes: stats.tls.len(),
            resumed: stats.tls_resumed,
            handshake_us: times(&stats.tls),
        }),
    }
}

/// A client's part, with those of the broken rules that are its own.
fn client_part(client: &ClientOutcome, broken: &[BrokenRule]) -> ClientPart {
    let ClientOutcome { name, clock, drift, lost, outcome } = client;
    let (total, drain) = (&outcome.total, &outcome.drain);
    let requests = total.merged(|op| &op.response_time).len();
    let own = broken.iter().filter(|rule| rule.client() == Some(name.as_str()));
    let reasons: Vec<String> = own.map(ToString::to_string).collect();
    ClientPart {
        name: name.clone(),
        valid: reasons.is_empty(),
        reasons,
        lost: lost.clone(),
        connections: outcome.opened,
        requests,
        failed: total.errors().total(),
        throughput_per_s: per_second(total.succeeded() - drain.succeeded(), outcome.measured),
        offered_per_s: per_second(total.client.offered, outcome.due_for()),
        response_time_us: times(&total.response_times()),
        lag_us: times(&total.client.lag),
        utilisation: outcome.utilisation(),
        threads: outcome.spec.workers,
        processes: outcome.processes,
        clock_error_us: clock.error_ns as f64 / 1e3,
        clock_drift_us: drift.map(|drift| drift.ns as f64 / 1e3),
        round_trip_us: clock.round_trip_ns as f64 / 1e3,
    }
}

fn client(outcome: &LoadOutcome) -> ClientSummary {
    let stats = &outcome.total.client;
    ClientSummary {
        user_cpu_s: stats.user_cpu_ns as f64 / 1e9,
        system_cpu_s: stats.system_cpu_ns as f64 / 1e9,
        spin_cpu_s: stats.spin_ns as f64 / 1e9,
        utilisation: outcome.utilisation(),
        run_delay_s: stats.run_delay_ns as f64 / 1e9,
        lag_us: times(&stats.lag),
        pickup_us: times(&stats.pickup),
        delay_us: times(&stats.delay),
        stamped: 1.0 - outcome.total.unstamped_share(),
        threads: outcome.spec.workers,
        processes: outcome.processes,
    }
}
