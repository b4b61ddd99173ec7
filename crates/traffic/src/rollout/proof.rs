//! What is shown of each metric at a step, and what it still lacks: the bound and the limit, and about how many more requests. Whether a
//! rollout ends for it is decided elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::metric::{Bound, Metric};
use crate::guard::percent;

/// What is shown of a metric for a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// Which one.
    pub metric: Metric,
    /// Whether harm beyond the margin is excluded, or the share is negligible.
    pub is_shown: bool,
    /// What is excluded. Where it is not enough: the ratio, or the highest share where no ratio is excluded.
    pub bound: Bound,
    /// The ratio that is to be excluded.
    pub margin: f64,
    /// The share that is negligible instead, 0 to 1.
    pub negligible: f64,
    /// About how many more requests (or messages) of the candidate suffice, if it is as good as the control. None if it is shown, or if
    /// there was none yet.
    pub more_requests: Option<u64>,
    /// ln E against "the candidate does no harm".
    pub harm_log: f64,
}

/// What a step lacks before it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct StepLacks {
    /// Each metric.
    pub proofs: Vec<Proof>,
    /// The run ends where the ln E of a metric reaches it.
    pub limit_log: f64,
    /// The rest of the dwell time, in seconds.
    pub dwell_left_s: u64,
    /// About how many seconds until the step ends. None if it is not known.
    pub seconds_left: Option<u64>,
    /// Seconds until the step ends without an answer.
    pub longest_left_s: u64,
}

impl fmt::Display for StepLacks {
    /// "late E 3 of 200, less than 1.66 × of 1.25 ×; about 310 s left of this step".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit_log.exp();
        for proof in &self.proofs {
            let evidence = proof.harm_log.min(self.limit_log).exp();
            write!(f, "{} E {evidence:.2} of {limit:.0}", proof.metric.name())?;
            match proof.bound {
                _ if proof.is_shown => write!(f, " (shown: less than {}); ", proof.bound)?,
                Bound::Ratio(_) => write!(f, ", less than {} of {} ×; ", proof.bound, proof.margin)?,
                Bound::Rate(_) => {
                    write!(f, ", less than {} of {}; ", proof.bound, percent(proof.negligible))?;
                }
            }
        }
        match self.seconds_left {
            Some(left) if left <= self.longest_left_s => write!(f, "about {left} s left of this step"),
            Some(left) => {
                write!(f, "about {left} s needed, and `longest` leaves {} s", self.longest_left_s)
            }
            None => write!(f, "at most {} s left of this step", self.longest_left_s),
        }
    }
}

/// A metric of a run that ended without an answer, in its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ProofRecord {
    pub metric: String,
    pub is_shown: bool,
    pub ratio_below: Option<f64>,
    pub share_below: Option<f64>,
    pub margin: f64,
    pub negligible: f64,
    pub more_requests: Option<u64>,
}

impl From<&Proof> for ProofRecord {
    fn from(proof: &Proof) -> Self {
        let (ratio_below, share_below) = match proof.bound {
            Bound::Ratio(ratio) => (Some(ratio), None),
            Bound::Rate(share) => (None, Some(share)),
        };
        Self {
            metric: proof.metric.name().to_owned(),
            is_shown: proof.is_shown,
            ratio_below,
            share_below,
            margin: proof.margin,
            negligible: proof.negligible,
            more_requests: proof.more_requests,
        }
    }
}

impl fmt::Display for Proof {
    /// "late less than 1.66 ×, and the margin is 1.25 × (about 31,000 more requests)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} less than {}", self.metric.name(), self.bound)?;
        if self.is_shown {
            return Ok(());
        }
        match self.bound {
            Bound::Ratio(_) => write!(f, ", and the margin is {} ×", self.margin)?,
            Bound::Rate(_) => write!(f, ", and {} is negligible", percent(self.negligible))?,
        }
        match self.more_requests {
            Some(more) => {
                let more = archive::model::thousands(round(more));
                write!(f, " (about {more} more {} of the candidate)", self.metric.counted())
            }
            None => write!(f, " (no estimate of the {} that it needs)", self.metric.counted()),
        }
    }
}

/// An estimate has two digits.
fn round(number: u64) -> f64 {
    let number = number as f64;
    let unit = 10_f64.powf((number.max(1.0).log10().floor() - 1.0).max(0.0));
    (number / unit).ceil() * unit
}

/// The smallest factor above 1 by which there must be more of everything, until `suffices`. None beyond 1,000.
pub(super) fn growth(suffices: impl Fn(f64) -> bool) -> Option<f64> {
    const MOST: f64 = 1000.0;
    let (mut too_small, mut enough) = (1.0_f64, 2.0_f64);
    while !suffices(enough) {
        if enough > MOST {
            return None;
        }
        (too_small, enough) = (enough, enough * 2.0);
    }
    while enough / too_small > 1.01 {
        let middle = (too_small * enough).sqrt();
        if suffices(middle) {
            enough = middle;
        } else {
            too_small = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_found_where_it_begins_to_suffice() {
        let found = growth(|factor| factor >= 37.0).unwrap();
        assert!((37.0..37.5).contains(&found), "{found}");
        assert_eq!(growth(|_| false), None);
    }

    #[test]
    fn what_lacks_is_named_with_its_limit() {
        let late = Proof {
            metric: Metric::Late,
            is_shown: false,
            bound: Bound::Ratio(1.66),
            margin: 1.25,
            negligible: 0.002,
            more_requests: Some(30_511),
            harm_log: 0.0,
        };
        assert_eq!(
            late.to_string(),
            "late less than 1.66 ×, and the margin is 1.25 × (about 31,000 more requests of the candidate)"
        );
        let failed = Proof { metric: Metric::Failed, is_shown: true, bound: Bound::Rate(0.0014), ..late };
        assert_eq!(failed.to_string(), "failed less than 0.14 %");
        let few = Proof { is_shown: false, more_requests: None, ..failed };
        assert_eq!(
            few.to_string(),
            "failed less than 0.14 %, and 0.20 % is negligible (no estimate of the requests that it needs)"
        );
    }
}
