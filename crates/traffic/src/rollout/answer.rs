//! The answer of a canary: a bound, or why the candidate is no longer there.

use std::fmt;

use super::metric::{Bound, Metric};
use super::proof::Proof;
use crate::guard::{Breach, Reason, Stop, percent};

/// What a canary has found.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The candidate reached the last step, and harm beyond the margin is excluded.
    NoWorse {
        /// The bound of each metric.
        bounds: Vec<(Metric, Bound)>,
        /// The probability that a bound is wrong, 0 to 1.
        alpha: f64,
        /// Requests that the candidate was sent.
        requests: u64,
        /// Its largest share of all traffic.
        share: f64,
        /// Why that is no larger share. None if it is all that the plan allows.
        why_no_more: Option<String>,
        /// Length of the rollout in seconds.
        seconds: u64,
    },
    /// The candidate was taken off the traffic.
    RolledBack {
        /// Why.
        breach: Breach,
        /// The candidate's share of all traffic at that time.
        share: f64,
        /// When, in seconds since the start.
        second: u64,
        /// Requests that the candidate was sent.
        requests: u64,
    },
    /// The run ended, and that says nothing of the candidate.
    Stopped {
        /// Why.
        stop: Stop,
        /// The candidate's share of all traffic at that time.
        share: f64,
        /// When, in seconds since the start.
        second: u64,
    },
    /// No breach, and a step excluded too little within its longest time.
    NotShown {
        /// The margin of the step.
        margin: f64,
        /// What is shown of each metric, and what it lacks.
        proofs: Vec<Proof>,
        /// The time in seconds that the step needs, at the rate of it. None without an estimate.
        needs_s: Option<u64>,
        /// The candidate's share of all traffic at that time.
        share: f64,
        /// When, in seconds since the start.
        second: u64,
        /// Requests that the candidate was sent.
        requests: u64,
    },
}

impl Answer {
    /// The answer of a run that a reason has ended.
    pub(crate) fn early(reason: Reason, share: f64, second: u64, requests: u64) -> Self {
        match reason {
            Reason::Breach(breach) => Self::RolledBack { breach, share, second, requests },
            Reason::Stop(stop) => Self::Stopped { stop, share, second },
        }
    }
}

fn thousands(number: u64) -> String {
    archive::model::thousands(number as f64)
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorse { bounds, alpha, requests, share, why_no_more, seconds } => {
                write!(f, "the candidate is no worse than the control")?;
                for (number, (metric, bound)) in bounds.iter().enumerate() {
                    let joint = if number == 0 { ":" } else { "," };
                    let what = metric.name();
                    write!(f, "{joint} {what} less than {bound}")?;
                }
                let confidence = 100.0 * (1.0 - alpha);
                write!(
                    f,
                    " ({confidence} %, {} requests, up to {} of the traffic, {seconds} s)",
                    thousands(*requests),
                    percent(*share)
                )?;
                why_no_more.as_ref().map_or(Ok(()), |why| write!(f, "; no larger share: {why}"))
            }
            Self::RolledBack { breach, share, second, requests } => write!(
                f,
                "rolled back at {} after {second} s and {} requests: {breach}",
                percent(*share),
                thousands(*requests)
            ),
            Self::Stopped { stop, share, second } => {
                write!(f, "stopped at {} after {second} s: {stop}", percent(*share))
            }
            Self::NotShown { margin, proofs, needs_s, share, second, requests } => {
                write!(
                    f,
                    "no breach, and not shown to be less than {margin} × at {} after {second} s and {} requests:",
                    percent(*share),
                    thousands(*requests)
                )?;
                let (shown, lacking): (Vec<&Proof>, Vec<&Proof>) =
                    proofs.iter().partition(|proof| proof.is_shown);
                for (number, proof) in lacking.iter().enumerate() {
                    write!(f, "{} {proof}", if number == 0 { "" } else { ";" })?;
                }
                for (number, proof) in shown.iter().enumerate() {
                    write!(f, "{} {proof}", if number == 0 { "; shown:" } else { "," })?;
                }
                match needs_s {
                    Some(needs_s) => {
                        write!(
                            f,
                            "; if both servers are equal, a `longest` of about {}m suffices",
                            needs_s.div_ceil(60)
                        )
                    }
                    None => write!(f, "; raise `longest` or `margin`"),
                }
            }
        }
    }
}
