//! An outcome as the numbers that people and programs read: the object that `--format json` prints
//! (documented in `docs/FORMATS.md`).

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use stats::times::Times;

use crate::client_share::ClientShare;
use crate::collector::TimedInterval;
use crate::engine::Outcome;
use crate::record::{DRAIN, ErrorKind, Interval, OperationStats, PackError, times};
use crate::spec::{LoadSpec, Shape};
use crate::validity::{self, Reason};

/// One operation of the mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationSummary {
    /// Operations that were due in the measured time and ended well.
    pub requests: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Ended well within the measured time, a second.
    pub throughput_per_s: f64,
    /// From the intended start.
    pub response_time_us: Times,
    /// From the actual send.
    pub service_time_us: Times,
    /// From the actual send to the first byte.
    pub first_byte_us: Times,
    /// Bytes sent and received, payload and framing.
    pub bytes_sent: u64,
    /// Likewise.
    pub bytes_received: u64,
}

/// The client's own behaviour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientSummary {
    /// CPU time of the workers in user mode.
    pub user_cpu_s: f64,
    /// CPU time of the workers in the kernel.
    pub system_cpu_s: f64,
    /// Part of the two that was spent waiting precisely.
    pub spin_cpu_s: f64,
    /// Share of its cores that the client needed for its work, 0 to 1.
    pub utilisation: f64,
    /// Time for which workers were ready to run and had no CPU.
    pub run_delay_s: f64,
    /// How late sends were.
    pub lag_us: Times,
    /// How long replies lay unread.
    pub pickup_us: Times,
    /// Worker threads.
    pub threads: u32,
    /// Processes.
    pub processes: u32,
}

/// Connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionSummary {
    /// Asked for.
    pub asked: u32,
    /// Open at the start of the load.
    pub at_start: u32,
    /// Most at once.
    pub peak: u64,
    /// Opened in all.
    pub opened: u64,
    /// Time to connect.
    pub connect_us: Times,
    /// TLS handshakes: their number, how many resumed a session, and their times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSummary>,
}

/// TLS handshakes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TlsSummary {
    /// All of them.
    pub handshakes: u64,
    /// Those that resumed a session.
    pub resumed: u64,
    /// Their times, apart from connecting.
    pub handshake_us: Times,
}

/// One interval, or one step of an offered load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpanSummary {
    /// Seconds from the start of measuring.
    pub start_s: f64,
    /// Its length.
    pub length_s: f64,
    /// Operations a second that fell due.
    pub offered_per_s: f64,
    /// Operations that ended well in it, whenever they were due.
    pub requests: u64,
    /// Operations that failed in it.
    pub failed: u64,
    /// Operations that ended well in it, a second.
    pub throughput_per_s: f64,
    /// From the intended start.
    pub response_time_us: Times,
}

/// Everything that is to be said of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Whether the numbers may be believed.
    pub valid: bool,
    /// Why not, one line each.
    pub reasons: Vec<String>,
    /// The same for programs.
    pub rules_broken: Vec<Reason>,
    /// Percentiles of the response time of which a part may be the client's own.
    pub client_shares: Vec<ClientShare>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Operations that were due in the measured time and ended well: what the distributions are made of.
    pub requests: u64,
    /// Operations that were due during the warm-up and ended well in the measured time: they count as
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
    /// Unix time at which measuring began, seconds.
    pub began_unix_s: f64,
    /// Operations that ended well within the measured time, a second.
    pub throughput_per_s: f64,
    /// Operations a second that fell due; in a closed loop what was begun.
    pub offered_per_s: f64,
    /// Bytes received a second, payload and framing.
    pub bytes_per_s: f64,
    /// From the intended start, all operations.
    pub response_time_us: Times,
    /// From the actual send, all operations.
    pub service_time_us: Times,
    /// From the actual send to the first byte, all operations.
    pub first_byte_us: Times,
    /// By operation, in the order of the mix.
    #[serde(serialize_with = "as_objects")]
    pub operations: Vec<(String, OperationSummary)>,
    /// The protocol's own counters: hits and misses.
    pub counters: BTreeMap<String, u64>,
    /// Connections.
    pub connections: ConnectionSummary,
    /// The client.
    pub client: ClientSummary,
    /// Step by step, where the offered load has several.
    pub steps: Vec<SpanSummary>,
    /// Interval by interval.
    pub intervals: Vec<SpanSummary>,
    /// What ended after the end of the measured time, when no more began.
    pub drain: SpanSummary,
    /// What was asked, with the seed: enough to do it again.
    pub spec: LoadSpec,
}

/// Names and summaries as a list of objects that have a `name`.
fn as_objects<S: Serializer>(
    operations: &[(String, OperationSummary)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        name: &'a str,
        #[serde(flatten)]
        summary: &'a OperationSummary,
    }
    serializer.collect_seq(operations.iter().map(|(name, summary)| Named { name, summary }))
}

impl Summary {
    /// Reads everything off an outcome.
    pub fn of(outcome: &Outcome) -> Result<Self, PackError> {
        let (total, drain) = (&outcome.total, &outcome.drain);
        let validity = validity::check(outcome);
        let errors = total.errors();
        let bytes = |stats: &Interval| stats.operations.iter().map(|op| op.bytes_received).sum::<u64>();
        // What ended after the end was measured, but is no throughput of that time.
        let a_second = |total: u64, drain: u64| rate(total - drain, outcome.measured);
        let operation = |(name, (op, drain)): (&String, (&OperationStats, &OperationStats))| {
            let summary = OperationSummary {
                requests: op.response_time.len(),
                failed: op.errors.total(),
                throughput_per_s: a_second(op.succeeded(), drain.succeeded()),
                response_time_us: times(&op.response_time),
                service_time_us: times(&op.service_time),
                first_byte_us: times(&op.first_byte),
                bytes_sent: op.bytes_sent,
                bytes_received: op.bytes_received,
            };
            (name.clone(), summary)
        };
        let by_operation = total.operations.iter().zip(&drain.operations);
        let response = total.merged(|op| &op.response_time);
        Ok(Self {
            valid: validity.reasons.is_empty(),
            reasons: validity.reasons.iter().map(ToString::to_string).collect(),
            rules_broken: validity.reasons,
            client_shares: validity.client_shares,
            notes: validity.notes,
            requests: response.len(),
            carried: total.carried(),
            failed: errors.total(),
            errors: errors.counts,
            error_examples: errors.examples,
            duration_s: outcome.measured.as_secs_f64(),
            began_unix_s: outcome.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            throughput_per_s: a_second(total.succeeded(), drain.succeeded()),
            offered_per_s: rate(total.client.offered, outcome.measured),
            bytes_per_s: a_second(bytes(total), bytes(drain)),
            response_time_us: times(&response),
            service_time_us: times(&total.merged(|op| &op.service_time)),
            first_byte_us: times(&total.merged(|op| &op.first_byte)),
            operations: outcome.operations.iter().zip(by_operation).map(operation).collect(),
            counters: outcome.counters.iter().cloned().zip(total.counters.iter().copied()).collect(),
            connections: connections(outcome),
            client: client(outcome),
            steps: steps(outcome)?,
            intervals: intervals(outcome)?,
            drain: span(outcome.measured, outcome.draining, drain),
            spec: outcome.spec.clone(),
        })
    }
}

/// A count over a length of time; zero where there was no time.
fn rate(count: u64, length: Duration) -> f64 {
    if length.is_zero() { 0.0 } else { count as f64 / length.as_secs_f64() }
}

fn connections(outcome: &Outcome) -> ConnectionSummary {
    let stats = &outcome.total.connections;
    ConnectionSummary {
        asked: outcome.spec.connections,
        at_start: outcome.opened,
        peak: stats.open_peak,
        opened: stats.connect.len(),
        connect_us: times(&stats.connect),
        tls: outcome.spec.tls.as_ref().map(|_| TlsSummary {
            handshakes: stats.tls.len(),
            resumed: stats.tls_resumed,
            handshake_us: times(&stats.tls),
        }),
    }
}

fn client(outcome: &Outcome) -> ClientSummary {
    let stats = &outcome.total.client;
    ClientSummary {
        user_cpu_s: stats.user_cpu_ns as f64 / 1e9,
        system_cpu_s: stats.system_cpu_ns as f64 / 1e9,
        spin_cpu_s: stats.spin_ns as f64 / 1e9,
        utilisation: outcome.utilisation(),
        run_delay_s: stats.run_delay_ns as f64 / 1e9,
        lag_us: times(&stats.lag),
        pickup_us: times(&stats.pickup),
        threads: outcome.spec.workers,
        processes: outcome.processes,
    }
}

fn span(start: Duration, length: Duration, stats: &Interval) -> SpanSummary {
    SpanSummary {
        start_s: start.as_secs_f64(),
        length_s: length.as_secs_f64(),
        offered_per_s: rate(stats.client.offered, length),
        requests: stats.succeeded(),
        failed: stats.errors().total(),
        throughput_per_s: rate(stats.succeeded(), length),
        response_time_us: times(&stats.merged(|op| &op.response_time)),
    }
}

/// The measured intervals but the drain, with their start and length.
fn measured_intervals(outcome: &Outcome) -> impl Iterator<Item = (Duration, Duration, &TimedInterval)> {
    outcome.intervals.iter().filter(|interval| (0..DRAIN).contains(&interval.index)).map(|interval| {
        let (start, length) = outcome.span_of(interval);
        (start, length, interval)
    })
}

fn intervals(outcome: &Outcome) -> Result<Vec<SpanSummary>, PackError> {
    measured_intervals(outcome)
        .map(|(start, length, interval)| Ok(span(start, length, &interval.stats.unpack()?)))
        .collect()
}

/// Merges the intervals of each step of the offered load. A interval belongs to the step in which it begins.
fn steps(outcome: &Outcome) -> Result<Vec<SpanSummary>, PackError> {
    let Shape::Open { rate, .. } = &outcome.spec.shape else { return Ok(Vec::new()) };
    let mut begin = Duration::ZERO;
    let mut summaries = Vec::new();
    let steps = rate.steps();
    if steps.len() < 2 {
        return Ok(summaries);
    }
    for (length, ..) in steps {
        let end = begin + length;
        let mut merged = Interval::new(outcome.operations.len(), outcome.counters.len());
        let mut measured = Duration::ZERO;
        for (start, length, interval) in measured_intervals(outcome) {
            if start >= begin && start < end {
                merged.append(&interval.stats.unpack()?);
                measured += length;
            }
        }
        if !measured.is_zero() {
            summaries.push(span(begin, measured, &merged));
        }
        begin = end;
    }
    Ok(summaries)
}
