//! The steps of a search after equal servers: screening, race and confirmation. What is confirmed together is
//! [`stack`](super::stack)'s.

use super::decide;
use super::guards::{mechanism, slower, too_few, worse};
use super::outcome::{Confirmation, Headline, Outcome};
use super::state::{MOST_BESIDE, Search};
use crate::lab::{CONFIRMATION, LabError, Settings};

/// Most candidates that are raced.
const MOST_RACED: usize = 6;
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
        // A race in vain leaves its time, and the time of combining what it would have found, to the candidates that wait.
        while self.open().is_empty() && self.screen_more()? {
            self.race()?;
        }
        let stack = self.stack()?;
        let settings = self.confirm(&stack)?;
        self.try_weaker(&settings)
    }

    /// Screens waiting candidates, in the time that dropped candidates have left. Returns whether there was time for one.
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
                let why = format!("it does not gain 1 %: {}", tried.gains.in_blocks());
                tried.end(Outcome::Dropped, why);
            }
        }
    }

    fn race(&mut self) -> Result<(), LabError> {
        for at in self.open().into_iter().skip(MOST_RACED) {
            let tried = &mut self.found.tried[at];
            let why = format!("{MOST_RACED} others did better in the screening: {}", tried.gains.in_blocks());
            tried.end(Outcome::Dropped, why);
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
                tried.end(Outcome::Dropped, "another value of the same tuning did better");
            } else {
                seen.push(tried.candidate.tuning.id.clone());
            }
        }
        for at in self.open() {
            let spread = self.spread(self.found.tried[at].candidate.runs_alone());
            let tried = &mut self.found.tried[at];
            if !decide::is_promising(&tried.gains, spread) {
                let why = format!("a gain above 1 % is not shown: {}", tried.gains.in_blocks());
                tried.end(Outcome::Dropped, why);
            }
        }
        Ok(())
    }

    /// Confirms a stack on fresh blocks; returns what it sets, if it is kept.
    fn confirm(&mut self, stack: &[usize]) -> Result<Settings, LabError> {
        if stack.is_empty() {
            return Ok(Settings::new());
        }
        let settings = self.settings(stack);
        self.lab.say("confirmation: the stack and the baseline on fresh blocks");
        let blocks = self.blocks_to_confirm(self.spread_of_stack(stack));
        let both = [Settings::new(), settings.clone()];
        let following = self.trials_of_weaker();
        let trials = self.run_until_valid(CONFIRMATION, &both, blocks, following, decide::is_estimable)?;
        let gains = trials.gains(1, 0);
        let threshold = decide::threshold(self.found.equal.noise);
        let mut headline = decide::estimate(&gains).map(|estimate| Headline {
            is_gain: decide::is_above(&estimate, threshold),
            worse: worse(&trials, self.limits.memory_bytes),
            estimate,
        });
        let learnt = headline.as_ref().map_or_else(
            || too_few(&trials),
            |headline| format!("on fresh blocks: {}", decide::in_words(&headline.estimate)),
        );
        self.learnt(CONFIRMATION, &trials, learnt.clone());
        let mut open_loop = None;
        if let Some(headline) = headline.as_mut().filter(|headline| headline.holds()) {
            open_loop = self.in_open_loop(&both, &trials)?;
            headline.worse = match &open_loop {
                Some(open_loop) => open_loop.worse(),
                // The load of the confirmation was an open loop itself, or its latency is an objective.
                None => slower(&trials),
            };
        }
        let holds = headline.as_ref().is_some_and(Headline::holds);
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
                tried.own_confirmed = true;
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
        let kept = if holds { settings.clone() } else { Settings::new() };
        self.found.confirmation = Some(Confirmation { settings, trials, open_loop, headline });
        Ok(kept)
    }
}
