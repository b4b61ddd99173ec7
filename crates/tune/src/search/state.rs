//! The state of a search: its candidates, the time that is left, and the noise. How groups of candidates are measured is left to
//! [`groups`](super::groups).

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use super::decide::{self, Gains, Spread};
use super::limits::{SearchError, SearchLimits};
use super::outcome::{EqualServers, Found, Outcome, StageRecord, Tried};
use crate::candidate::{Candidate, NotTried};
use crate::lab::{LabError, Settings, Stage, StageTrials, TuningLab};

/// How often a stage is run at most where too few of its trials are valid.
const MOST_ATTEMPTS: usize = 3;

/// Most candidates beside a reference in one block: with it, one fewer than a block has up together.
pub(super) const MOST_BESIDE: usize = 6;

/// A search under way.
pub(super) struct Search<'l> {
    pub(super) lab: &'l mut dyn TuningLab,
    pub(super) limits: SearchLimits,
    pub(super) found: Found,
    /// Candidates that are tried if earlier candidates leave time.
    waiting: VecDeque<Candidate>,
    /// Trials so far, for the time that one takes.
    trials: usize,
    /// The time in which the baseline was watched, which is no time of a trial.
    watched: Duration,
}

impl<'l> Search<'l> {
    pub(super) fn new(lab: &'l mut dyn TuningLab, limits: &SearchLimits) -> Self {
        Self {
            lab,
            limits: *limits,
            found: Found::default(),
            waiting: VecDeque::new(),
            trials: 0,
            watched: Duration::ZERO,
        }
    }

    /// Measures the baseline beside itself.
    pub(super) fn equal_servers(&mut self) -> Result<StageTrials, SearchError> {
        self.lab.say("equal servers: how much does this host seem to change by itself?");
        let both = [Settings::new(), Settings::new()];
        let (blocks, following) = (self.limits.equal, self.fewest_trials());
        let stage = "equal servers";
        let mut trials = self.run_until_valid(stage, &both, blocks, following, decide::is_estimable)?;
        if let Some(why) = trials.why_failed(0) {
            return Err(SearchError::NoBaseline(why.to_owned()));
        }
        if let Some(differing) = decide::estimate(&trials.gains(0, 1)).filter(decide::excludes_equality)
            && self.has_time_at_all(2 * blocks + following)
        {
            let learnt =
                format!("two equal servers seem to differ: {}; measured again", decide::in_words(&differing));
            self.learnt(stage, &trials, learnt);
            trials.append(self.run_until_valid(stage, &both, blocks, following, decide::is_estimable)?);
        }
        let gains = trials.gains(0, 1);
        if gains.is_empty() {
            let why = trials.why_some_invalid().unwrap_or(&trials.sentence);
            return Err(SearchError::Invalid(why.to_owned()));
        }
        let (noise, estimate) = (decide::noise(&gains), decide::estimate(&gains));
        self.found.equal = EqualServers { estimate, noise, trials: trials.clone() };
        let learnt = if self.found.equal.estimate.is_some() {
            self.found.equal.to_string()
        } else {
            format!("two equal servers seem to differ by {:.1} %", noise * 100.0)
        };
        self.learnt(stage, &trials, learnt);
        Ok(trials)
    }

    /// Asks the baseline what it says of itself.
    pub(super) fn watch(&mut self) -> Result<BTreeMap<String, f64>, LabError> {
        let before = self.lab.elapsed();
        let figures = self.lab.watch_baseline()?;
        self.watched = self.lab.elapsed().saturating_sub(before);
        Ok(figures)
    }

    /// Fails where the time is too short to try one candidate and confirm it.
    pub(super) fn check_time(&self) -> Result<(), SearchError> {
        let needed = self.lab.elapsed() + self.time_for(self.fewest_trials());
        if needed <= self.limits.budget {
            return Ok(());
        }
        Err(SearchError::TooShort { budget_s: self.limits.budget.as_secs(), needed_s: needed.as_secs() + 1 })
    }

    /// Trials of one candidate beside the baseline, and of its confirmation.
    fn fewest_trials(&self) -> u32 {
        2 * self.limits.screen + self.trials_to_confirm()
    }

    /// The time that this number of trials takes, by those so far.
    pub(super) fn time_for(&self, trials: u32) -> Duration {
        let under_trial = self.lab.elapsed().saturating_sub(self.watched);
        under_trial.mul_f64(f64::from(trials) / self.trials.max(1) as f64)
    }

    /// The time until what comes after screening and race must begin.
    pub(super) fn time_to_search(&self) -> Duration {
        let confirm_only = self.trials_after_stack();
        let after = confirm_only + 3 * self.limits.drop.0;
        let left = |reserve: u32| {
            self.limits.budget.saturating_sub(self.lab.elapsed()).saturating_sub(self.time_for(reserve))
        };
        // A short search has no time to drop one at a time; its stack is then the best candidate alone.
        if left(after) > self.limits.budget / 4 { left(after) } else { left(confirm_only) }
    }

    /// Whether there is time for this number of trials before the confirmation.
    pub(super) fn has_time_for(&self, trials: u32) -> bool {
        self.has_time_for_last(trials + self.trials_to_confirm())
    }

    /// Whether there is time for this number of trials before what weakens something.
    fn has_time_for_last(&self, trials: u32) -> bool {
        self.has_time_at_all(trials + self.trials_of_weaker())
    }

    /// Whether there is time for this number of trials, with none to follow.
    pub(super) fn has_time_at_all(&self, trials: u32) -> bool {
        self.lab.elapsed() + self.time_for(trials) <= self.limits.budget
    }

    pub(super) fn trials_to_confirm(&self) -> u32 {
        2 * (self.limits.confirm.0 + self.limits.open_loop)
    }

    /// Trials of what weakens something, each beside the stack.
    pub(super) fn trials_of_weaker(&self) -> u32 {
        let count = self.found.weaker.len();
        self.limits.drop.0 * (count + count.div_ceil(MOST_BESIDE)) as u32
    }

    /// Trials of what follows once it is known what is combined: the confirmation, and what weakens something.
    pub(super) fn trials_after_stack(&self) -> u32 {
        self.trials_to_confirm() + self.trials_of_weaker()
    }

    /// Blocks of this many servers, before this number of trials and the confirmation: as many as show a gain with this noise, if
    /// there is time for them.
    pub(super) fn blocks_in_time(
        &self,
        spread: Spread,
        limits: (u32, u32),
        servers: u32,
        following: u32,
    ) -> u32 {
        blocks_that_fit(spread, limits, |blocks| self.has_time_for(blocks * servers + following))
    }

    /// Blocks of the confirmation: likewise, and decided before its first one.
    pub(super) fn blocks_to_confirm(&self, spread: Spread) -> u32 {
        let fits = |blocks: u32| self.has_time_for_last((blocks + self.limits.open_loop) * 2);
        blocks_that_fit(spread, self.limits.confirm, fits)
    }

    /// The noise of one block of a stack.
    pub(super) fn spread_of_stack(&self, stack: &[usize]) -> Spread {
        self.spread(stack.iter().any(|at| self.found.tried[*at].candidate.runs_alone()))
    }

    /// Divides candidates into candidates that weaken something and free ones. Free candidates for which there may be no time wait.
    pub(super) fn take(&mut self, candidates: Vec<Candidate>) {
        let (free, weaker): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|candidate| candidate.tuning.is_free());
        self.take_weaker(weaker);
        let each = self.time_for(self.limits.screen).mul_f64(1.0 + 1.0 / MOST_BESIDE as f64);
        let time = self.time_to_search().mul_f64(0.7);
        let most = ((time.as_secs_f64() / each.as_secs_f64().max(1e-9)) as usize).max(1);
        self.waiting = free.into();
        self.admit(most);
    }

    /// Takes those that weaken something. They are no part of the headline: they get a quarter of the time, and none of that in which
    /// one other candidate is tried and confirmed.
    fn take_weaker(&mut self, weaker: Vec<Candidate>) {
        let each = self.time_for(self.limits.drop.0).as_secs_f64().max(1e-9);
        let beside_stack = (self.limits.budget.as_secs_f64() / 4.0 / each) as usize;
        let most = beside_stack.saturating_sub(1).min(weaker.len());
        self.found.weaker = weaker.into_iter().map(Tried::new).collect();
        let mut late = self.found.weaker.split_off(most);
        while !self.found.weaker.is_empty() && !self.has_time_for(2 * self.limits.screen) {
            late.extend(self.found.weaker.pop());
        }
        self.found.not_tried.extend(late.into_iter().map(|late| no_time(late.candidate)));
    }

    /// Takes up to this many of those that wait; returns which they are.
    fn admit(&mut self, most: usize) -> Range<usize> {
        let from = self.found.tried.len();
        let admitted = self.waiting.drain(..most.min(self.waiting.len()));
        self.found.tried.extend(admitted.map(Tried::new));
        from..self.found.tried.len()
    }

    /// Lets the candidates that were taken last wait again, from this index on.
    pub(super) fn put_back(&mut self, from: usize) {
        for tried in self.found.tried.drain(from..).rev() {
            self.waiting.push_front(tried.candidate);
        }
    }

    /// Takes as many waiting candidates as can be screened beside each other, with this number of trials to follow before the
    /// confirmation. Returns which they are: none if there is no time for one.
    pub(super) fn admit_in_time(&mut self, following: u32) -> Range<usize> {
        let blocks = self.limits.screen;
        let fits = |of: &usize| self.has_time_for(blocks * (*of as u32 + 1) + following);
        let most = (1..=MOST_BESIDE).rev().find(fits).unwrap_or(0);
        self.admit(most)
    }

    /// Runs a stage and counts its trials.
    fn run(&mut self, stage: Stage<'_>, of: &[Settings], blocks: u32) -> Result<StageTrials, LabError> {
        let trials = self.lab.blocks(stage, of, blocks)?;
        self.trials += trials.trials.len();
        Ok(trials)
    }

    /// Runs a stage, and again where no server has enough gains over the first one: what disturbed the trials may have ended.
    /// What is enough depends on the number of gains alone, so it favours none. Time is kept for the trials that follow.
    pub(super) fn run_until_valid<'s>(
        &mut self,
        stage: impl Into<Stage<'s>>,
        of: &[Settings],
        blocks: u32,
        following: u32,
        is_enough: impl Fn(&[f64]) -> bool,
    ) -> Result<StageTrials, LabError> {
        let stage = stage.into();
        for _ in 1..MOST_ATTEMPTS {
            let trials = self.run(stage, of, blocks)?;
            let is_done =
                trials.stopped.is_some() || (1..of.len()).any(|other| is_enough(&trials.gains(other, 0)));
            let has_time = self.has_time_at_all(blocks * of.len() as u32 + following);
            let Some(why) = trials.why_some_invalid().filter(|_| !is_done && has_time) else {
                return Ok(trials);
            };
            let learnt = format!("{} again, because too few trials are valid: {why}", stage.name);
            self.learnt(stage.name, &trials, learnt);
        }
        self.run(stage, of, blocks)
    }

    /// Says and records what a stage has taught.
    pub(super) fn learnt(&mut self, name: &str, trials: &StageTrials, learnt: String) {
        self.lab.say(&learnt);
        self.found.stages.push(StageRecord { name: name.to_owned(), run: trials.run.clone(), learnt });
    }

    /// The candidates that are still open, the one with the largest gain first.
    pub(super) fn open(&self) -> Vec<usize> {
        let tried = &self.found.tried;
        let mut open: Vec<usize> = (0..tried.len()).filter(|at| tried[*at].is_open()).collect();
        open.sort_by(|a, b| tried[*b].gains.mean().total_cmp(&tried[*a].gains.mean()));
        open
    }

    /// The noise of one block: of servers that run one at a time, or of servers that take turns.
    pub(super) fn spread(&self, runs_alone: bool) -> Spread {
        let equal = Gains(self.found.equal.trials.gains(0, 1));
        let own = self.found.tried.iter().filter(|tried| tried.candidate.runs_alone() == runs_alone);
        let own = own.map(|tried| &tried.gains);
        // Equal servers took turns.
        Spread::of(own.chain((!runs_alone).then_some(&equal)))
    }

    /// What was found.
    pub(super) fn finish(mut self) -> Found {
        let is_cut = self.found.is_interrupted || self.found.ended.is_some();
        let not_tried = self.waiting.into_iter().map(|candidate| {
            let not_tried = no_time(candidate);
            if is_cut {
                NotTried { why: "the search ended before it was tried".to_owned(), ..not_tried }
            } else {
                not_tried
            }
        });
        self.found.not_tried.extend(not_tried);
        for tried in self.found.tried.iter_mut().chain(&mut self.found.weaker).filter(|tried| tried.is_open())
        {
            tried.end(Outcome::Dropped, "the search ended before it was decided");
        }
        self.found
    }
}

/// As many blocks as this noise asks for, if they fit; the fewest otherwise.
fn blocks_that_fit(spread: Spread, (fewest, most): (u32, u32), fits: impl Fn(u32) -> bool) -> u32 {
    let needed = decide::blocks_for(spread.sd, fewest, most);
    (fewest..=needed).rev().find(|blocks| fits(*blocks)).unwrap_or(fewest)
}

fn no_time(candidate: Candidate) -> NotTried {
    let why = format!("there is no time for {}: pass a longer --for", candidate.name());
    NotTried { tuning: candidate.tuning.id, title: candidate.tuning.title, why }
}
