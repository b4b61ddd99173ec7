//! The users of a load as numbers: the walk and the pacing as measured beside the declared, and the operations outside their mix.
//! Which rules they break is left to `validity/users.rs`.

use serde::Serialize;
use stats::times::{Times, times_or_null};

use super::LoadOutcome;
use crate::inputs::slo::{Quantity, Slo};
use crate::record::{DelayStats, Micros, OperationStats, UserStats, times};
use crate::spec::Shape;
use crate::users::outside_spec::OutsideSpec;
use crate::users::{NextOperation, UserPlan};

/// The users of a load. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserSummary {
    /// How many there were; of visits, how many there may be at once.
    pub count: u32,
    /// Visits that arrived in the measured time; none where users stay.
    pub arrived: Option<u64>,
    /// Of these, those that found no slot and were refused.
    pub refused: Option<u64>,
    /// Visits that ended, and users who left and were followed by others.
    pub left: u64,
    /// Operations that fell due in the measured time.
    pub begun: u64,
    /// The users by Little's law: operations a second times the mean of response and delay until the next.
    pub count_by_littles_law: Option<f64>,
    /// The mean delay that the plan declares for its mix, seconds.
    pub declared_delay_s: f64,
    /// The mean delay that was drawn, seconds.
    pub drawn_delay_s: Option<f64>,
    /// The mean delay as it was, seconds: longer where operations took longer than their cycles.
    pub actual_delay_s: Option<f64>,
    /// By how much operations fell due later than their cycles, because the one before took longer; only of those that did.
    #[serde(serialize_with = "times_or_null")]
    pub late_us: Times,
    /// Each operation.
    pub operations: Vec<UserOperation>,
}

/// An operation in the walk of users. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserOperation {
    /// Its name.
    pub name: String,
    /// How often it fell due in the measured time.
    pub begun: u64,
    /// Its share of all, per cent.
    pub percent: Option<f64>,
    /// The declared share.
    pub declared_percent: f64,
    /// What came after it, per cent, in the order of the operations; empty where that does not depend on it.
    pub next_percent: Vec<f64>,
    /// The declared row.
    pub declared_next_percent: Vec<f64>,
    /// The delay after it as it is written.
    pub delay: String,
    /// The mean of its delays as declared, seconds.
    pub declared_delay_s: f64,
    /// As drawn.
    pub drawn_delay_s: Option<f64>,
    /// As they were.
    pub actual_delay_s: Option<f64>,
    /// Its limit, if it has one.
    pub limit: Option<String>,
    /// Whether the limit is met.
    pub meets_limit: Option<bool>,
}

fn mean_s(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e9)
}

fn percent_of(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

impl UserSummary {
    /// The users of an outcome, where its load had some.
    pub fn of(outcome: &LoadOutcome) -> Option<Self> {
        let (plan, stats) = measured(outcome)?;
        let sum = |part: fn(&DelayStats) -> u64| stats.delays.iter().map(part).sum::<u64>();
        let (begun, followed) = (sum(|delay| delay.begun), sum(|delay| delay.followed));
        let shares = plan.shares();
        let operation = |(at, name): (usize, &String)| {
            let delays = &stats.delays[at];
            let row = stats.transitions.get(at * shares.len()..(at + 1) * shares.len()).unwrap_or_default();
            let declared_row = match &plan.next {
                NextOperation::Matrix(rows) => rows[at].iter().map(|share| share * 100.0).collect(),
                _ => Vec::new(),
            };
            let limit = plan.limits[at].as_ref();
            UserOperation {
                name: name.clone(),
                begun: delays.begun,
                percent: percent_of(delays.begun, begun),
                declared_percent: shares[at] * 100.0,
                next_percent: row.iter().filter_map(|count| percent_of(*count, row.iter().sum())).collect(),
                declared_next_percent: declared_row,
                delay: plan.delays[at].to_string(),
                declared_delay_s: plan.delays[at].mean(),
                drawn_delay_s: mean_s(delays.drawn_ns, delays.followed),
                actual_delay_s: mean_s(delays.actual_ns, delays.followed),
                limit: limit.map(ToString::to_string),
                meets_limit: limit.map(|limit| is_met(limit, &outcome.total.operations[at])),
            }
        };
        Some(Self {
            count: outcome.spec.connections,
            arrived: has_visits(outcome).then_some(stats.arrived),
            refused: has_visits(outcome).then_some(stats.refused),
            left: stats.left,
            begun,
            count_by_littles_law: users_by_littles_law(outcome, stats),
            declared_delay_s: plan.mean_delay(),
            drawn_delay_s: mean_s(sum(|delay| delay.drawn_ns), followed),
            actual_delay_s: mean_s(sum(|delay| delay.actual_ns), followed),
            late_us: times(&stats.late),
            operations: outcome.operations.iter().enumerate().map(operation).collect(),
        })
    }
}

/// Whether users arrive from outside and leave.
pub(super) fn has_visits(outcome: &LoadOutcome) -> bool {
    matches!(outcome.spec.part.shape, Shape::Open { .. })
}

/// The plan, and what was recorded of its users.
pub(super) fn measured(outcome: &LoadOutcome) -> Option<(&UserPlan, &UserStats)> {
    let plan = outcome.spec.users.as_ref()?;
    let stats = outcome.total.users.as_deref()?;
    (plan.operations() == outcome.operations.len() && stats.delays.len() == plan.operations())
        .then_some((plan, stats))
}

/// The response times of an operation; of those without an answer, until the client gave up.
pub(super) fn response_times(operation: &OperationStats) -> Micros {
    let mut response = operation.response_time.clone();
    response.add(&operation.unanswered).expect("histograms of the same precision add");
    response
}

pub(super) fn is_met(limit: &Slo, operation: &OperationStats) -> bool {
    let (response, failed) = (response_times(operation), operation.errors.total());
    let attempts = operation.response_time.len() + failed;
    limit.is_met(|quantity| match quantity {
        Quantity::Percentile(percent) => response.value_at_quantile(percent / 100.0) as f64,
        Quantity::Mean => response.mean(),
        Quantity::Max => response.max() as f64,
        Quantity::Errors => failed as f64 / attempts.max(1) as f64,
    })
}

/// The users by Little's law. None where nothing was measured.
pub(super) fn users_by_littles_law(outcome: &LoadOutcome, stats: &UserStats) -> Option<f64> {
    let seconds = outcome.due_for().as_secs_f64();
    let of_operation = |(operation, delay): (&OperationStats, &DelayStats)| {
        let response_s = response_times(operation).mean() / 1e6;
        let idle_s = mean_s(delay.idle_ns, delay.followed).unwrap_or(0.0);
        delay.begun as f64 * (response_s + idle_s)
    };
    let user_seconds: f64 = outcome.total.operations.iter().zip(&stats.delays).map(of_operation).sum();
    (seconds > 0.0 && user_seconds > 0.0).then(|| user_seconds / seconds)
}

/// An operation outside the mix. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutsideOperation {
    /// Its name.
    pub name: String,
    /// When it was due: `before`, `after`, or the delay between one and the next, such as `cycle 30s`.
    pub due: String,
    /// How often it succeeded.
    pub requests: u64,
    /// How often it failed.
    pub failed: u64,
    /// Its response times, microseconds.
    #[serde(serialize_with = "times_or_null")]
    pub response_time_us: Times,
}

/// The operations of an outcome outside the mix. `once` says when those were due that are due once.
pub(crate) fn outside_operations(
    outside: &OutsideSpec,
    outcome: &LoadOutcome,
    once: Option<&'static str>,
) -> Vec<OutsideOperation> {
    let mut operations = Vec::new();
    for ((name, stats), delay) in
        outcome.operations.iter().zip(&outcome.total.operations).zip(&outside.users.delays)
    {
        operations.push(OutsideOperation {
            name: name.clone(),
            due: once.map_or_else(|| delay.to_string(), str::to_owned),
            requests: stats.succeeded(),
            failed: stats.errors.total(),
            response_time_us: times(&stats.response_time),
        });
    }
    operations
}
