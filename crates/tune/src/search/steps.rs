//! The steps of a search after equal servers: screening, race, stack, dropping one at a time, and confirmation.

use archive::model::plural;

use super::decide::{self, Gains, Spread};
use super::guards::{mechanism, too_few, worse};
use super::outcome::{Confirmation, Headline, Outcome};
use super::state::{MOST_BESIDE, Search};
use crate::lab::{CONFIRMATION, LabError, Settings, StageTrials};

/// Most candidates that are raced.
const MOST_RACED: usize = 6;
/// Most tunings of a stack.
const MOST_STACKED: usize = 5;
/// Those for which time is kept while it is not known who is left: of six that are raced, four or five are noise.
const USUALLY_STACKED: usize = 2;

impl Search<'_> {
    /// All steps.
    pub(super) fn try_all(&mut self) -> Result<(), LabError> {
        let all: Vec<usize> = (0..self.found.tried.len()).collect();
        let blocks = self.limits.screen;
        for group in all.chunks(MOST_BESIDE) {
            if !self.has_time_for(blocks * (group.len() as u32 + 1)) {
                self.put_back(group[0]);
                break;
            }
            self.measure("screening", group, blocks)?;
        }
        self.drop_losers();
        self.screen_more()?;
        self.race()?;
        // A race in vain leaves its time, and that of combining what it finds, to those that wait.
        while self.open().is_empty() && self.screen_more()? {
            self.race()?;
        }
        let stack = self.stack()?;
        let stack = self.drop_one_at_a_time(stack)?;
        let settings = self.confirm(&stack)?;
        self.try_weaker(&settings)
    }

    /// Screens those that wait, in the time that is left by those that could not win. Returns whether there was time for one.
    fn screen_more(&mut self) -> Result<bool, LabError> {
        let mut has_screened = false;
        loop {
            let open = self.open().len().min(MOST_RACED);
            // What has been found is raced, and combined if it is several.
            let race = if open > 0 { self.limits.screen * (open as u32 + 1) } else { 0 };
            let admitted: Vec<usize> =
                self.admit_in_time(race + self.trials_of_stack(open.min(USUALLY_STACKED))).collect();
            if admitted.is_empty() {
                return Ok(has_screened);
            }
            has_screened = true;
            self.measure("screening", &admitted, self.limits.screen)?;
            self.drop_losers();
        }
    }

    fn drop_losers(&mut self) {
        for at in self.open() {
            let spread = self.spread(self.found.tried[at].candidate.runs_alone());
            let tried = &mut self.found.tried[at];
            if decide::cannot_win(&tried.gains, spread) {
                let gain = tried.gains.mean().exp_m1() * 100.0;
                let blocks = plural(tried.gains.0.len() as u64, "block");
                tried.end(Outcome::Dropped, format!("it does not gain 1 %: {gain:+.1} % in {blocks}"));
            }
        }
    }

    fn race(&mut self) -> Result<(), LabError> {
        for at in self.open().into_iter().skip(MOST_RACED) {
            self.found.tried[at].end(Outcome::Dropped, "others gained more in the screening");
        }
        for round in 0..self.limits.rounds {
            let is_settled = |at: &usize| {
                let tried = &self.found.tried[*at];
                let spread = self.spread(tried.candidate.runs_alone());
                tried.gains.0.len() > 3 && decide::is_promising(&tried.gains, spread)
            };
            let unsettled: Vec<usize> = self.open().into_iter().filter(|at| !is_settled(at)).collect();
            let trials = self.limits.screen * (unsettled.len() as u32 + 1);
            // Without one round there is nothing to combine.
            let following =
                if round == 0 { 0 } else { self.trials_of_stack(self.open().len().min(USUALLY_STACKED)) };
            if unsettled.is_empty() || !self.has_time_for(trials + following) {
                break;
            }
            self.measure("race", &unsettled, self.limits.screen)?;
            self.drop_losers();
        }
        // Of a tuning's levels, the best one.
        let mut seen: Vec<String> = Vec::new();
        for at in self.open() {
            let tried = &mut self.found.tried[at];
            if seen.contains(&tried.candidate.tuning.id) {
                tried.end(Outcome::Dropped, "another value of the same tuning gained more");
            } else {
                seen.push(tried.candidate.tuning.id.clone());
            }
        }
        for at in self.open() {
            let spread = self.spread(self.found.tried[at].candidate.runs_alone());
            let tried = &mut self.found.tried[at];
            if !decide::is_promising(&tried.gains, spread) {
                let gain = tried.gains.mean().exp_m1() * 100.0;
                tried.end(Outcome::Dropped, format!("a gain above 1 % is not shown: {gain:+.1} %"));
            }
        }
        Ok(())
    }

    /// Fewest trials of combining this number of candidates: the stack, and dropping one at a time.
    fn trials_of_stack(&self, candidates: usize) -> u32 {
        let count = candidates.min(MOST_STACKED) as u32;
        if count < 2 { 0 } else { self.limits.stack.0 * count + self.limits.drop.0 * (count + 1) }
    }

    /// Stacks the promising candidates, the best first; returns those that add to the ones before.
    fn stack(&mut self) -> Result<Vec<usize>, LabError> {
        let mut stack: Vec<usize> = Vec::new();
        for at in self.open() {
            let own = &self.found.tried[at].candidate.tuning;
            let against = stack.iter().map(|other| &self.found.tried[*other].candidate.tuning);
            if let Some(other) =
                against.filter(|other| own.conflicts_with(other)).map(|other| other.id.clone()).next()
            {
                let why = format!("it cannot be combined with {other}, which gained more");
                self.found.tried[at].end(Outcome::Dropped, why);
            } else if stack.len() < MOST_STACKED {
                stack.push(at);
            } else {
                self.found.tried[at].end(Outcome::Dropped, "others gained more in the race");
            }
        }
        while stack.len() > 1 && !self.has_time_for(self.trials_of_stack(stack.len())) {
            let last = stack.pop().expect("several are left");
            self.found.tried[last]
                .end(Outcome::Dropped, "there was no time to combine it: pass a longer --for");
        }
        while stack.len() > 1 {
            let of: Vec<Settings> = (1..=stack.len()).map(|count| self.settings(&stack[..count])).collect();
            self.lab.say(&format!("stack: {} together", stack.len()));
            let count = stack.len() as u32;
            let drop = self.limits.drop.0 * (count + 1);
            let blocks = self.blocks_in_time(self.spread_of_stack(&stack), self.limits.stack, count, drop);
            let trials = match self.run("stack", &of, blocks) {
                Err(LabError::Refused(why)) => return Ok(self.only_the_first(&stack, &why)),
                trials => trials?,
            };
            let Some((at, why)) = (0..stack.len()).find_map(|at| Some((at, trials.why_failed(at)?))) else {
                return Ok(self.those_that_add(&stack, &trials));
            };
            // With it the server does not run, which ended the blocks of all: the others are combined without it.
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
                let gain = gains.mean().exp_m1() * 100.0;
                let gain =
                    if gain.is_finite() { format!("{gain:+.1} %") } else { "no valid block".to_owned() };
                tried.end(
                    Outcome::Dropped,
                    format!("that it adds more than 1 % to the others is not shown: {gain}"),
                );
            }
        }
        let learnt = format!("{} of {} add to each other", kept.len(), stack.len());
        self.learnt("stack", trials, learnt);
        kept
    }

    fn only_the_first(&mut self, stack: &[usize], why: &str) -> Vec<usize> {
        for at in &stack[1..] {
            self.found.tried[*at]
                .end(Outcome::Dropped, format!("it cannot be combined with the others: {why}"));
        }
        stack[..1].to_vec()
    }

    /// Drops one of a stack at a time; returns those whose own gain is shown.
    fn drop_one_at_a_time(&mut self, stack: Vec<usize>) -> Result<Vec<usize>, LabError> {
        if stack.len() < 2 {
            return Ok(stack);
        }
        let without = |one: usize| -> Vec<usize> { stack.iter().copied().filter(|at| *at != one).collect() };
        let parts = stack.iter().map(|at| self.settings(&without(*at)));
        let of: Vec<Settings> = std::iter::once(self.settings(&stack)).chain(parts).collect();
        let blocks = self.blocks_in_time(self.spread_of_stack(&stack), self.limits.drop, of.len() as u32, 0);
        self.lab.say(&format!("drop one: the stack without each of {}", stack.len()));
        let trials = match self.run("drop one", &of, blocks) {
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
        let gains: Vec<Gains> = (1..of.len()).map(|at| Gains(trials.gains(0, at))).collect();
        let adjusted = decide::claims(&gains, decide::threshold(self.found.equal.noise));
        let best = (0..stack.len()).max_by(|a, b| gains[*a].mean().total_cmp(&gains[*b].mean())).unwrap_or(0);
        let has_claim = adjusted.iter().any(|p| decide::holds(*p));
        let mut kept = Vec::new();
        for (number, at) in stack.iter().enumerate() {
            let moved = mechanism(&self.found.tried[*at].candidate.tuning, &trials, 0, number + 1);
            let tried = &mut self.found.tried[*at];
            "drop one".clone_into(&mut tried.step);
            tried.own = decide::estimate(&gains[number].0);
            tried.mechanism = moved;
            // Where none is shown alone, two do the same: the best one stands for both.
            if decide::holds(adjusted[number]) || (!has_claim && number == best) {
                kept.push(*at);
            } else {
                let why = format!(
                    "its own gain above 1 % and the noise is not shown (p = {:.3} after Holm)",
                    adjusted[number]
                );
                tried.end(Outcome::Dropped, why);
            }
        }
        let learnt = format!("{} of {} gain by themselves", kept.len(), stack.len());
        self.learnt("drop one", &trials, learnt);
        Ok(kept)
    }

    /// Confirms a stack on fresh blocks; returns what it sets, if it is kept.
    fn confirm(&mut self, stack: &[usize]) -> Result<Settings, LabError> {
        if stack.is_empty() {
            return Ok(Settings::new());
        }
        let settings = self.settings(stack);
        self.lab.say("confirmation: the stack and the baseline on fresh blocks");
        let blocks = self.blocks_to_confirm(self.spread_of_stack(stack));
        let trials = self.run(CONFIRMATION, &[Settings::new(), settings.clone()], blocks)?;
        let gains = trials.gains(1, 0);
        let threshold = decide::threshold(self.found.equal.noise);
        let headline = decide::estimate(&gains).map(|estimate| Headline {
            is_gain: decide::is_above(&estimate, threshold),
            worse: worse(&trials, self.limits.memory_bytes),
            estimate,
        });
        let (learnt, holds) = match &headline {
            None => (too_few(&trials), false),
            Some(Headline { estimate, .. }) => {
                let learnt = format!(
                    "confirmed: {:.3} × ({:.3} to {:.3})",
                    estimate.ratio, estimate.low, estimate.high
                );
                (learnt, headline.as_ref().is_some_and(Headline::holds))
            }
        };
        let why = match &headline {
            None => learnt.clone(),
            Some(headline) if !headline.is_gain => {
                "the confirmation does not show a gain above 1 % and the noise".to_owned()
            }
            Some(headline) => headline.worse.join("; "),
        };
        for at in stack {
            let moved = mechanism(&self.found.tried[*at].candidate.tuning, &trials, 1, 0);
            let tried = &mut self.found.tried[*at];
            CONFIRMATION.clone_into(&mut tried.step);
            if stack.len() == 1 {
                tried.own = headline.as_ref().map(|headline| headline.estimate.clone());
                tried.mechanism = moved;
            }
            if holds {
                let unexplained = if tried.mechanism.is_some_and(|found| found.moved) {
                    String::new()
                } else {
                    let figure =
                        tried.candidate.tuning.mechanism.as_ref().map(|mechanism| mechanism.figure.clone());
                    figure.map_or(String::new(), |figure| {
                        format!("; unexplained: {figure} is not seen to move")
                    })
                };
                tried.end(Outcome::Kept, format!("its gain is confirmed on fresh blocks{unexplained}"));
            } else {
                tried.end(Outcome::Dropped, why.clone());
            }
        }
        self.learnt(CONFIRMATION, &trials, learnt);
        let kept = if holds { settings.clone() } else { Settings::new() };
        self.found.confirmation = Some(Confirmation { settings, trials, headline });
        Ok(kept)
    }

    /// What these candidates set together.
    fn settings(&self, of: &[usize]) -> Settings {
        of.iter().flat_map(|at| self.found.tried[*at].candidate.settings.clone()).collect()
    }
}
