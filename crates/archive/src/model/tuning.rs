//! `tuning.json`: what `showdown tune` has tried for a server, and what it kept. The run's own trials are those of the confirmation, or
//! of equal servers where nothing was left to confirm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RatioEstimate, plural};

/// The content of `tuning.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningRecord {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// When it was made, ms since 1970.
    pub made_unix_ms: u64,
    /// The command line as typed, program name first.
    pub command: Vec<String>,
    /// The baseline as it was written.
    pub baseline: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// What is measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The time that was given, seconds.
    pub budget_s: f64,
    /// The time that it took, seconds.
    pub took_s: f64,
    /// What the user allowed beyond what is harmless: `durability`, `security`.
    pub allowed: Vec<String>,
    /// The baseline beside itself: the noise of this host.
    pub equal: Option<RatioEstimate>,
    /// What the baseline beside itself says, in words: above all where the two differ. Empty in records of earlier versions.
    #[serde(default)]
    pub equal_sentence: String,
    /// How much better the tuned server is, from fresh blocks; none where nothing is kept.
    pub headline: Option<RatioEstimate>,
    /// The tuned server as a variant is written; none where nothing is kept.
    pub tuned: Option<String>,
    /// Figures before and after; empty where nothing is kept.
    pub before_after: Vec<BeforeAfter>,
    /// The tunings that were tried.
    pub tried: Vec<TriedTuning>,
    /// Those that weaken durability or security. They are never kept.
    pub weaker: Vec<TriedTuning>,
    /// Tunings that were not tried.
    pub not_tried: Vec<UntriedTuning>,
    /// The steps of the search, in order.
    pub steps: Vec<TuningStep>,
    /// Files to take home; empty where nothing is kept.
    pub take_home: Vec<TakeHome>,
    /// Why the search ended before its end; none if it did not.
    pub ended: Option<String>,
}

/// A figure before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeforeAfter {
    /// What it is.
    pub what: String,
    /// Its unit.
    pub unit: String,
    /// With the baseline, the mean of the confirmation's trials.
    pub before: f64,
    /// With what is kept.
    pub after: f64,
    /// After over before, with its interval; none with too few blocks.
    pub ratio: Option<RatioEstimate>,
}

/// What became of a tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuningOutcome {
    /// It is in what was confirmed.
    Kept,
    /// It does not gain enough, or costs something else.
    Dropped,
    /// The server or the kernel refuses it.
    Refused,
}

/// A tuning that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedTuning {
    /// Its name.
    pub tuning: String,
    /// What it does.
    pub title: String,
    /// What it sets.
    pub settings: BTreeMap<String, String>,
    /// Why it was tried.
    pub reason: String,
    /// What became of it.
    pub outcome: TuningOutcome,
    /// Why.
    pub why: String,
    /// The last step that it took part in.
    pub step: String,
    /// Its gain over the baseline in screening and race: the best of many, and so too good.
    pub screened: Option<f64>,
    /// The blocks of that gain.
    pub blocks: u32,
    /// Its own share of what is kept: with it over without it.
    pub own: Option<RatioEstimate>,
    /// Whether `own` is from the fresh blocks of the confirmation. Otherwise it is from the trials that selected the tuning, so that
    /// of one that is kept is too good.
    #[serde(default)]
    pub own_confirmed: bool,
    /// The figure that should move; none where the tuning names none.
    pub mechanism: Option<MechanismOutcome>,
    /// What a user should know before keeping it.
    pub risk: String,
    /// Where it is documented.
    pub source: String,
}

impl TriedTuning {
    /// Its own gain with its interval, and where that comes from if it is too good: `1.120 × (1.080–1.160) in the trials that selected
    /// it`.
    pub fn own_label(&self) -> Option<String> {
        let label = self.own.as_ref()?.label();
        let is_selected = self.outcome == TuningOutcome::Kept && !self.own_confirmed;
        Some(if is_selected { format!("{label} in the trials that selected it") } else { label })
    }

    /// Its gain in screening and race with the blocks of it: `1.004 × in 21 blocks`. None where no block has one.
    pub fn screened_label(&self) -> Option<String> {
        self.screened.map(|gain| format!("{gain:.3} × in {}", plural(u64::from(self.blocks), "block")))
    }
}

/// How the mechanism of a tuning moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MechanismOutcome {
    /// The figure.
    pub figure: String,
    /// With the tuning over without it; none where the figure is not known.
    pub ratio: Option<f64>,
    /// Whether it moved as the tuning says.
    pub moved: bool,
}

/// A tuning that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntriedTuning {
    /// Its name.
    pub tuning: String,
    /// What it does.
    pub title: String,
    /// Why.
    pub why: String,
}

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuningStep {
    /// Its name.
    pub name: String,
    /// Its run: a folder below `search`, or empty for the run itself.
    pub run: String,
    /// What was learnt, in one sentence.
    pub learnt: String,
}

/// A file to take home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeHome {
    /// What it is for: a file's name, or what to add its lines to.
    pub file: String,
    /// Its lines.
    pub lines: Vec<String>,
}
