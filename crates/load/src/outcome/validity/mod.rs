//! Whether a run is valid: rules on the client, the offered load and the errors.
//!
//! The thresholds and their grounds:
//!
//! | rule | threshold | why |
//! |---|---|---|
//! | client CPU | 90 % of its cores | beyond that the client queues work itself (Treadmill, ISCA'16); spinning for precision is not work and not counted |
//! | starvation | 5 % of the time in the run queue, and 1 % of an operation's time added by the client | replies that arrive meanwhile are read late, and in a closed loop no operation is due that would show this as lag; operations of some ten milliseconds do not notice |
//! | lag | p99 over a tenth of the p50 response time, and over 100 µs | the client's delay is a visible part of the result; a comparison cannot distinguish less than 100 µs |
//! | pickup | the same, where the kernel gives no receive timestamps | a reply that lies unread waits in the client's queue, not in the server's; with a timestamp that is not part of its response time |
//! | achieved | 98 % of offered | the arrivals were not those of the spec (Lancet, ATC'19, allows 90 %); a server that is the limit does not break this rule |
//! | connections | 1 % of a closed loop's missing | a closed loop with fewer connections is another load: its throughput is no answer to the spec; an open loop offers its rate through those that it has |
//! | silent connections | 1 % without any reply | each is one failure among the operations of the others, and one user of that many who was never served |
//! | clock drift, of several clients | a tenth of an interval | intervals of all clients are merged by their number: those of a clock that ran away are of another time |
//! | users: mix, delays, Little's law | 2 points, 2 %, 2.5 %, and what chance explains | another walk or pacing is another load; the limits are those of Faban, whose benchmarks have such users |
//! | users: an operation's limit | as declared | it is a part of the objective |
//! | errors | 1 % | percentiles are of the successful operations; the more operations fail, the less the percentiles mean |
//!
//! With several clients, each of them keeps the rules for itself: the sum of a client that is the limit and of others that
//! are idle would hide it.
//!
//! Starvation measured: quiet clients 0.0 to 1.2 %; closed loops beside one busy program 28 to 46 %.

mod clients;
pub mod delayed_ack;
mod limits;
mod replies;
mod rule;
mod users;

use crate::drivers::ProtocolSpec;
use crate::outcome::LoadOutcome;
use crate::outcome::{ClientOutcome, IntervalStage};
use crate::record::{ErrorKind, Micros};
use crate::spec::Shape;

pub use self::limits::{
    BUSY, HARMLESS_LAG_US, MAX_DRIFT_SHARE, MAX_ERROR_SHARE, MAX_LAG_SHARE, MAX_MISSING_CONNECTIONS,
    MAX_STARVATION, MAX_STARVED_DELAY, MAX_UNSTAMPED, MAX_UTILISATION, MIN_ACHIEVED,
};
pub use self::rule::BrokenRule;
pub use self::users::{CHANCE, MAX_LITTLE, MAX_REFUSED, broken_outside};

/// The percentiles that are compared with and without the client's late sends.
const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// A smaller difference is not noted: this share of the percentile,
const TOLERATED_SHARE: f64 = 0.02;
/// or this many microseconds.
const TOLERATED_US: u64 = 20;
/// A load of less than this share of the planned time ended early.
const FULL_LENGTH: f64 = 0.99;

/// The result of the check: broken rules make a run invalid, notes do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validity {
    /// Empty for a valid run.
    pub reasons: Vec<BrokenRule>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// Checks a run against the rules. Where several clients made the load, each is checked for itself as well.
pub fn check(outcome: &LoadOutcome) -> Validity {
    let mut validity = check_as_one(outcome);
    let of_clients = outcome.clients.iter().map(|client| clients::CheckedClient {
        name: &client.name,
        lost: client.lost.as_deref(),
        broken: check_as_one(&client.outcome).reasons.into_iter().chain(clock_drift(client)).collect(),
    });
    validity.reasons = clients::combine(validity.reasons, of_clients.collect());
    // The walk is that of all users together.
    validity.reasons.extend(users::broken_rules(outcome));
    validity
}

/// Whether a client's clock ran so far from the one here that its intervals are not those of the other clients.
fn clock_drift(client: &ClientOutcome) -> Option<BrokenRule> {
    let allowed_us = MAX_DRIFT_SHARE * client.outcome.spec.part.interval.as_secs_f64() * 1e6;
    let drift = client.drift.filter(|drift| drift.certain_ns() as f64 / 1e3 > allowed_us)?;
    Some(BrokenRule::ClockDrift { drift_us: drift.ns as f64 / 1e3, allowed_us })
}

/// Checks a run as if one client had made its load.
fn check_as_one(outcome: &LoadOutcome) -> Validity {
    let mut validity = Validity::default();
    let total = &outcome.total;
    let response = total.merged(|op| &op.response_time);
    let errors = total.errors();
    let failed = errors.total() - errors.count(ErrorKind::Unsent);
    if response.is_empty() {
        validity.reasons.push(BrokenRule::NothingSucceeded);
    }
    let utilisation = outcome.utilisation();
    if utilisation > MAX_UTILISATION {
        validity.reasons.push(BrokenRule::ClientCpu { utilisation });
    }
    let share = outcome.starvation();
    if share > MAX_STARVATION && is_delayed_by_the_client(outcome, &response) {
        validity.reasons.push(BrokenRule::Starved { share });
    }
    let response_time_p50_us = response.value_at_quantile(0.5);
    // Without response times there is nothing to distort.
    let is_harmful = |waits| harmful(waits, response_time_p50_us).filter(|_| !response.is_empty());
    if let Some(p99_us) = is_harmful(&total.client.lag) {
        validity.reasons.push(BrokenRule::Lag { p99_us, response_time_p50_us, utilisation });
    }
    // With a timestamp, an operation ends before its reply lies unread.
    let unread = if total.unstamped_share() > MAX_UNSTAMPED { Some(&total.client.pickup) } else { None };
    if let Some(p99_us) = unread.and_then(is_harmful) {
        validity.reasons.push(BrokenRule::Pickup { p99_us, response_time_p50_us, utilisation });
    }
    let attempts = response.len() + failed;
    let share = if attempts == 0 { 0.0 } else { failed as f64 / attempts as f64 };
    if share > MAX_ERROR_SHARE {
        validity.reasons.push(BrokenRule::Errors { share });
    }
    validity.reasons.extend(silent_connections(outcome, &response));
    match outcome.spec.part.shape {
        Shape::Open { .. } => check_achieved(outcome, &response, attempts, &mut validity),
        Shape::Closed { .. } => validity.reasons.extend(missing_connections(outcome)),
    }
    if outcome.interrupted {
        let kept = if outcome.measured.is_zero() {
            "nothing was measured yet"
        } else {
            "these are the numbers until then"
        };
        validity.notes.push(format!("interrupted: {kept}"));
    }
    let missing = outcome.setup_errors.total();
    if missing > 0 {
        let why = outcome.setup_errors.examples.values().next().map_or("", String::as_str);
        validity.notes.push(format!(
            "{missing} of {} connections could not be opened before the start: {why}",
            outcome.spec.connections
        ));
    }
    validity.notes.extend(replies::notes(outcome));
    validity.notes.extend(delayed_ack::find(outcome).map(|found| found.to_string()));
    validity.notes.extend(used_up_note(outcome));
    validity.notes.extend(late_sends_note(&response, &total.merged(|op| &op.server_time)));
    validity.notes.extend(client_loop_note(outcome, &response));
    validity.notes.extend(unstamped_note(outcome));
    validity
}

/// Whether connections that failed before the start were missing during the load as well: a failed one is tried again.
fn missing_connections(outcome: &LoadOutcome) -> Option<BrokenRule> {
    let measured = outcome.intervals.iter().filter(|interval| interval.stage == IntervalStage::Measured);
    let peaks = measured.map(|interval| interval.stats.connections.open_peak);
    let wanted = outcome.spec.connections;
    let open = peaks.fold(outcome.opened.into(), u64::max);
    let is_smaller = (open as f64) < (1.0 - MAX_MISSING_CONNECTIONS) * f64::from(wanted);
    (outcome.setup_errors.total() > 0 && is_smaller).then_some(BrokenRule::Connections { wanted, open })
}

/// Whether connections went without any reply while others had theirs.
fn silent_connections(outcome: &LoadOutcome, response: &Micros) -> Option<BrokenRule> {
    let (silent, wanted) = (outcome.total.connections.silent, outcome.spec.connections);
    // An interruption does not wait for replies, and without any reply at all there is another reason.
    let is_known = !outcome.interrupted && !response.is_empty();
    let are_many = silent as f64 > MAX_MISSING_CONNECTIONS * f64::from(wanted);
    (is_known && are_many).then_some(BrokenRule::SilentConnections { silent, wanted })
}

/// Whether what the client added to operations is a visible part of the time that they take: a closed loop is slower by that share.
fn is_delayed_by_the_client(outcome: &LoadOutcome, response: &Micros) -> bool {
    let (server_us, client_us) = (response.mean(), outcome.total.client.delay.mean());
    let is_known = !response.is_empty() && outcome.total.unstamped_share() <= MAX_UNSTAMPED;
    !is_known || client_us > MAX_STARVED_DELAY * (server_us + client_us)
}

/// The percentiles that late sends of the client made visibly longer. Both distributions are recorded.
fn late_sends_note(response: &Micros, server: &Micros) -> Option<String> {
    let part = |(name, quantile): (&str, f64)| {
        let response_us = response.value_at_quantile(quantile);
        let added_us = response_us.saturating_sub(server.value_at_quantile(quantile));
        let tolerated_us = TOLERATED_US.max((TOLERATED_SHARE * response_us as f64) as u64);
        (added_us > tolerated_us).then(|| format!("{added_us} µs to {name} ({response_us} µs)"))
    };
    let parts: Vec<String> = PERCENTILES.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "late sends of the client added {}: use an idle host, or less load for each of its cores",
            parts.join(", ")
        )
    })
}

/// That the load ended because each line of a file was used.
fn used_up_note(outcome: &LoadOutcome) -> Option<String> {
    let LoadOutcome { spec, measured, interrupted, .. } = outcome;
    let ProtocolSpec::Http(http) = &spec.protocol else { return None };
    let planned = if !interrupted && spec.part.requests.is_none() { spec.part.duration } else { None };
    let is_short = planned.is_none_or(|planned| *measured < planned.mul_f64(FULL_LENGTH));
    let declared = http.declared_values();
    let file = declared.files_used_once().next().filter(|_| is_short && !interrupted)?;
    Some(format!("the load ended after {:.1} s: each line of {file} was used once", measured.as_secs_f64()))
}

/// In a closed loop without think time, the client's part of the cycle limits the throughput as the server's does.
fn client_loop_note(outcome: &LoadOutcome, response: &Micros) -> Option<String> {
    let Shape::Closed { think } = outcome.spec.part.shape else { return None };
    let (server_us, client_us) = (response.mean(), outcome.total.client.delay.mean());
    (think.is_zero() && outcome.spec.users.is_none() && client_us > server_us).then(|| {
        format!(
            "the client takes longer for an operation of this closed loop ({client_us:.0} µs) than the server ({server_us:.0} µs): the throughput is more the client's than the server's"
        )
    })
}

/// Operations whose end is when the client had read the reply.
fn unstamped_note(outcome: &LoadOutcome) -> Option<String> {
    let share = outcome.total.unstamped_share();
    let is_visible = share > MAX_UNSTAMPED && outcome.total.succeeded() > 0;
    is_visible.then(|| match outcome.spec.protocol {
        ProtocolSpec::Runner(_) => "the runner took the times".to_owned(),
        _ => format!(
            "{:.1} % of the operations have no receive timestamp of the kernel: their times contain the client's wake-up",
            share * 100.0
        ),
    })
}

fn harmful(waits: &Micros, response_time_p50_us: u64) -> Option<u64> {
    let p99_us = waits.value_at_quantile(0.99);
    let is_harmful = p99_us > HARMLESS_LAG_US && p99_us as f64 > MAX_LAG_SHARE * response_time_p50_us as f64;
    is_harmful.then_some(p99_us)
}

fn check_achieved(outcome: &LoadOutcome, response: &Micros, attempts: u64, validity: &mut Validity) {
    let seconds = outcome.measured.as_secs_f64();
    let offered = outcome.total.client.offered as f64;
    // Unsent operations have not ended in the drain either.
    let drain_errors = outcome.drain.errors();
    let drained = outcome.drain.succeeded() + drain_errors.total() - drain_errors.count(ErrorKind::Unsent);
    let achieved = (attempts + outcome.total.carried()).saturating_sub(drained) as f64;
    if achieved >= MIN_ACHIEVED * offered || seconds == 0.0 {
        return;
    }
    // Where a due operation has not ended, it waits for a connection or is in flight: the server is slow, or has too few
    // connections to show more. Otherwise the client is the reason.
    let service = outcome.total.merged(|op| &op.service_time);
    let waited_us = response.mean() - service.mean() - outcome.total.client.lag.mean();
    let (offered_per_s, achieved_per_s) = (offered / outcome.due_for().as_secs_f64(), achieved / seconds);
    let in_flight_at_end = drained as f64 >= (1.0 - MIN_ACHIEVED) * offered;
    if waited_us > service.mean() || in_flight_at_end {
        // Where every operation had a connection at once, the wait was the server's alone.
        let waits = outcome.total.connections.wait.len() as f64;
        let is_short_of_connections = waits >= (1.0 - MIN_ACHIEVED) * offered;
        let what = if is_short_of_connections {
            "operations waited for a free connection"
        } else {
            "operations were in flight at the end"
        };
        validity.notes.push(format!(
            "the server did not keep up: {achieved_per_s:.0}/s of {offered_per_s:.0}/s offered, and {what}"
        ));
        let unsent = outcome.total.errors().count(ErrorKind::Unsent);
        if unsent > 0 {
            validity.notes.push(format!(
                "{unsent} operations got no connection: with them, response times would be even longer"
            ));
        }
    } else {
        validity.reasons.push(BrokenRule::Achieved { offered_per_s, achieved_per_s });
    }
}

#[cfg(test)]
mod tests;
