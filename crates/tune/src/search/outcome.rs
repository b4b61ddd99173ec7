//! What a search has found.

use std::fmt;

use stats::ratio::RatioEstimate;

use super::decide::{self, Gains};
use crate::candidate::{Candidate, NotTried};
use crate::lab::{Settings, StageTrials};

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The baseline beside itself.
    pub equal: EqualServers,
    /// The candidates that were tried and weaken nothing.
    pub tried: Vec<Tried>,
    /// Those that weaken durability or security.
    pub weaker: Vec<Tried>,
    /// Tunings that were not tried.
    pub not_tried: Vec<NotTried>,
    /// The confirmation; none where nothing was left to confirm.
    pub confirmation: Option<Confirmation>,
    /// The stages in order.
    pub stages: Vec<StageRecord>,
    /// Whether the user interrupted.
    pub is_interrupted: bool,
    /// Why it ended before its end, if it did.
    pub ended: Option<String>,
}

/// The baseline beside itself.
#[derive(Clone, Debug, Default)]
pub struct EqualServers {
    /// The ratio of the two; none with too few valid blocks.
    pub estimate: Option<RatioEstimate>,
    /// By how much they seemed to differ.
    pub noise: f64,
    /// Their trials.
    pub trials: StageTrials,
}

/// What they say: `Two equal servers: 1.002 × (0.994–1.010) in 6 blocks.` Empty without an interval.
impl fmt::Display for EqualServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(estimate) = &self.estimate else { return Ok(()) };
        write!(f, "Two equal servers: {} in {} blocks.", decide::in_words(estimate), estimate.blocks)?;
        if decide::excludes_equality(estimate) {
            let above = decide::threshold(self.noise).exp_m1() * 100.0;
            write!(
                f,
                " They differ on this machine, so a tuning counts only if it gains more than {above:.1} %."
            )?;
        }
        Ok(())
    }
}

/// A stage that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRecord {
    /// Its name.
    pub name: String,
    /// Its run directory, relative to the folder of the search.
    pub run: String,
    /// What was learnt, in one sentence.
    pub learnt: String,
}

/// The confirmation of a stack.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// What the stack sets.
    pub settings: Settings,
    /// The trials: the baseline is 0, the stack is 1.
    pub trials: StageTrials,
    /// Response times under a load that waits for nobody; none where the confirmation did not gain, or was no closed loop.
    pub open_loop: Option<OpenLoop>,
    /// What they say; none with too few valid blocks.
    pub headline: Option<Headline>,
}

/// The stack and the baseline under a load that waits for nobody.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// Operations per second.
    pub rate_per_s: f64,
    /// The trials: the baseline is 0, the stack is 1.
    pub trials: StageTrials,
}

/// The headline.
#[derive(Clone, Debug)]
pub struct Headline {
    /// How much better the stack is than the baseline.
    pub estimate: RatioEstimate,
    /// Whether its interval lies above 1 % and the noise.
    pub is_gain: bool,
    /// What has become worse; empty where all guards pass.
    pub worse: Vec<String>,
}

impl Headline {
    /// Whether the stack is kept.
    pub fn holds(&self) -> bool {
        self.is_gain && self.worse.is_empty()
    }
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is decided yet.
    Open,
    /// The server refuses it, or dies with it.
    Refused,
    /// It does not gain enough, or it costs something else.
    Dropped,
    /// It is in the stack that was confirmed.
    Kept,
}

/// A candidate that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The candidate.
    pub candidate: Candidate,
    /// Its gains over the baseline, block by block: of screening and race.
    pub gains: Gains,
    /// What became of it.
    pub outcome: Outcome,
    /// The last step that it took part in.
    pub step: String,
    /// Why it was kept or dropped.
    pub why: String,
    /// Its own share of the stack's gain: the stack over the stack without it. For the only one of a stack, the headline.
    pub own: Option<RatioEstimate>,
    /// Whether that is from the confirmation.
    pub own_confirmed: bool,
    /// How its mechanism moved: the ratio of the figure; none where the figure is not known.
    pub mechanism: Option<MechanismMove>,
}

/// How a mechanism moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MechanismMove {
    /// The ratio of the figure with the tuning and without.
    pub ratio: f64,
    /// Whether it moved as the tuning says.
    pub moved: bool,
}

impl Tried {
    /// One that is yet to be tried.
    pub(super) fn new(candidate: Candidate) -> Self {
        Self {
            candidate,
            gains: Gains::default(),
            outcome: Outcome::Open,
            step: String::new(),
            why: String::new(),
            own: None,
            own_confirmed: false,
            mechanism: None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.outcome == Outcome::Open
    }

    pub(super) fn end(&mut self, outcome: Outcome, why: impl Into<String>) {
        self.outcome = outcome;
        self.why = why.into();
    }
}
