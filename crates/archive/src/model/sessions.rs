//! One answer of several runs of one plan, as `show` and `report` print it. It is in no file: the run directories are the record.

use super::SweepPoint;
use serde::{Deserialize, Serialize};

/// The runs of one plan: the first one, and those that confirm it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sessions {
    /// The id of the first run.
    pub first: String,
    /// Runs that are in the answer, in order of time.
    pub runs: Vec<SessionRun>,
    /// Runs of the plan that are not, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutRun>,
    /// Each pair of variants with a ratio in one of the runs, in a sweep at each point.
    pub pairs: Vec<PairOverSessions>,
}

/// A run that is in the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRun {
    /// Its id.
    pub run: String,
    /// Unix time of its verdict, milliseconds.
    pub reached_unix_ms: u64,
    /// The machine of the servers and the day, as in its verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// A run of the plan that is not in the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutRun {
    /// Its id.
    pub run: String,
    /// Why it is not.
    pub why: String,
}

/// The ratio of a pair over sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairOverSessions {
    /// The numerator of the ratio.
    pub a: String,
    /// The denominator of the ratio.
    pub b: String,
    /// The point on the axes of a sweep; empty in a comparison.
    #[serde(default, skip_serializing_if = "SweepPoint::is_empty")]
    pub point: SweepPoint,
    /// `a` over `b`, over all sessions.
    pub ratio: f64,
    /// Lower bound of its interval. From three sessions on, it contains the variation between sessions.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// How much the ratio varies from session to session, as a standard deviation: 0.06 for 6 %. `None` under three sessions.
    pub between: Option<f64>,
    /// The ratio in each session that has one.
    pub sessions: Vec<SessionEstimate>,
    /// The answer in a sentence.
    pub sentence: String,
}

/// The ratio in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEstimate {
    /// The id of the run.
    pub run: String,
    /// `a` over `b`.
    pub ratio: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
}
