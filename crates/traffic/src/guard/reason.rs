//! Why a run on live traffic ends early, each reason with its line for people.

use thiserror::Error;

use crate::name::Name;
use crate::observation::{Alarm, ServerState};

/// The candidate is to blame, or cannot be watched.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Breach {
    /// More failures than the hard limit in two of three windows.
    #[error("{failed} of {requests} requests failed within three seconds ({kinds}), more than the hard limit of {}", percent(*.limit))]
    HardFailures {
        /// Failures of the three windows.
        failed: u64,
        /// Requests of the three windows.
        requests: u64,
        /// The kinds, as words.
        kinds: String,
        /// The limit as a share.
        limit: f64,
    },
    /// More late answers than the hard limit in two of three windows.
    #[error("{late} of {requests} answers were late within three seconds, more than the hard limit of {}", percent(*.limit))]
    HardLateness {
        /// Late answers of the three windows.
        late: u64,
        /// Answers of the three windows.
        requests: u64,
        /// The limit as a share.
        limit: f64,
    },
    /// The probe of the lease fails.
    #[error("{server} does not work: {reason}")]
    DoesNotWork {
        /// The server.
        server: Name,
        /// What was seen.
        reason: String,
    },
    /// More messages were deferred than the hard limit in two of three windows.
    #[error("{deferred} of {messages} messages were deferred within three seconds, more than the hard limit of {}", percent(*.limit))]
    HardDeferrals {
        /// Deferred messages of the three windows.
        deferred: u64,
        /// Messages of the three windows.
        messages: u64,
        /// The limit as a share.
        limit: f64,
    },
    /// Messages are in the queue for longer than the plan allows.
    #[error(
        "{overdue} messages in the queue of {server} are older than {limit_s} s, the oldest {oldest_s} s"
    )]
    Overdue {
        /// The server.
        server: Name,
        /// Those that are older.
        overdue: u64,
        /// The age of the oldest, in seconds.
        oldest_s: u64,
        /// The limit in seconds.
        limit_s: u64,
    },
    /// Sessions, and nothing in the log of the mail server, three windows in succession.
    #[error(
        "no line in the mail log of {server} for three seconds, in which it got {requests} sessions: is mail_log the file that it writes?"
    )]
    SilentMailLog {
        /// The server.
        server: Name,
        /// Sessions of the three windows.
        requests: u64,
    },
    /// Requests were sent and none was answered, three windows in succession.
    #[error("none of {requests} requests was answered within three seconds")]
    NoAnswers {
        /// Requests of the three windows.
        requests: u64,
    },
    /// Requests wait and none was answered, two windows in succession, at a server that has ten answers a second otherwise.
    #[error("{in_progress} requests wait, and none was answered within two seconds")]
    Hangs {
        /// Requests that wait.
        in_progress: u64,
    },
    /// The balancer's health check fails, or somebody else than this run has switched the candidate off.
    #[error("the balancer says that {server} is {state}")]
    NotUp {
        /// The server.
        server: Name,
        /// Its state.
        state: ServerState,
    },
    /// Counters or log are missing three windows in succession.
    #[error("no {what} of {server} for three seconds: without data nobody knows how users fare")]
    NoData {
        /// "counters", "log" or "mail log".
        what: &'static str,
        /// The server.
        server: Name,
    },
    /// The anytime-valid process of a metric has reached 1/α.
    #[error(
        "{candidate} of the candidate's {what} {metric}, {control} of the control's: more than {margin} × (E = {evidence:.0})"
    )]
    Evidence {
        /// "requests" or "messages".
        what: &'static str,
        /// "were late", "failed" or "were deferred".
        metric: &'static str,
        /// The candidate's share in words.
        candidate: String,
        /// The control's share in words.
        control: String,
        /// The margin of the plan.
        margin: f64,
        /// E of the process.
        evidence: f64,
    },
    /// A ramp: the candidate's own objective is missed.
    #[error("p{quantile} {found_ms} ms, and the objective is {objective_ms} ms")]
    Objective {
        /// The percentile of the objective.
        quantile: f64,
        /// What was found in the step, in ms.
        found_ms: u32,
        /// The objective in ms.
        objective_ms: u32,
    },
}

/// The run cannot go on, and that says nothing of the candidate.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Stop {
    /// What the observing part knows to be wrong.
    #[error("{0}")]
    Alarm(#[from] Alarm),
    /// An old server is not up, so its part of the traffic is elsewhere.
    #[error("the old server {server} is {state}: repair it first")]
    OldNotUp {
        /// The server.
        server: Name,
        /// Its state.
        state: ServerState,
    },
    /// A server that is not in the plan takes traffic. At the start it took none.
    #[error("{server} takes traffic again and is not in the plan: add it to [old] servers, and start again")]
    CameBack {
        /// The server.
        server: String,
    },
    /// The control breached a limit: users fail there, too.
    #[error("the control failed: {0}. This says nothing of the candidate")]
    ControlFailed(Box<Breach>),
    /// Requests are not divided as the weights say.
    #[error(
        "{server} was sent {found:.0} of {total} requests and its weight says {expected:.0}: something else directs the traffic"
    )]
    ShareOff {
        /// The server.
        server: Name,
        /// Requests that it was sent.
        found: f64,
        /// Requests by its weight.
        expected: f64,
        /// All requests.
        total: u64,
    },
    /// Nobody sends requests.
    #[error("no request for {seconds} s: start again when there is traffic")]
    NoTraffic {
        /// Seconds without a request.
        seconds: u64,
    },
    /// A person has ended the run.
    #[error("stopped by {0}")]
    Aborted(String),
}

/// Why a run ends early.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Reason {
    /// The candidate is to blame.
    #[error("{0}")]
    Breach(#[from] Breach),
    /// Something else is.
    #[error("{0}")]
    Stop(#[from] Stop),
}

/// A share in percent, with two digits of what is less than one percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => format!("{percent:.3} %"),
        percent if percent < 10.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}
