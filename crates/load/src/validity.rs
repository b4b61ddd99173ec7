//! May the numbers of a run be believed? The client is held to rules as strict as the server's.
//!
//! The thresholds and their grounds:
//!
//! | rule | threshold | why |
//! |---|---|---|
//! | client CPU | 90 % of its cores | beyond that it queues work itself (Treadmill, ISCA'16); spinning for precision is no work and left out |
//! | lag | p99 over a tenth of the p50 response time, and over 100 µs | then lateness of the client is a visible part of what is reported; under 100 µs it is below what a comparison tells apart |
//! | pick-up | the same | a reply that lies unread is the client's queue, not the server's |
//! | achieved | 98 % of offered | the arrivals were not those asked for (Lancet, ATC'19, allows 90 %); a server that is the limit is no fault of the client |
//! | errors | 1 % | latencies are those of the operations that succeeded, and say less the fewer they are |

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::Outcome;
use crate::record::{ErrorKind, Micros};
use crate::spec::Shape;

/// Most of its cores that the client may need.
pub const MAX_UTILISATION: f64 = 0.90;
/// Largest p99 of lag or pick-up as a share of the median response time.
pub const MAX_LAG_SHARE: f64 = 0.1;
/// A p99 of lag or pick-up up to this is never held against a run, microseconds.
pub const HARMLESS_LAG_US: u64 = 100;
/// Least share of the offered load that must be achieved.
pub const MIN_ACHIEVED: f64 = 0.98;
/// Largest share of operations that may fail.
pub const MAX_ERROR_SHARE: f64 = 0.01;

/// Why a run is invalid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Reason {
    /// Nothing was measured.
    NothingSucceeded,
    /// The client needed more of its cores than [`MAX_UTILISATION`].
    ClientCpu {
        /// Share of its cores, 0 to 1.
        utilisation: f64,
    },
    /// Sends were late.
    Lag {
        /// 99th percentile, microseconds.
        p99_us: u64,
        /// Median response time, microseconds.
        response_p50_us: u64,
    },
    /// Replies lay unread.
    Pickup {
        /// 99th percentile, microseconds.
        p99_us: u64,
        /// Median response time, microseconds.
        response_p50_us: u64,
    },
    /// Less was done than offered, and not because the server was slow.
    Achieved {
        /// Operations a second that fell due.
        offered_per_s: f64,
        /// Operations a second that ended.
        achieved_per_s: f64,
    },
    /// Too many operations failed.
    Errors {
        /// Share of all operations, 0 to 1.
        share: f64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingSucceeded => f.write_str("no operation succeeded"),
            Self::ClientCpu { utilisation } => write!(
                f,
                "the client was the limit: it needed {:.0} % of its cores (at most {:.0} %): give it more threads and cores, or less load",
                utilisation * 100.0,
                MAX_UTILISATION * 100.0
            ),
            Self::Lag { p99_us, response_p50_us } => write!(
                f,
                "the client sent late: lag p99 {p99_us} µs against a median response of {response_p50_us} µs: give it more cores or less load"
            ),
            Self::Pickup { p99_us, response_p50_us } => write!(
                f,
                "the client read late: replies lay unread for {p99_us} µs (p99) against a median response of {response_p50_us} µs: give it more cores or less load"
            ),
            Self::Achieved { offered_per_s, achieved_per_s } => write!(
                f,
                "achieved {achieved_per_s:.0}/s of {offered_per_s:.0}/s offered while the server had room: add connections, or more cores for the client"
            ),
            Self::Errors { share } => {
                write!(
                    f,
                    "{:.2} % of operations failed (at most {:.0} %)",
                    share * 100.0,
                    MAX_ERROR_SHARE * 100.0
                )
            }
        }
    }
}

/// What is to be said of a run: reasons make it invalid, notes do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Empty for a valid run.
    pub reasons: Vec<Reason>,
    /// What a reader should know all the same.
    pub notes: Vec<String>,
}

/// Holds a run to the rules.
pub fn judge(outcome: &Outcome) -> Judgement {
    let mut judgement = Judgement::default();
    let total = &outcome.total;
    let response = total.merged(|op| &op.response);
    let errors = total.errors();
    let unsent = errors.counts.get(&ErrorKind::Unsent).copied().unwrap_or(0);
    let failed = errors.total() - unsent;
    if response.is_empty() {
        judgement.reasons.push(Reason::NothingSucceeded);
    }
    let utilisation = outcome.utilisation();
    if utilisation > MAX_UTILISATION {
        judgement.reasons.push(Reason::ClientCpu { utilisation });
    }
    let response_p50_us = response.value_at_quantile(0.5);
    if let Some(p99_us) = harmful(&total.client.lag, response_p50_us) {
        judgement.reasons.push(Reason::Lag { p99_us, response_p50_us });
    }
    if let Some(p99_us) = harmful(&total.client.pickup, response_p50_us) {
        judgement.reasons.push(Reason::Pickup { p99_us, response_p50_us });
    }
    let attempts = response.len() + failed;
    let share = if attempts == 0 { 0.0 } else { failed as f64 / attempts as f64 };
    if share > MAX_ERROR_SHARE {
        judgement.reasons.push(Reason::Errors { share });
    }
    if let Shape::Open { .. } = outcome.spec.shape {
        judge_achieved(outcome, &response, attempts, &mut judgement);
    }
    if outcome.interrupted {
        let kept = if outcome.measured.is_zero() {
            "nothing was measured yet"
        } else {
            "this was measured until then"
        };
        judgement.notes.push(format!("interrupted: {kept}"));
    }
    let missing = outcome.setup_errors.total();
    if missing > 0 {
        let why = outcome.setup_errors.examples.values().next().map_or("", String::as_str);
        judgement.notes.push(format!(
            "{missing} of {} connections could not be opened before the start: {why}",
            outcome.spec.connections
        ));
    }
    judgement
}

fn harmful(waits: &Micros, response_p50_us: u64) -> Option<u64> {
    let p99_us = waits.value_at_quantile(0.99);
    let is_harmful = p99_us > HARMLESS_LAG_US && p99_us as f64 > MAX_LAG_SHARE * response_p50_us as f64;
    is_harmful.then_some(p99_us)
}

fn judge_achieved(outcome: &Outcome, response: &Micros, attempts: u64, judgement: &mut Judgement) {
    let seconds = outcome.measured.as_secs_f64();
    let offered = outcome.total.client.due as f64;
    let drained = outcome.drain.succeeded() + outcome.drain.errors().total();
    let achieved = (attempts + outcome.total.carried()).saturating_sub(drained) as f64;
    if achieved >= MIN_ACHIEVED * offered || seconds == 0.0 {
        return;
    }
    // What is not done although it was due either waits for a connection or is in flight: then the server
    // is slow, or has too few connections to show more. Otherwise the client is at fault.
    let service = outcome.total.merged(|op| &op.service);
    let waited_us = response.mean() - service.mean() - outcome.total.client.lag.mean();
    let (offered_per_s, achieved_per_s) = (offered / seconds, achieved / seconds);
    let in_flight_at_end = drained as f64 >= (1.0 - MIN_ACHIEVED) * offered;
    if waited_us > service.mean() || in_flight_at_end {
        judgement.notes.push(format!(
            "the server did not keep up: {achieved_per_s:.0}/s of {offered_per_s:.0}/s offered, and operations waited for a free connection"
        ));
    } else {
        judgement.reasons.push(Reason::Achieved { offered_per_s, achieved_per_s });
    }
}
