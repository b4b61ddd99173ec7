//! Which candidates are combined. Candidates whose servers take turns come first. Candidates with which servers run one at a time join the
//! stack last: their trials scatter several times as much, and so do the trials of every stack that has one of them (decision 0021). Who is promising,
//! and what is confirmed, is left to the [`steps`](super::steps).

use super::decide::{self, Gains, Spread};
use super::guards::mechanism;
use super::outcome::Outcome;
use super::state::Search;
use crate::lab::{LabError, Settings, StageTrials};

/// Most tunings of a stack.
const MOST_STACKED: usize = 5;

const NO_TIME: &str = "there was no time to combine it: pass a longer --for";

impl Search<'_> {
    /// Fewest trials of combining this number of candidates: the stack, and dropping one at a time.
    pub(super) fn trials_of_stack(&self, candidates: usize) -> u32 {
        let count = candidates.min(MOST_STACKED) as u32;
        if count < 2 { 0 } else { self.limits.stack.0 * count + self.limits.drop.0 * (count + 1) }
    }

    /// What these candidates set together.
    pub(super) fn settings(&self, of: &[usize]) -> Settings {
        of.iter().flat_map(|at| self.found.tried[*at].candidate.settings.clone()).collect()
    }

    /// Combines the promising candidates; returns the candidates that gain together and by themselves.
    pub(super) fn stack(&mut self) -> Result<Vec<usize>, LabError> {
        let runs_alone = |search: &Self, at: &usize| search.found.tried[*at].candidate.runs_alone();
        let mut chosen = self.compatible();
        // Stable: of each kind, the best first.
        chosen.sort_by_key(|at| runs_alone(self, at));
        while chosen.len() > 1 && !self.has_time_for(self.trials_of_stack(chosen.len())) {
            let last = chosen.pop().expect("several are left");
            self.found.tried[last].end(Outcome::Dropped, NO_TIME);
        }
        let alone = chosen.split_off(chosen.partition_point(|at| !runs_alone(self, at)));
        if chosen.is_empty() {
            return self.combine(alone);
        }
        let stack = self.combine(chosen)?;
        self.join(stack, &alone)
    }

    /// The promising candidates that can be set together, the best first.
    fn compatible(&mut self) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        for at in self.open() {
            let own = &self.found.tried[at].candidate.tuning;
            let against = chosen.iter().map(|other| &self.found.tried[*other].candidate.tuning);
            if let Some(other) =
                against.filter(|other| own.conflicts_with(other)).map(|other| other.id.clone()).next()
            {
                let why = format!("it cannot be combined with {other}, which gained more");
                self.found.tried[at].end(Outcome::Dropped, why);
            } else if chosen.len() < MOST_STACKED {
                chosen.push(at);
            } else {
                self.found.tried[at].end(Outcome::Dropped, "others gained more in the race");
            }
        }
        chosen
    }

    /// Those that add to the ones before, and whose own gain is shown.
    fn combine(&mut self, mut stack: Vec<usize>) -> Result<Vec<usize>, LabError> {
        while stack.len() > 1 {
            let of: Vec<Settings> = (1..=stack.len()).map(|count| self.settings(&stack[..count])).collect();
            self.lab.say(&format!("stack: {} together", stack.len()));
            let count = stack.len() as u32;
            let drop = self.limits.drop.0 * (count + 1);
            let blocks = self.blocks_in_time(self.spread_of_stack(&stack), self.limits.stack, count, drop);
            let following = self.trials_after_stack();
            let trials = match self.run_until_valid("stack", &of, blocks, following, decide::is_any) {
                Err(LabError::Refused(why)) => {
                    self.cannot_be_combined(&stack[1..], &why);
                    return Ok(stack[..1].to_vec());
                }
                trials => trials?,
            };
            let Some((at, why)) = (0..stack.len()).find_map(|at| Some((at, trials.why_failed(at)?))) else {
                let stack = self.those_that_add(&stack, &trials);
                return self.drop_one_at_a_time(stack);
            };
            // The server does not run with this candidate, which ended the blocks of all: the stack goes on without it.
            let why = format!("the server does not run with it and those before: {why}");
            self.learnt("stack", &trials, why.clone());
            self.found.tried[stack.remove(at)].end(Outcome::Dropped, why);
        }
        Ok(stack)
    }

    /// Those of a stack that add to the ones before, by these trials of the first, the first two, and so on.
    fn those_that_add(&mut self, stack: &[usize], trials: &StageTrials) -> Vec<usize> {
        let added: Vec<Gains> = (1..stack.len()).map(|at| Gains(trials.gains(at, at - 1))).collect();
        let spread = Spread::of(&added);
        let mut kept = vec![stack[0]];
        for (gains, at) in added.iter().zip(&stack[1..]) {
            let tried = &mut self.found.tried[*at];
            "stack".clone_into(&mut tried.step);
            if decide::is_promising(gains, spread) {
                kept.push(*at);
            } else {
                let why = format!("that it adds more than 1 % to the others is not shown: {gains}");
                tried.end(Outcome::Dropped, why);
            }
        }
        let learnt = format!("{} of {} add to each other", kept.len(), stack.len());
        self.learnt("stack", trials, learnt);
        kept
    }

    fn cannot_be_combined(&mut self, of: &[usize], why: &str) {
        for at in of {
            self.found.tried[*at]
                .end(Outcome::Dropped, format!("it cannot be combined with the others: {why}"));
        }
    }

    /// Drops one candidate of a stack at a time; returns the candidates whose own gain is shown.
    fn drop_one_at_a_time(&mut self, stack: Vec<usize>) -> Result<Vec<usize>, LabError> {
        if stack.len() < 2 {
            return Ok(stack);
        }
        let without = |one: usize| -> Vec<usize> { stack.iter().copied().filter(|at| *at != one).collect() };
        let parts = stack.iter().map(|at| self.settings(&without(*at)));
        let of: Vec<Settings> = std::iter::once(self.settings(&stack)).chain(parts).collect();
        let blocks = self.blocks_in_time(self.spread_of_stack(&stack), self.limits.drop, of.len() as u32, 0);
        self.lab.say(&format!("drop one: the stack without each of {}", stack.len()));
        let following = self.trials_after_stack();
        let trials = match self.run_until_valid("drop one", &of, blocks, following, decide::is_estimable) {
            // Without one of them it is not even started: the confirmation decides about all.
            Err(LabError::Refused(_)) => return Ok(stack),
            trials => trials?,
        };
        if let Some(why) = &trials.stopped {
            let learnt =
                format!("who gains alone is not known, as the server does not run without each: {why}");
            self.learnt("drop one", &trials, learnt);
            return Ok(stack);
        }
        let (gains, adjusted) = self.take_claims("drop one", &stack, &trials, |other| (0, other));
        let best = (0..stack.len()).max_by(|a, b| gains[*a].mean().total_cmp(&gains[*b].mean())).unwrap_or(0);
        let has_claim = adjusted.iter().any(|p| decide::holds(*p));
        let mut kept = Vec::new();
        for (number, at) in stack.iter().enumerate() {
            // Where no candidate is shown to gain by itself, two of them do the same thing: the best one stands for both.
            if decide::holds(adjusted[number]) || (!has_claim && number == best) {
                kept.push(*at);
            } else {
                self.found.tried[*at].end(Outcome::Dropped, not_shown(adjusted[number]));
            }
        }
        let learnt = format!("{} of {} gain by themselves", kept.len(), stack.len());
        self.learnt("drop one", &trials, learnt);
        Ok(kept)
    }

    /// Adds candidates with which servers run one at a time to a stack whose servers take turns, if they are shown to gain beside it.
    fn join(&mut self, mut stack: Vec<usize>, alone: &[usize]) -> Result<Vec<usize>, LabError> {
        let servers = alone.len() as u32 + 1;
        if alone.is_empty() || !self.has_time_for(self.limits.drop.0 * servers) {
            for at in alone {
                self.found.tried[*at].end(Outcome::Dropped, NO_TIME);
            }
            return Ok(stack);
        }
        let with = |at: &usize| self.settings(&[&stack[..], &[*at]].concat());
        let of: Vec<Settings> =
            std::iter::once(self.settings(&stack)).chain(alone.iter().map(with)).collect();
        let blocks = self.blocks_in_time(self.spread(true), self.limits.drop, servers, 0);
        self.lab.say("join: the stack, and the stack with each whose servers run one at a time");
        let following = self.trials_after_stack();
        let trials = match self.run_until_valid("join", &of, blocks, following, decide::is_estimable) {
            Err(LabError::Refused(why)) => {
                self.cannot_be_combined(alone, &why);
                return Ok(stack);
            }
            trials => trials?,
        };
        let (_, adjusted) = self.take_claims("join", alone, &trials, |other| (other, 0));
        let before = stack.len();
        for (number, at) in alone.iter().enumerate() {
            if let Some(why) = trials.why_failed(number + 1) {
                let why = format!("the server does not run with it and the others: {why}");
                self.found.tried[*at].end(Outcome::Dropped, why);
            } else if decide::holds(adjusted[number]) {
                stack.push(*at);
            } else {
                self.found.tried[*at].end(Outcome::Dropped, not_shown(adjusted[number]));
            }
        }
        let learnt = format!("{} of {} gain beside the stack", stack.len() - before, alone.len());
        self.learnt("join", &trials, learnt);
        Ok(stack)
    }

    /// Takes what trials say of candidates: their own gains, and whether their mechanisms moved. The first of them is in the trials
    /// number 1, the next in number 2; `with_without` gives the two that are compared, those with it first. Returns the gains, and
    /// their p-values by Holm's correction.
    fn take_claims(
        &mut self,
        step: &str,
        of: &[usize],
        trials: &StageTrials,
        with_without: impl Fn(usize) -> (usize, usize),
    ) -> (Vec<Gains>, Vec<f64>) {
        let mut all = Vec::new();
        for (number, at) in (1..).zip(of) {
            let (with, without) = with_without(number);
            let gains = Gains(trials.gains(with, without));
            let tried = &mut self.found.tried[*at];
            step.clone_into(&mut tried.step);
            tried.own = decide::estimate(&gains.0);
            tried.mechanism = mechanism(&tried.candidate.tuning, trials, with, without);
            all.push(gains);
        }
        let adjusted = decide::claims(&all, decide::threshold(self.found.equal.noise));
        (all, adjusted)
    }
}

fn not_shown(adjusted: f64) -> String {
    format!("its own gain above 1 % and the noise is not shown (p = {adjusted:.3} after Holm)")
}
