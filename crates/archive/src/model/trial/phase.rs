//! One phase of a trial: the offered load, the results, and the state of the client.

use crate::model::{QuantileCurve, Times};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The purpose of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// The closed loop, which measures the highest throughput.
    ClosedLoop,
    /// One step of the capacity search.
    SearchStep,
    /// The measurement that gives the trial its value.
    Measure,
    /// One step of a latency curve.
    CurveStep,
    /// The fixed background load, from start to end of the other phases.
    Background,
}

/// One phase of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialPhase {
    /// Its purpose.
    pub kind: PhaseKind,
    /// Seconds from the start of the trial.
    pub start_s: f64,
    /// Its length, seconds. Of a phase in slices: the time under load.
    pub length_s: f64,
    /// Its slices, where other servers were loaded in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<PhaseSlices>,
    /// Operations per second that were due; `None` in a closed loop, which has no schedule.
    pub offered_per_s: Option<f64>,
    /// Operations per second that succeeded.
    pub throughput_per_s: f64,
    /// Operations that succeeded.
    pub requests: u64,
    /// Failed operations by kind of failure.
    pub errors: BTreeMap<String, u64>,
    /// Response time: from the intended start of an operation. Of one that timed out, to the moment at which the client gave up.
    pub response_time_us: Times,
    /// From this response time on, percentiles and maximum are lower bounds, and so is the mean: the least time after which an operation
    /// was given up. `None` where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
    /// Service time: from the actual send.
    pub service_time_us: Times,
    /// Response time as a curve, for the closed loop and the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_time_curve_us: QuantileCurve,
    /// The results of each operation, where the mix has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationTimes>,
    /// TLS handshakes, where connections use TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Handshakes>,
    /// Counters of the driver: messages, refusals by code, deadlocks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// Small replies that ended one delayed acknowledgement after their first byte, where there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<DelayedAck>,
    /// The state of the client.
    pub client: ClientHealth,
    /// Whether the phase met the objective; `None` without one.
    pub meets_slo: Option<bool>,
    /// What the phase spent of the objective's budget, where it is a level of a search for the capacity; of the closed loop before it,
    /// what standstills spent. Absent in runs of earlier versions, whose capacities are of single slices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<SpentBudget>,
    /// Whether the measurement is valid.
    pub valid: bool,
    /// Why it is not, one line each.
    pub reasons: Vec<String>,
}

/// Small replies of one operation whose end waited for the client's acknowledgement: Nagle's algorithm in the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayedAck {
    /// The operation's name.
    pub operation: String,
    /// The median time from the first byte of a reply to its end, microseconds.
    pub gap_us: u64,
}

/// What a load at one rate spent of the error budget of an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpentBudget {
    /// Operations per second.
    pub rate_per_s: f64,
    /// Each bound of the objective, in its order; a bound on errors of 1 % where it has none.
    pub bounds: Vec<SpentBound>,
    /// Share of all operations that fell due and were late or failed, 0 to 1; `None` where the objective has no percentile.
    pub late_share: Option<f64>,
}

impl SpentBudget {
    /// The share of all operations of several loads that were late or failed. `None` where the objective has no percentile.
    pub fn pooled_late_share<'s>(loads: impl IntoIterator<Item = &'s Self>) -> Option<f64> {
        // What may be spent is in proportion to the operations.
        let known =
            loads.into_iter().filter_map(|load| Some((load.late_share?, load.bounds.first()?.budget)));
        let (late, all) =
            known.fold((0.0, 0.0), |(late, all), (share, budget)| (late + share * budget, all + budget));
        (all > 0.0).then(|| late / all)
    }
}

/// What was spent of one bound of an objective: operations, or microseconds where the bound is on the mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpentBound {
    /// What was spent.
    pub spent: f64,
    /// What may be spent.
    pub budget: f64,
}

/// The slices of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PhaseSlices {
    /// Their number.
    pub count: u32,
    /// From the begin of the first to the end of the last, seconds.
    pub span_s: f64,
}

/// One operation of the mix during a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationTimes {
    /// Its name in the workload.
    pub name: String,
    /// Operations that succeeded.
    pub requests: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Response time: from the intended start.
    pub response_time_us: Times,
}

/// TLS handshakes of a phase, including those that opened its connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handshakes {
    /// All handshakes.
    pub handshakes: u64,
    /// Handshakes that resumed a session.
    pub resumed: u64,
    /// Their times, without the TCP connect.
    pub handshake_us: Times,
}

/// The state of the client during a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientHealth {
    /// Utilisation of the client's cores, 0 to 1.
    pub utilisation: f64,
    /// What the client added to an operation, 99th percentile, microseconds: how late it sent (lag) and how long replies lay
    /// unread (pickup). In runs without `delay_us` the larger of the two.
    pub delay_p99_us: u64,
    /// The sum of lag and pickup of each operation, which was recorded with it. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_us: Option<Times>,
    /// Share of the operations that end with the kernel's receipt of the reply, 0 to 1: their response time is without the
    /// pickup. Absent in runs of earlier versions, where every response time contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamped: Option<f64>,
    /// Share of its time for which the client was ready to run and had no CPU, 0 to 1. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation: Option<f64>,
}
